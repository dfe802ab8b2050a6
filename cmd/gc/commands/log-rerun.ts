import { connectHarness, type RemoteHarness } from '../../../internal/api/grpc/connect-harness.ts';
import type { ChainedRecord } from '../../../internal/protocol/hash-chain.ts';
import type { SessionRow } from '../../../internal/session/log/session-log.ts';
import { chatHarness } from '../../../internal/session/turn/builtin/chat-harness.ts';
import { echoHarness } from '../../../internal/session/turn/builtin/echo-harness.ts';
import type { Harness } from '../../../internal/session/turn/harness.ts';
import { type LeftOut, replayTurns } from '../../../internal/session/turn/replay-turns.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { Context } from '../context.ts';
import { namedHarness } from '../log/named-harness.ts';
import type { Logs } from '../log/open-logs.ts';
import { onePlainLine } from '../output/plain.ts';
import { count } from '../output/session-log-text.ts';

/**
 * Runs the finished turns of a log again, against what they recorded: no model is asked and nothing is written.
 * @throws TurnError with the first difference
 */
export async function rerun(
  context: Context,
  input: Input,
  { store }: Logs,
  { uid, harness: usual }: SessionRow,
): Promise<number> {
  const far = farHarnesses(context, input);
  try {
    const { turns, leftOut } = await replayTurns(
      {
        uid,
        log: store,
        clock: context.clock,
        harnessOf: ({ harness, effects }) => harnessNamed(harness || usual, effects, far),
      },
      context.signal,
    );
    context.out.write(`${count(turns, 'turn')} gave what the log holds\n${leftOutLines(leftOut)}`);
    return 0;
  } finally {
    for (const each of far.values()) each.close();
  }
}

function farHarnesses({ clock, cwd }: Context, input: Input): ReadonlyMap<string, RemoteHarness> {
  const far = new Map<string, RemoteHarness>();
  for (const { name, address } of input.texts('harness').map(namedHarness)) {
    if (far.has(name)) throw new UsageError(`two harnesses are called ${name}`);
    far.set(name, connectHarness(address, { clock, cwd }));
  }
  return far;
}

function harnessNamed(
  name: string,
  effects: readonly ChainedRecord[],
  far: ReadonlyMap<string, Harness>,
): Harness | undefined {
  const named = far.get(name);
  if (named) return named;
  switch (name) {
    case '':
    case 'echo':
      return echoHarness;
    case 'chat':
      return chatHarness({ model: modelIn(effects) });
    default:
      return undefined;
  }
}

/** The model that a turn asked: what a harness asks is compared, its name included. */
function modelIn(effects: readonly ChainedRecord[]): string {
  for (const { event } of effects) if (event.body.case === 'model') return event.body.value.model;
  return '';
}

/** One line for each harness and reason. */
function leftOutLines(leftOut: readonly LeftOut[]): string {
  const groups = new Map<string, LeftOut[]>();
  for (const each of leftOut) {
    const key = `${each.why} ${each.harness}`;
    groups.set(key, [...(groups.get(key) ?? []), each]);
  }
  return [...groups.values()].map(leftOutLine).join('');
}

function leftOutLine(group: readonly LeftOut[]): string {
  const [{ harness, why } = { harness: '', why: 'unknown' }] = group;
  const name = onePlainLine(harness) || 'a harness without a name';
  const reason =
    why === 'observed' ? 'it acts by itself' : `when it is served somewhere, add --harness ${name}=host:port`;
  const at = group.map(({ seq }) => seq).join(', ');
  return `${count(group.length, 'turn')} of ${name} (from record ${at}) not run again: ${reason}\n`;
}
