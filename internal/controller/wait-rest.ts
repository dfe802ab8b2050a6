import { readCrashState, startGate } from '../session/crash-policy.ts';
import type { SessionRecord } from '../session/record.ts';
import type { WaitWorld } from '../session/waits.ts';
import type { CityEngine } from './city-engine.ts';
import type { Desired, OrderedSurvey } from './model.ts';
import { type GlimpseRequest, Screens } from './screens.ts';
import { believedRunning, type Sight, sightOf, startIncomplete } from './session-facts.ts';

/** An agent whose screen does not say that it is idle rests when it has shown nothing for so long. */
const SILENCE_MEANS_REST_MS = 10_000;

export type Rest = ReturnType<WaitWorld['rest']>;

/** Whether sessions that others wait for are at rest. Only those are looked at. */
export class SessionRests {
  readonly #engine: CityEngine;
  readonly #screens: Screens;

  constructor(engine: CityEngine) {
    this.#engine = engine;
    this.#screens = new Screens(engine.parts.provider, engine.parts.clock);
  }

  async look(
    ids: ReadonlySet<string>,
    records: readonly SessionRecord[],
    survey: OrderedSurvey,
  ): Promise<ReadonlyMap<string, Rest>> {
    const rests = new Map<string, Rest>();
    const running: { readonly record: SessionRecord; readonly sight: Running }[] = [];
    const desired = ids.size > 0 ? await this.#engine.desired(records) : NOBODY;
    for (const id of ids) {
      const record = records.find((each) => each.id === id);
      if (!record) rests.set(id, await this.#goneRest(id));
      else {
        const sight = sightOf({ survey, effects: this.#engine.memory.effects }, record.sessionName);
        if (sight.kind === 'running' && !startIncomplete(record)) running.push({ record, sight });
        else rests.set(id, downRest(record, sight, this.#engine.parts.clock.now()));
      }
    }
    await this.#screens.refresh(running.map(({ record, sight }) => glimpseRequest(record, sight, desired)));
    for (const { record, sight } of running) rests.set(record.id, this.#runningRest(record, sight));
    return rests;
  }

  async #goneRest(id: string): Promise<Rest> {
    const { db } = this.#engine.parts;
    const bead = await db.read(() => db.beadTable.find(id));
    return bead ? 'resting' : 'missing';
  }

  #runningRest(record: SessionRecord, { observation }: Running): Rest {
    const { lastActivity } = observation;
    const glimpse = this.#screens.get(record.sessionName);
    if (glimpse?.activity.kind === 'busy' || glimpse?.activity.kind === 'asking') return 'working';
    const isSure = glimpse?.activity.kind === 'idle' && (glimpse.isTold || glimpse.activity.composer);
    if (isSure) return 'resting';
    if (lastActivity === undefined) return 'unknown';
    const silentMs = this.#engine.parts.clock.now() - lastActivity;
    return silentMs >= SILENCE_MEANS_REST_MS ? 'resting' : 'working';
  }
}

type Running = Extract<Sight, { kind: 'running' }>;

const NOBODY: ReadonlyMap<string, Desired> = new Map();

/** One that is on its way up, or comes back after a crash, is not at rest. */
function downRest(record: SessionRecord, sight: Sight, now: number): Rest {
  if (sight.kind === 'unknown') return 'unknown';
  const isComing = record.pendingCreateClaim || startIncomplete(record) || believedRunning(record);
  if (isComing) return 'working';
  return startGate(readCrashState(record.metadata, now), now).kind === 'open' ? 'resting' : 'working';
}

function glimpseRequest(
  record: SessionRecord,
  { observation }: Running,
  desired: ReadonlyMap<string, Desired>,
): GlimpseRequest {
  const wanted = desired.get(record.sessionName);
  return {
    observation,
    providerKind: record.providerKind,
    readyPromptPrefix: wanted?.resolution === 'resolved' ? wanted.config.readyPromptPrefix : '',
    tells: record.transport === 'acp',
  };
}
