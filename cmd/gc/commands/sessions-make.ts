import { protoJson } from '../../../internal/protocol/canonical-json.ts';
import {
  CreateSessionRequestSchema,
  ForkRequestSchema,
  ForkResponseSchema,
  SessionSchema,
} from '../../../internal/protocol/generated/agentsessions/v1/session_pb.ts';
import { create } from '../../../internal/protocol/protobuf.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import { sessionArg, uidOf } from '../sessions/request.ts';
import { withSessions } from '../sessions/server.ts';
import { childLine } from '../sessions/session-text.ts';

export const runSessionsCreate: CommandRun = (context, input) => {
  const text = (name: string): string => input.text(name) ?? '';
  const session = {
    metadata: { project: text('project'), name: text('name') },
    harness: text('harness'),
    model: text('model'),
    labels: pairs(input, 'label'),
    annotations: pairs(input, 'annotation'),
  };
  return withSessions(
    context,
    input,
    async (host) => {
      const made = await host.createSession(create(CreateSessionRequestSchema, { session }), context.signal);
      context.out.write(
        context.json ? `${JSON.stringify(protoJson(SessionSchema, made), null, 2)}\n` : `${uidOf(made)}\n`,
      );
      return 0;
    },
    'begins-logs',
  );
};

export const runSessionsFork: CommandRun = (context, input) => {
  const names = input.text('names')?.split(',') ?? [];
  const count = input.count('count', 1) ?? Math.max(1, names.length);
  if (names.length > 0 && names.length !== count) {
    throw new UsageError(`--count ${count}, but ${names.length} names in --names`);
  }
  const request = create(ForkRequestSchema, {
    session: sessionArg(input),
    atSeq: BigInt(input.count('at', 1) ?? 0),
    count,
    childNames: names,
    labels: pairs(input, 'label'),
  });
  return withSessions(context, input, async (host) => {
    const reply = await host.fork(request, context.signal);
    context.out.write(
      context.json
        ? `${JSON.stringify(protoJson(ForkResponseSchema, reply), null, 2)}\n`
        : reply.children.map(childLine).join(''),
    );
    return 0;
  });
};

/** `key=value`, more than once. @throws UsageError */
function pairs(input: Input, option: string): Record<string, string> {
  const entries = input.texts(option).map((text): [string, string] => {
    const cut = text.indexOf('=');
    if (cut > 0) return [text.slice(0, cut), text.slice(cut + 1)];
    throw new UsageError(`--${option} ${JSON.stringify(text)} is not key=value`);
  });
  return Object.fromEntries(entries);
}
