import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { GcError, messageOf } from '../../../internal/platform/errors.ts';
import { protoJson } from '../../../internal/protocol/canonical-json.ts';
import { textMessage } from '../../../internal/protocol/events.ts';
import { EventKind } from '../../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import {
  CreateSessionRequestSchema,
  type ExecRequest,
  ExecRequestSchema,
  type ExecUpdate,
  ExecUpdateSchema,
  type Session,
} from '../../../internal/protocol/generated/agentsessions/v1/session_pb.ts';
import { create } from '../../../internal/protocol/protobuf.ts';
import { ServiceError, type SessionsHost } from '../../../internal/session/service/sessions-host.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { ExecText } from '../sessions/exec-text.ts';
import { pendingText } from '../sessions/pending.ts';
import { optionalSession, uidOf, withNext } from '../sessions/request.ts';
import { withSessions } from '../sessions/server.ts';

const MS_PER_SECOND = 1_000;

/** One turn, shown as it is committed, to its end. Ctrl-C leaves, which ends the turn; it can be resumed. */
export const runSessionsExec: CommandRun = async (context, input) => {
  const request = await requestOf(context, input);
  return withSessions(
    context,
    input,
    async (host) => {
      const given = request.session;
      request.session = await sessionFor(host, request, context, input);
      const text = new ExecText(context.out.isTTY);
      let session: Session | undefined;
      let last: EventKind | undefined;
      try {
        for await (const update of host.exec(request, context.signal)) {
          const isFirst = session === undefined;
          if (update.update.case === 'session') session = update.update.value;
          if (update.update.case === 'record') last = update.update.value.event?.kind;
          if (isFirst && !context.json && given === '') context.out.write(`session ${uidOf(session)}\n`);
          context.out.write(context.json ? updateJson(update) : text.update(update));
          await context.out.flush();
        }
      } catch (error) {
        context.out.write(text.end());
        throw session === undefined ? error : withNext(error, nextAfter(error, uidOf(session), last));
      }
      if (!context.json)
        context.out.write(text.end() + (session ? await pendingText(context, host, session) : ''));
      return 0;
    },
    'begins-logs',
  );
};

/** Only a session of another project than the server's own has to be made first. */
async function sessionFor(
  host: SessionsHost,
  { session, harness }: ExecRequest,
  { signal }: Context,
  input: Input,
): Promise<string> {
  const project = input.text('project');
  if (session !== '' || project === undefined) return session;
  const request = create(CreateSessionRequestSchema, { session: { metadata: { project }, harness } });
  return uidOf(await host.createSession(request, signal));
}

async function requestOf(context: Context, input: Input): Promise<ExecRequest> {
  const expected = input.count('expect');
  const deadline = input.duration('deadline');
  const config = input.text('config');
  return create(ExecRequestSchema, {
    session: optionalSession(input) ?? '',
    inputs: [textMessage('user', await said(context, input))],
    harness: input.text('harness') ?? '',
    ...(expected === undefined ? {} : { expectedLastSeq: BigInt(expected) }),
    ...(deadline === undefined
      ? {}
      : { deadlineUnix: BigInt(Math.ceil((context.clock.now() + deadline) / MS_PER_SECOND)) }),
    ...(config === undefined ? {} : { config: bytesOf(resolve(context.cwd, config)) }),
  });
}

/** The words, `--input`, or stdin for `-`. */
async function said(context: Context, input: Input): Promise<string> {
  const [words, option] = [input.rest('text'), input.text('input')];
  if (words.length > 0 && option !== undefined) {
    throw new UsageError('the text is given twice: as words and as --input');
  }
  const text = option ?? (words.length > 0 ? words.join(' ') : undefined);
  if (text === undefined) {
    throw new UsageError(
      'missing text',
      'gc sessions exec <session> "what to do", or gc sessions resume <session>',
    );
  }
  if (text !== '-') return text;
  return (await context.readStdin()).replace(/\n$/, '');
}

function bytesOf(file: string): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(readFileSync(file));
  } catch (error) {
    throw new GcError('no-config-file', `cannot read ${file}: ${messageOf(error)}`, { cause: error });
  }
}

const updateJson = (update: ExecUpdate): string => `${JSON.stringify(protoJson(ExecUpdateSchema, update))}\n`;

/**
 * What was committed stays; whether it is gone on with is a person's decision.
 * @param last the kind of the last record that this turn committed
 */
function nextAfter(error: unknown, uid: string, last: EventKind | undefined): string {
  const lost = error instanceof ServiceError && error.status === 'ABORTED';
  const waits = error instanceof ServiceError && error.status === 'FAILED_PRECONDITION';
  if (lost || waits || last === EventKind.EVENT_END) return `gc sessions get ${uid}`;
  return last === undefined ? `gc sessions exec ${uid} "what to do"` : `gc sessions resume ${uid}`;
}
