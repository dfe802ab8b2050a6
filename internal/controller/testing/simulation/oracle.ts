import { META_INSTANCE_TOKEN, type StopOptions } from '../../../runtime/provider.ts';
import type { RuntimeConfig } from '../../../runtime/runtime-config.ts';
import type { SessionRecord } from '../../../session/record.ts';
import { drainOf, stopIntent } from '../../session-facts.ts';
import type { ProviderWitness, SimProvider, Told } from './sim-provider.ts';
import type { AgentLife } from './sim-runtime.ts';
import type { World } from './world.ts';

/** A look this old tells nothing any more: what follows from it follows at once. */
const FRESH_MS = 3_000;

/** Reasons for which a pool's session is ended when there is too little work. */
const SCALING: readonly string[] = ['no-wake-reason', 'idle'];

const KNOWN_STATES: readonly string[] = [
  '',
  'creating',
  'active',
  'awake',
  'asleep',
  'suspended',
  'draining',
  'drained',
  'archived',
  'quarantined',
  'orphaned',
  'closing',
  'closed',
  'stopped',
];

/** Looks at every effect while it happens, with the truth at hand. */
export class Oracle implements ProviderWitness {
  readonly #world: World;
  readonly #begun = new Set<string>();
  readonly #shown = new Map<string, string>();

  constructor(world: World) {
    this.#world = world;
  }

  starts(view: SimProvider, name: string, config: RuntimeConfig): void {
    const { runtime } = this.#world;
    const token = config.env[META_INSTANCE_TOKEN] ?? '';
    this.#world.note(`  ${view.process.name} starts ${name}: ${this.#recordOf(name)?.stateReason}`);
    if (runtime.living(name)) this.#violates(`a second process of ${name}`);
    if (this.#begun.has(token)) this.#violates(`the same life of ${name} is started again`);
    this.#begun.add(token);
    // A command that makes a new session has nothing to look at.
    const isNew = !runtime.lives.some((life) => life.name === name);
    const isCommand = this.#world.controller?.provider !== view;
    if (!isNew || !isCommand) this.#onCertainty(view, name, 'start', ['absent', 'exited']);
    this.#oneEach(name, config);
    this.#limits(name, config);
  }

  stops(view: SimProvider, name: string, life: AgentLife, _options: StopOptions): void {
    const record = this.#recordOf(name);
    const reason = record && reasonOf(record);
    if (record?.instanceToken === life.token && reason === undefined) {
      const { state, stateReason, sleepReason } = record;
      this.#violates(`${name} is ended without a reason on record (${state} ${stateReason} ${sleepReason})`);
    }
    if (!record) this.#violates(`${name} is ended, and has no record`);
    this.#world.note(`  ${view.process.name} ends ${name}#${life.number}: ${reason}`);
    if (!view.ownStarts.has(life.token) && reason !== 'city stopped') {
      this.#onCertainty(view, name, 'stop', ['running', 'exited']);
    }
    if (record && reason !== undefined && SCALING.includes(reason) && this.#works(record)) {
      this.#violates(`${name} works, and is ended: ${reason}`);
    }
  }

  responds(_view: SimProvider, life: AgentLife, requestId: string): void {
    if ((this.#world.runtime.answers.get(requestId) ?? 0) > 0)
      this.#violates(`question ${requestId} of ${life.name} is answered twice`);
  }

  /** Between two steps. */
  look(): void {
    const { runtime } = this.#world;
    for (const record of this.#world.recordsNow()) {
      this.#noteChange(record);
      if (!KNOWN_STATES.includes(record.state))
        this.#violates(`${record.sessionName} is "${record.state}", which nobody knows`);
    }
    for (const [id, count] of runtime.answers)
      if (count > 1) this.#violates(`question ${id} was answered ${count} times`);
  }

  #noteChange(record: SessionRecord): void {
    const { id, sessionName, state, stateReason, sleepReason, generation } = record;
    const intent = stopIntent(record) ?? '';
    const now = `${sessionName} ${state} ${stateReason} ${sleepReason} ${intent}`;
    if (this.#shown.get(id) === now) return;
    this.#shown.set(id, now);
    this.#world.note(`  = ${id} ${now} gen ${generation}`);
  }

  #onCertainty(view: SimProvider, name: string, what: string, answers: readonly Told[]): void {
    const now = this.#world.clock.monotonic();
    const { process } = view;
    if (process.stoppedUntil + FRESH_MS > now) return;
    const since = view.effects.get(name) ?? -1;
    const fresh = view.looks.filter(
      (look) => look.ended + FRESH_MS + (view.slowMs - look.slowMs) >= now && look.began >= since,
    );
    if (fresh.some((look) => answers.includes(look.of(name)))) return;
    const told = view.looks.slice(-3).map((look) => `${look.ended}:${look.of(name)}`);
    this.#violates(`${what} of ${name} on no certain look (${told.join(' ')})`);
  }

  /** Never two sessions for one identity. */
  #oneEach(name: string, { env }: RuntimeConfig): void {
    if (env['GC_SESSION_ORIGIN'] === 'manual') return;
    const identity = env['GC_ALIAS'] || env['GC_AGENT'];
    if (!identity) return;
    const twins = this.#world.runtime.allLiving().filter(({ name: other, config }) => {
      const isOther = other !== name && config.env['GC_SESSION_ORIGIN'] !== 'manual';
      return isOther && (config.env['GC_ALIAS'] || config.env['GC_AGENT']) === identity;
    });
    for (const twin of twins) this.#violates(`${name} and ${twin.name} are both ${identity}`);
  }

  #limits(name: string, { env }: RuntimeConfig): void {
    const template = env['GC_TEMPLATE'] ?? '';
    const city = this.#world.controller?.runtime?.engine.city;
    const agent = city?.agents.find((candidate) => candidate.qualifiedName === template);
    const isPooled = (life: { readonly config: RuntimeConfig }) =>
      life.config.env['GC_SESSION_ORIGIN'] === 'ephemeral' && life.config.env['GC_TEMPLATE'] === template;
    if (!agent || agent.maxActiveSessions === undefined || !isPooled({ config: { env } as RuntimeConfig }))
      return;
    const others = this.#world.runtime.allLiving().filter((life) => life.name !== name && isPooled(life));
    if (agent.maxActiveSessions >= 0 && others.length >= agent.maxActiveSessions) {
      const names = others.map((life) => life.name).join();
      this.#violates(`${name} starts beside ${names}, of ${agent.maxActiveSessions} at most`);
    }
  }

  #works(record: SessionRecord): boolean {
    const beads = this.#world.someone?.parts.db.beadTable.list({ status: 'in_progress' }) ?? [];
    const names = [record.id, record.sessionName, record.alias];
    return beads.some((bead) => bead.assignee !== '' && names.includes(bead.assignee));
  }

  #recordOf(name: string): SessionRecord | undefined {
    return this.#world.recordsNow().find((record) => record.sessionName === name);
  }

  #violates(what: string): void {
    this.#world.violates(what);
  }
}

/** What the record says of the end that comes. */
function reasonOf(record: SessionRecord): string | undefined {
  const intent = stopIntent(record);
  if (intent) return intent;
  if (record.state === 'creating') return 'its start failed';
  return drainOf(record)?.reason;
}
