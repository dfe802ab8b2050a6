import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { GcError, messageOf } from '../../../internal/platform/errors.ts';
import { protoJson } from '../../../internal/protocol/canonical-json.ts';
import {
  GetHarnessRequestSchema,
  HarnessRegistrationSchema,
  HarnessSpecSchema,
  ListHarnessesRequestSchema,
  RegisterHarnessRequestSchema,
  RegisterHarnessResponseSchema,
  RetireHarnessRequestSchema,
} from '../../../internal/protocol/generated/agentsessions/v1/harness_registry_pb.ts';
import { create, fromJson, type JsonValue } from '../../../internal/protocol/protobuf.ts';
import { type HarnessRegistryHost, ServiceError } from '../../../internal/session/service/sessions-host.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { withRegistry } from '../sessions/server.ts';

/** Source: agentsessions.v1 client. */
const CALL_TIMEOUT_MS = 30_000;

type Answered = JsonValue | { readonly harnesses: readonly JsonValue[] };
type Act = (host: HarnessRegistryHost, call: Timed) => Promise<Answered>;
/** Makes one call with its own time limit. */
type Timed = <Reply>(call: (signal: AbortSignal) => Promise<Reply>) => Promise<Reply>;

interface Action {
  /** Options that it takes besides those of the connection. */
  readonly takes: readonly string[];
  plan(context: Context, input: Input): Act;
}

const ACTIONS: Readonly<Record<string, Action>> = {
  register: { takes: ['spec'], plan: registering },
  get: { takes: ['observe'], plan: getting },
  list: { takes: ['include-retired', 'page-size'], plan: listing },
  retire: { takes: ['reason'], plan: retiring },
};
const OWN_OPTIONS = Object.values(ACTIONS).flatMap(({ takes }) => takes);

/** An operator's calls; the answer is the proto's JSON. */
export const runSessionsHarness: CommandRun = (context, input) => {
  const word = input.arg('action');
  const action = ACTIONS[word];
  if (!action) {
    throw new UsageError(`unknown action "${word}"`, `one of ${Object.keys(ACTIONS).join(', ')}`);
  }
  const stray = OWN_OPTIONS.find(
    (name) => !action.takes.includes(name) && (input.flag(name) || input.text(name) !== undefined),
  );
  if (stray !== undefined) throw new UsageError(`--${stray} is not for ${word}`);
  const act = action.plan(context, input);
  return withRegistry(context, input, async (host) => {
    const answered = await act(host, (call) => timed(context, call));
    context.out.write(`${JSON.stringify(answered, null, 2)}\n`);
    return 0;
  });
};

function registering(context: Context, input: Input): Act {
  const file = input.text('spec');
  if (file === undefined)
    throw new UsageError('missing --spec', 'a file with the proto JSON of a HarnessSpec');
  const request = create(RegisterHarnessRequestSchema, {
    name: nameOf(input),
    spec: specIn(resolve(context.cwd, file)),
  });
  return async (host, call) =>
    protoJson(RegisterHarnessResponseSchema, await call((signal) => host.registerHarness(request, signal)));
}

function getting(_: Context, input: Input): Act {
  const request = create(GetHarnessRequestSchema, { name: nameOf(input), observe: input.flag('observe') });
  return async (host, call) =>
    protoJson(HarnessRegistrationSchema, await call((signal) => host.getHarness(request, signal)));
}

function listing(_: Context, input: Input): Act {
  const pageSize = input.count('page-size', 1) ?? 0;
  const includeRetired = input.flag('include-retired');
  return async (host, call) => {
    const harnesses: JsonValue[] = [];
    let pageToken = '';
    do {
      const request = create(ListHarnessesRequestSchema, { pageSize, pageToken, includeRetired });
      const page = await call((signal) => host.listHarnesses(request, signal));
      harnesses.push(...page.harnesses.map((each) => protoJson(HarnessRegistrationSchema, each)));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    return { harnesses };
  };
}

function retiring(_: Context, input: Input): Act {
  const request = create(RetireHarnessRequestSchema, {
    name: nameOf(input),
    reason: input.text('reason') ?? '',
  });
  return async (host, call) =>
    protoJson(HarnessRegistrationSchema, await call((signal) => host.retireHarness(request, signal)));
}

function nameOf(input: Input): string {
  const [word, option] = [input.optionalArg('name'), input.text('name')];
  if (word !== undefined && option !== undefined && word !== option) {
    throw new UsageError(`two harnesses are named: ${word} and ${option}`);
  }
  const name = word ?? option;
  if (name === undefined) throw new UsageError('missing name', 'gc sessions harness list --server …');
  return name;
}

function specIn(file: string) {
  try {
    return fromJson(HarnessSpecSchema, JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    throw new GcError('bad-harness-spec', `${file} is not the JSON of a HarnessSpec: ${messageOf(error)}`, {
      cause: error,
      next: 'for example {"remote": {"address": "127.0.0.1:9000"}, "capabilities": {"resumability": "RESUMABILITY_STATELESS_REPLAY"}}',
    });
  }
}

async function timed<Reply>(
  { clock, signal }: Context,
  call: (signal: AbortSignal) => Promise<Reply>,
): Promise<Reply> {
  const [answered, late] = [new AbortController(), new AbortController()];
  clock.sleep(CALL_TIMEOUT_MS, answered.signal).then(
    () =>
      late.abort(
        new ServiceError(
          'DEADLINE_EXCEEDED',
          `the registry has not answered within ${CALL_TIMEOUT_MS / 1_000} s`,
        ),
      ),
    () => undefined, // it has
  );
  try {
    return await call(AbortSignal.any([signal, late.signal]));
  } finally {
    answered.abort();
  }
}
