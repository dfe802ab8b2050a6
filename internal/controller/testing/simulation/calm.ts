import type { SessionRecord } from '../../../session/record.ts';
import { drainOf, saysDone, stopIntent } from '../../session-facts.ts';
import type { Cast } from './cast.ts';
import type { AgentText } from './city-text.ts';
import { Dice } from './dice.ts';
import { CALM } from './faults.ts';
import { checkMessages } from './messages.ts';
import { ANSWER_LIMIT_MS } from './people.ts';
import { wrongWaits } from './waits.ts';
import type { CityProcess } from './world.ts';

const CONVERGE_LIMIT_MS = 1_800_000;
const LOOK_MS = 2_000;
/** A piece of work takes up to this. */
const WORK_MS = 30_000;
const SETTLE_MS = 61_000;
const QUIET_MS = 120_000;
const QUIET_WITHIN_MS = 1_200_000;
/** Longer than any message waits. */
const DAY_MS = 25 * 3_600_000;

/** The faults end, and time goes on: what is wanted runs, what waited is told, and then nothing moves any more. */
export async function calmDown(cast: Cast): Promise<void> {
  const { world, people } = cast;
  world.note('-- calm');
  calmWeather(cast);
  await world.up();
  await world.clock.pass(ANSWER_LIMIT_MS, () => people.waiting().length === 0);
  // The last thing that was asked of it may have been to go.
  await world.up();
  if (!world.controller) return world.violates('no controller comes up in the calm');
  for (const what of people.waiting()) world.violates(`${what} has no answer`);
  checkHolds(cast);
  // A look that was slow may still be under way, and the new city file waits for it.
  await world.clock.pass(SETTLE_MS);
  await questionsAreAnswered(cast);
  await freeEverybody(cast);
  await nobodyTraces(cast);
  let wrong: readonly string[] = ['nothing was looked at'];
  for (let waited = 0; wrong.length > 0 && waited < CONVERGE_LIMIT_MS; waited += LOOK_MS) {
    await world.clock.pass(LOOK_MS);
    // A call that was slow before the calm may have been its last.
    await world.up();
    agentsBehave(cast);
    await workGoesOn(cast, waited % WORK_MS === 0);
    wrong = [...wantedIsRunning(cast), ...(await unfinished(cast)), ...(await wrongWaits(cast))];
  }
  for (const what of wrong) world.violates(`never comes to rest: ${what}`);
  if (wrong.length === 0) await staysQuiet(cast);
  await dayGoesBy(cast);
  await checkMessages(cast);
}

function calmWeather({ world }: Cast): void {
  const { weather, text } = world;
  weather.climate = CALM;
  weather.dice = new Dice(`${world.seed}:calm`);
  weather.blind = false;
  text.broken = false;
  text.cityMax = undefined;
  for (const agent of text.agents) {
    agent.suspended = false;
    // Silence is what the calm is for.
    agent.idleTimeoutS = undefined;
  }
  world.writeConfig();
  world.touchConfig();
}

/** Agents do what they are there for: they answer what they are asked at their start, and are at rest. */
function agentsBehave({ world }: Cast): void {
  const { runtime } = world;
  for (const life of runtime.allLiving()) {
    const { busyUntil, draft, question, empty, attached, pending } = life;
    if (attached > 0) runtime.attach(life, 0);
    if (pending) runtime.answered(life, pending.request_id);
    if (busyUntil <= world.clock.monotonic() && draft === '' && question === undefined && !empty) continue;
    life.busyUntil = 0;
    life.draft = '';
    life.question = undefined;
    life.empty = false;
    runtime.shows(life);
  }
}

/** As people do it; what is left then is taken back by those who asked. */
async function questionsAreAnswered({ world, people }: Cast): Promise<void> {
  for (const { name, pending } of world.runtime.allLiving()) {
    if (!pending) continue;
    await people.answer(name, pending.request_id, '1');
    await world.clock.pass(ANSWER_LIMIT_MS, () => people.waiting().length === 0);
  }
}

function checkHolds({ world, people }: Cast): void {
  const names = new Set(world.text.agents.map((agent) => agent.name));
  for (const [id, held] of people.holds) {
    const record = world.recordsNow().find((candidate) => candidate.id === id);
    if (!record || !names.has(record.template)) continue;
    const holds = held === 'suspended' ? record.state === 'suspended' : isBeingDrained(record);
    if (!holds)
      world.violates(`${record.sessionName} was ${held}, and is ${record.state} (${record.sleepReason})`);
  }
}

function isBeingDrained(record: SessionRecord): boolean {
  // Work calls an on-demand session back, and who suspends it after all keeps it down too.
  if (record.namedMode === 'on_demand' || record.state === 'suspended') return true;
  if (record.sleepReason === 'suspended') return true;
  const intent = stopIntent(record) ?? '';
  if (['drained by a person', 'drain acknowledged by agent'].includes(intent)) return true;
  if (record.state === 'drained' || record.sleepReason === 'drained') return true;
  return drainOf(record)?.reason === 'drained by a person' || saysDone(record);
}

/** Whatever keeps a session down by somebody's wish is taken away. */
async function freeEverybody({ world, people }: Cast): Promise<void> {
  for (const { id, sessionName, state } of world.recordsNow()) {
    await people.ask(`wake ${sessionName} (${state})`, (api) => api.wake(id));
    await world.clock.pass(ANSWER_LIMIT_MS, () => people.waiting().length === 0);
  }
}

/** What is traced is written, however quiet the city is. */
async function nobodyTraces({ people, world }: Cast): Promise<void> {
  await people.ask('trace nothing', async ({ trace }) => {
    for (const { template } of (await trace.status()).arms) await trace.disarm({ template, all: true });
  });
  await world.clock.pass(ANSWER_LIMIT_MS, () => people.waiting().length === 0);
}

/** Agents take what there is, and are done with it now and then. */
async function workGoesOn({ world, agents }: Cast, isDone: boolean): Promise<void> {
  if (isDone) await agents.finish(new Dice(`${world.seed}:work`), true);
  for (const life of world.runtime.allLiving()) if (life.ready) await agents.claim(life);
}

function wantedIsRunning({ world }: Cast): readonly string[] {
  const records = world.recordsNow();
  return world.text.agents.flatMap((agent) => wrongOf(agent, records, world.runtime));
}

function wrongOf(
  agent: AgentText,
  records: readonly SessionRecord[],
  runtime: Cast['world']['runtime'],
): readonly string[] {
  if (agent.role !== 'always') return [];
  const record = records.find((candidate) => candidate.namedIdentity === agent.name);
  const life = record && runtime.living(record.sessionName);
  if (!record || !life) return [`${agent.name} does not run (${record?.state} ${record?.sleepReason})`];
  if (record.state !== 'active') return [`${agent.name} runs and is ${record.state}`];
  if (life.config.command !== agent.command) return [`${agent.name} runs ${life.config.command}`];
  return [];
}

/** Work that nobody does, workers without any, messages that wait. */
async function unfinished(cast: Cast): Promise<readonly string[]> {
  const { world } = cast;
  const { controller, text, runtime } = world;
  if (!controller) return ['the controller is gone'];
  const known = new Set(text.agents.map((agent) => agent.name));
  const workers = new Set(text.agents.filter(({ role }) => role !== 'spare').map((agent) => agent.name));
  const query = { statuses: ['open', 'in_progress'] as const, notTypes: ['session', 'message'] };
  const listed = await world.with(({ parts }) =>
    parts.work.list({ ...query, statuses: [...query.statuses] }),
  );
  const open = (listed ?? []).filter((bead) => workers.has(bead.metadata['gc.routed_to'] ?? bead.assignee));
  const min = new Map(text.agents.map((agent) => [agent.name, agent.min]));
  const idle = new Map<string, number>();
  for (const record of world.recordsNow()) {
    if (
      record.pinAwake ||
      record.origin !== 'ephemeral' ||
      record.dependencyOnly ||
      !runtime.living(record.sessionName)
    )
      continue;
    idle.set(record.template, (idle.get(record.template) ?? 0) + 1);
  }
  const strangers = runtime.allLiving().filter((life) => !known.has(life.template));
  const queues = await waitingFor(cast);
  return [
    ...open.map((bead) => `${bead.id} is ${bead.status} (${bead.assignee})`),
    ...[...idle].flatMap(([name, count]) => (count > (min.get(name) ?? 0) ? [`${count} idle ${name}`] : [])),
    ...strangers.map((life) => `${life.name} still runs, of ${life.template}`),
    ...queues,
  ];
}

/** Messages for those that could be told. */
async function waitingFor({ world }: Cast): Promise<readonly string[]> {
  const found = await world.with(async ({ runtime }) => {
    const names = (await runtime?.inbox.store.waitingNames()) ?? [];
    const able = names.filter((name) => world.runtime.living(name)?.ready);
    return Promise.all(able.map(async (name) => ({ name, head: await runtime?.inbox.store.head(name) })));
  });
  return (found ?? []).map(
    ({ name, head }) =>
      `messages wait for ${name}: ${head?.id} ${head?.state} by ${head?.owner.slice(0, 12)} until ${head?.leaseUntilMs} after ${head?.deliverAfterMs} (${head?.lastError}), now ${world.clock.now()}`,
  );
}

/** Nobody is there for a day: what waits for sessions that are down expires. */
async function dayGoesBy({ world }: Cast): Promise<void> {
  const waits = await world.with(async ({ runtime: up }) => up?.inbox.store.waitingNames());
  if (!world.controller || !waits || waits.length === 0) return;
  world.kill(world.controller);
  await world.sweep();
  await world.clock.pass(DAY_MS);
  await world.up();
  await world.clock.pass(SETTLE_MS);
}

async function whatIsNew({ parts }: CityProcess): Promise<string> {
  const [event] = (await parts.db.events.list({})).slice(-1);
  const decisions = await Promise.all(
    (await parts.store.list('open')).map(async ({ id }) => (await parts.db.decisions(id, 1))[0]),
  );
  const last = decisions.toSorted((a, b) => (a?.at ?? 0) - (b?.at ?? 0)).at(-1);
  return `written, last: ${event?.type} ${event?.subject} ${event?.message}; ${last?.what}: ${last?.why}`;
}

/** Nothing is written any more, and nothing is called but looks. Who is to sleep for idleness may do that first. */
async function staysQuiet({ world }: Cast): Promise<void> {
  const { controller, clock } = world;
  if (!controller) return;
  let noise = '';
  for (let passed = 0; passed < QUIET_WITHIN_MS; passed += QUIET_MS) {
    const marker = controller.parts.db.changeMarker();
    const before = new Map(controller.provider.calls);
    const from = world.story.length;
    await clock.pass(QUIET_MS);
    const called = [...controller.provider.calls].flatMap(([method, count]) => {
      const more = count - (before.get(method) ?? 0);
      return more > 0 ? [`${more} x ${method}`] : [];
    });
    if (controller.parts.db.changeMarker() !== marker) called.push(await whatIsNew(controller));
    if (called.length === 0) return;
    noise = `${called.join(', ')}: ${world.story.slice(from).slice(-12).join(' | ')}`;
  }
  world.violates(`a quiet city is not left alone: ${noise}`);
}
