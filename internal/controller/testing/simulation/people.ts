import { codeOf, GcError, messageOf } from '../../../platform/errors.ts';
import { displayName } from '../../../session/display.ts';
import type { SessionRecord } from '../../../session/record.ts';
import type { NudgeRequest } from '../../city-api.ts';
import type { LocalCityApi } from '../../local-city-api.ts';
import type { Dice } from './dice.ts';
import type { CityProcess, World } from './world.ts';

/** One message that somebody sent. */
export interface Sent {
  readonly id: string;
  readonly target: string;
  readonly sender: string;
  readonly delivery: 'wait-idle' | 'immediate' | 'queue';
  /** Place among everything that happens to messages. */
  readonly sentAt: number;
  repliedAt: number | undefined;
  /** `delivered`, `queued`, or the code of the refusal; `undefined`: there was no answer. */
  reply: string | undefined;
}

interface Request {
  readonly what: string;
  readonly process: CityProcess;
}

const SENDERS = ['ann', 'bob', 'cid'];
/** A request that has no answer by then never gets one. */
export const ANSWER_LIMIT_MS = 400_000;

/** Everybody who asks something of the city: each request is a command of its own, and its answer comes when it comes. */
export class People {
  readonly #world: World;
  readonly sent: Sent[] = [];
  readonly underWay = new Set<Request>();
  /** What was acknowledged and must hold, by the id of the record. */
  readonly holds = new Map<string, 'suspended' | 'drained'>();
  /** Somebody registered a wait: one that is over wakes its session, also one that was drained. */
  #waits = false;
  readonly #asked = new Map<string, number>();
  /** Questions of which somebody was told that his answer was the one. */
  readonly #answers = new Map<string, number>();
  order = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** A command begins; without a controller it opens the city by itself. */
  async ask(
    what: string,
    work: (api: LocalCityApi, process: CityProcess) => Promise<unknown>,
    answered: (result: unknown) => void = () => undefined,
  ): Promise<void> {
    const world = this.#world;
    const isServed = world.isUp && world.controller !== undefined;
    const process = isServed ? world.controller : await world.visit();
    if (!process) return;
    const request: Request = { what, process };
    this.underWay.add(request);
    world.note(`${process.life.name} ? ${what}`);
    const over = () => {
      this.underWay.delete(request);
      if (!isServed) void process.close().then(() => world.leave(process));
    };
    work(process.api, process).then(
      (result) => {
        if (process.life.dead) return;
        world.note(`${process.life.name} ! ${what}`);
        answered(result);
        over();
      },
      (error: unknown) => {
        if (process.life.dead) return;
        world.note(`${process.life.name} ! ${what}: ${codeOf(error)} ${messageOf(error)}`);
        if (!(error instanceof GcError) || error.code === 'internal')
          world.violates(`${what} fails as nothing may: ${error instanceof Error ? error.stack : error}`);
        over();
      },
    );
  }

  /** Requests that still may have an answer. */
  waiting(): readonly string[] {
    for (const request of this.underWay) if (request.process.life.dead) this.underWay.delete(request);
    return [...this.underWay].map((request) => request.what);
  }

  /** Something is asked of a session that may change whether it is held; what was promised before may be over. */
  holding(
    target: string,
    work: (api: LocalCityApi) => Promise<unknown>,
    what: string,
    makes?: 'suspended' | 'drained',
  ) {
    const name = this.idOf(target);
    const place = (this.#asked.get(name) ?? 0) + 1;
    if (what.startsWith('wait')) {
      this.#waits = true;
      for (const [id, held] of this.holds) if (held === 'drained') this.holds.delete(id);
    }
    const isAlone = this.waiting().length === 0;
    this.#asked.set(name, place);
    this.#mayFree(target);
    return this.ask(`${what} ${target}`, work, () => {
      const holds = makes === 'suspended' || (makes === 'drained' && !this.#waits);
      if (makes && holds && isAlone && this.#asked.get(name) === place)
        this.holds.set(this.idOf(target), makes);
    });
  }

  nudge(target: string, dice: Dice): Promise<void> {
    this.order += 1;
    const sender = dice.pick(SENDERS);
    const delivery = dice.pick(['wait-idle', 'wait-idle', 'immediate', 'queue', 'queue'] as const);
    const id = `m${this.sent.length + 1}`;
    const sent: Sent = {
      id,
      target,
      sender,
      delivery,
      sentAt: this.order,
      repliedAt: undefined,
      reply: undefined,
    };
    this.sent.push(sent);
    const request: NudgeRequest = {
      id,
      text: `${id}. from ${sender}`,
      sender,
      delivery,
      wait_idle_ms: delivery === 'wait-idle' ? dice.pick([1_000, 30_000]) : 0,
    };
    const name = this.idOf(target);
    this.#asked.set(name, (this.#asked.get(name) ?? 0) + 1);
    if (delivery !== 'queue') this.#mayFree(target);
    const ask = async (api: LocalCityApi) => {
      const reply = await api.nudge(target, request).catch((error: unknown) => {
        this.order += 1;
        sent.repliedAt = this.order;
        sent.reply = codeOf(error) ?? 'none';
        throw error;
      });
      this.order += 1;
      sent.repliedAt = this.order;
      sent.reply = reply.outcome.kind;
    };
    return this.ask(`nudge ${id} ${delivery} ${target}`, ask);
  }

  submit(target: string, dice: Dice): Promise<void> {
    this.order += 1;
    const id = `m${this.sent.length + 1}`;
    const sender = dice.pick(SENDERS);
    const intent = dice.pick(['default', 'follow_up', 'interrupt_now'] as const);
    const sent: Sent = {
      id,
      target,
      sender,
      // It may overtake what waits its turn.
      delivery: 'immediate',
      sentAt: this.order,
      repliedAt: undefined,
      reply: undefined,
    };
    this.sent.push(sent);
    const request = { message: `${id}. from ${sender}`, id, intent, sender };
    return this.holding(
      target,
      async (api) => {
        const reply = await api.upkeep.submit(target, request);
        this.order += 1;
        sent.repliedAt = this.order;
        sent.reply = reply.outcome.kind;
      },
      `submit ${id} ${intent}`,
    );
  }

  answer(target: string, requestId: string, action: string): Promise<void> {
    return this.ask(
      `answer ${requestId} ${action} ${target}`,
      (api) => api.answer(target, { request_id: requestId, action }),
      () => {
        const count = (this.#answers.get(requestId) ?? 0) + 1;
        this.#answers.set(requestId, count);
        if (count > 1) this.#world.violates(`two people were told that they answered ${requestId}`);
      },
    );
  }

  /** The runtime name that a target stands for now, else the target. */
  nameOf(target: string): string {
    return this.#recordOf(target)?.sessionName ?? target;
  }

  /** The id of the record that a target stands for now, else the target. */
  idOf(target: string): string {
    return this.#recordOf(target)?.id ?? target;
  }

  /** Whom a name stands for is not always known here: nobody may have the city open, or it is the name of an agent. */
  #mayFree(target: string): void {
    const record = this.#recordOf(target);
    if (record) this.holds.delete(record.id);
    else this.holds.clear();
  }

  #recordOf(target: string): SessionRecord | undefined {
    return this.#world
      .recordsNow()
      .find((record) => [record.id, record.sessionName, record.alias, displayName(record)].includes(target));
  }
}
