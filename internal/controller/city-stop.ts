import type { CityDatabase } from '../beads/sqlite/city-database.ts';
import { messageOf } from '../platform/errors.ts';
import { limited } from '../platform/limited.ts';
import { canObserve, type Provider, type Survey, unseenAnswer } from '../runtime/provider.ts';
import { PartialListError } from '../runtime/routing/back-ends.ts';
import { cleared, crashPatch } from '../session/crash-policy.ts';
import type { SessionRecord } from '../session/record.ts';
import type { StopReply } from './city-api.ts';
import type { ExecutorContext } from './executor.ts';
import type { Desired } from './model.ts';
import { believedRunning, STOP_INTENT_KEY, stopIntent } from './session-facts.ts';
import { stopWaves, withTransitiveNeeds } from './start-waves.ts';
import { recordStopped, STOP_GRACE_MS } from './stop-operation.ts';

const PARALLEL_INTERRUPTS = 16;
const PARALLEL_STOPS = 8;
/** How often it is asked whether the interrupted sessions are gone. */
const GONE_POLL_MS = 100;

export interface CityStopOptions {
  readonly context: Pick<ExecutorContext, 'db' | 'store' | 'provider' | 'ending' | 'time'>;
  readonly desired: ReadonlyMap<string, Desired>;
  /** Between interrupt and stop, milliseconds; 0: stop at once. */
  readonly shutdownTimeoutMs: number;
  readonly progress?: (line: string) => void;
}

/**
 * Ends every session of the city: all are interrupted, those that are still there after the timeout are stopped,
 * dependents first. That it is meant is recorded before the first signal. Source: Gas City's graceful stop. Where nobody
 * can tell what lives, nothing is ended.
 */
export async function stopCity(options: CityStopOptions, signal: AbortSignal): Promise<StopReply> {
  const { context, progress } = options;
  const open = await context.store.list('open');
  await forgetStrikes(context.db, open);
  const listed = await namesToEnd(context.provider, open);
  if (listed.kind === 'unknown') {
    progress?.(`gc stop: ${listed.reason}`);
    const { reason } = listed;
    return { stopped: [], left: open.filter(believedRunning).map(labelOfRecord), reason };
  }
  const { names } = listed;
  if (names.length === 0) return { stopped: [], left: [] };
  const records = await recordIntent(context.db, open, names);
  const alive = await aliveOf(context.provider, names);
  if (options.shutdownTimeoutMs > 0 && alive.size > 0) {
    await interruptAll(options, [...alive], signal);
    const left = await aliveOf(context.provider, [...alive]);
    for (const name of alive)
      if (!left.has(name)) progress?.(`Agent '${labelOf(records, name)}' exited gracefully`);
  }
  return stopAll(options, names, records);
}

async function interruptAll(
  options: CityStopOptions,
  alive: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const { context, shutdownTimeoutMs, progress } = options;
  let sent = 0;
  await limited(PARALLEL_INTERRUPTS, alive, async (name) => {
    // One that cannot be interrupted is stopped below.
    await context.provider.interrupt(name).then(
      () => {
        sent += 1;
      },
      () => undefined,
    );
  });
  progress?.(`Sent interrupt to ${sent}/${alive.length} agent(s), waiting ${shutdownTimeoutMs / 1_000}s...`);
  const deadline = context.time.lived() + shutdownTimeoutMs;
  while (context.time.lived() < deadline) {
    if ((await aliveOf(context.provider, alive)).size === 0) return;
    await context.time.sleepUntil(Math.min(deadline, context.time.lived() + GONE_POLL_MS), signal);
  }
}

async function stopAll(
  options: CityStopOptions,
  names: readonly string[],
  records: ReadonlyMap<string, SessionRecord>,
): Promise<StopReply> {
  const { context, desired, progress } = options;
  const stopped: string[] = [];
  const left: string[] = [];
  const items = names.map((name) => ({
    name,
    template: desired.get(name)?.template ?? records.get(name)?.template ?? name,
    dependsOn: desired.get(name)?.dependsOn ?? [],
  }));
  for (const wave of stopWaves(withTransitiveNeeds(items, dependencyGraph(desired)))) {
    await limited(PARALLEL_STOPS, wave, async (name) => {
      const label = labelOf(records, name);
      try {
        await context.provider.stop(name, { graceMs: STOP_GRACE_MS });
        const record = records.get(name);
        if (record) await recordStopped(context, record.id, 'city stopped');
        stopped.push(label);
        progress?.(`Stopped agent '${label}'`);
      } catch (error) {
        left.push(label);
        progress?.(`gc stop: stopping ${label}: ${messageOf(error)}`);
      }
    });
  }
  return { stopped, left };
}

type Listed =
  | { readonly kind: 'listed'; readonly names: readonly string[] }
  | { readonly kind: 'unknown'; readonly reason: string };

/** When only some could be listed, the others may live as their records say: they are tried, and reported as left. */
async function namesToEnd(provider: Provider, open: readonly SessionRecord[]): Promise<Listed> {
  try {
    return { kind: 'listed', names: await provider.listRunning('') };
  } catch (error) {
    if (!(error instanceof PartialListError)) return { kind: 'unknown', reason: messageOf(error) };
    const believed = open.filter(believedRunning).map((record) => record.sessionName);
    return { kind: 'listed', names: [...new Set([...error.names, ...believed])] };
  }
}

/** Whoever stops the city and starts it again wants everything tried again. */
async function forgetStrikes(db: CityDatabase, records: readonly SessionRecord[]): Promise<void> {
  const metadata = crashPatch(cleared());
  await db.commit({
    beads: records.map((record) => ({ kind: 'update', id: record.id, patch: { metadata } })),
  });
}

/** One transaction, before any signal: whatever ends now was meant to. An older intent of a person stays. */
async function recordIntent(
  db: CityDatabase,
  records: readonly SessionRecord[],
  names: readonly string[],
): Promise<ReadonlyMap<string, SessionRecord>> {
  const wanted = new Set(names);
  const ours = records.filter((record) => wanted.has(record.sessionName));
  await db.commit({
    beads: ours
      .filter((record) => stopIntent(record) === undefined)
      .map((record) => ({
        kind: 'update',
        id: record.id,
        patch: { metadata: { [STOP_INTENT_KEY]: 'city stopped' } },
      })),
  });
  return new Map(ours.map((record) => [record.sessionName, record]));
}

/** Those that are not known to be dead: one that could not be looked at is ended too, it is ours by name. */
async function aliveOf(provider: Provider, names: readonly string[]): Promise<ReadonlySet<string>> {
  const survey: Survey = canObserve(provider)
    ? await provider.observe()
    : { kind: 'unknown', reason: 'cannot observe' };
  if (survey.kind === 'infrastructure-gone') return new Set();
  if (survey.kind === 'unknown') return new Set(names);
  return new Set(
    names.filter((name) => {
      const found = survey.sessions.get(name);
      if (!found) return unseenAnswer(survey, name)?.kind === 'unknown';
      return found.liveness.kind !== 'exited';
    }),
  );
}

function dependencyGraph(desired: ReadonlyMap<string, Desired>): ReadonlyMap<string, readonly string[]> {
  return new Map([...desired.values()].map((d) => [d.template, d.dependsOn]));
}

function labelOf(records: ReadonlyMap<string, SessionRecord>, name: string): string {
  const record = records.get(name);
  return record ? labelOfRecord(record) : name;
}

const labelOfRecord = (record: SessionRecord): string =>
  record.namedIdentity || record.alias || record.sessionName;
