import type { Place } from '../../controller/acting.ts';
import type {
  CityApi,
  CityStatus,
  DrainState,
  Explanation,
  HandoffReply,
  HandoffRequest,
  LifeRequest,
  LogEntry,
  LogsOptions,
  NewSessionRequest,
  NudgeQueue,
  NudgeReply,
  NudgeRequest,
  ReloadReply,
  SessionFilter,
  SessionView,
  StopReply,
  TakenMark,
  TakenNudges,
  WakeOptions,
} from '../../controller/city-api.ts';
import type { CityResources } from '../../controller/city-resources.ts';
import type { AnswerReply, AnswerRequest, OpenQuestions } from '../../controller/question-api.ts';
import type { WokenSession } from '../../controller/upkeep-api.ts';
import type { CityEvent, EventFilter } from '../../events/event.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { CityRequests, parse, READ_TIMEOUT_MS, SESSION_TIMEOUT_MS, withQuery } from './city-requests.ts';
import { followEvents } from './follow-events.ts';
import { HttpRules } from './http-rules.ts';
import { HttpTrace } from './http-trace.ts';
import { HttpUpkeep } from './http-upkeep.ts';
import { HttpWaits } from './http-waits.ts';
import { assertNudgeFits, paths } from './wire.ts';

/** On top of the time that the agent may be busy. */
const NUDGE_EXTRA_MS = 60_000;
/** It is waited for until the session has ended. */
const HANDOFF_TIMEOUT_MS = 90_000;
/** Every agent may take the whole shutdown timeout of a long configuration. */
const STOP_TIMEOUT_MS = 900_000;

/** A city whose controller answers on its Unix socket. Loads nothing but Node's own HTTP client. */
export class HttpCityApi implements CityApi {
  readonly rules: HttpRules;
  readonly trace: HttpTrace;
  readonly upkeep: HttpUpkeep;
  readonly waits: HttpWaits;
  readonly #socketPath: string;
  readonly #clock: Clock;
  readonly #requests: CityRequests;

  /**
   * @param actor for whom it asks
   * @param place where names are typed
   */
  constructor(socketPath: string, clock: Clock = systemClock, actor = '', place?: Place) {
    this.#socketPath = socketPath;
    this.#clock = clock;
    this.#requests = new CityRequests(socketPath, clock, actor, place);
    this.rules = new HttpRules(this.#requests);
    this.trace = new HttpTrace(this.#requests);
    this.upkeep = new HttpUpkeep(this.#requests);
    this.waits = new HttpWaits(this.#requests);
  }

  async status(): Promise<CityStatus> {
    return parse<CityStatus>(await this.#requests.get(paths.status, READ_TIMEOUT_MS), [
      'city_name',
      'sessions',
      'summary',
    ]);
  }

  async resources(): Promise<CityResources> {
    return parse<CityResources>(await this.#requests.get(paths.resources, READ_TIMEOUT_MS), [
      'machine',
      'sessions',
    ]);
  }

  async sessions(filter: SessionFilter = {}): Promise<readonly SessionView[]> {
    const path = withQuery(paths.sessions, { state: filter.state, template: filter.template });
    return parse<{ items: SessionView[] }>(await this.#requests.get(path, READ_TIMEOUT_MS), ['items']).items;
  }

  async session(target: string): Promise<SessionView> {
    return view(await this.#requests.get(paths.session(target), READ_TIMEOUT_MS));
  }

  async newSession(request: NewSessionRequest): Promise<SessionView> {
    const { template, ...rest } = request;
    return view(
      await this.#requests.post(
        paths.sessions,
        { kind: 'agent', name: template, ...rest },
        SESSION_TIMEOUT_MS,
      ),
    );
  }

  async nudge(target: string, request: NudgeRequest): Promise<NudgeReply> {
    assertNudgeFits(request.text);
    const { text: message, ...rest } = request;
    const timeoutMs = request.wait_idle_ms + NUDGE_EXTRA_MS;
    const text = await this.#requests.post(
      paths.sessionAction(target, 'messages'),
      { message, ...rest },
      timeoutMs,
    );
    const { session, outcome } = parse<NudgeReply>(text, ['session', 'outcome']);
    return { session, outcome };
  }

  async nudgeQueues(target?: string): Promise<readonly NudgeQueue[]> {
    const text = await this.#requests.get(withQuery(paths.nudges, { session: target }), READ_TIMEOUT_MS);
    return parse<{ items: NudgeQueue[] }>(text, ['items']).items;
  }

  async takeNudges(target: string): Promise<TakenNudges> {
    const text = await this.#requests.post(paths.sessionAction(target, 'nudges/take'), {}, READ_TIMEOUT_MS);
    return parse<TakenNudges>(text, ['session', 'items']);
  }

  async acknowledgeNudges(target: string, taken: readonly TakenMark[]): Promise<void> {
    await this.#requests.post(paths.sessionAction(target, 'nudges/acknowledge'), { taken }, READ_TIMEOUT_MS);
  }

  async deliverNudges(target: string): Promise<NudgeQueue> {
    const text = await this.#requests.post(
      paths.sessionAction(target, 'nudges/deliver'),
      {},
      SESSION_TIMEOUT_MS,
    );
    return parse<NudgeQueue>(text, ['session', 'pending']);
  }

  peek(target: string, lines: number): Promise<string> {
    const path = withQuery(paths.sessionAction(target, 'peek'), { lines: String(Math.max(0, lines)) });
    return this.#requests.get(path, SESSION_TIMEOUT_MS);
  }

  async questions(target?: string): Promise<OpenQuestions> {
    const path = withQuery(paths.questions, { session: target });
    return parse<OpenQuestions>(await this.#requests.get(path, SESSION_TIMEOUT_MS), ['items', 'unknown']);
  }

  async answer(target: string, request: AnswerRequest): Promise<AnswerReply> {
    const text = await this.#requests.post(paths.answer(target), request, SESSION_TIMEOUT_MS);
    return parse<AnswerReply>(text, ['session', 'request_id', 'choice', 'id']);
  }

  /** Source of the route: Gas City's session `stop`, which ends a turn. */
  interrupt(target: string): Promise<SessionView> {
    return this.#act(target, 'stop');
  }

  kill(target: string): Promise<SessionView> {
    return this.#act(target, 'kill');
  }

  suspend(target: string): Promise<SessionView> {
    return this.#act(target, 'suspend');
  }

  wake(target: string, options: WakeOptions = {}): Promise<WokenSession> {
    return this.#act(target, 'wake', options);
  }

  close(target: string): Promise<SessionView> {
    return this.#act(target, 'close');
  }

  drain(target: string): Promise<SessionView> {
    return this.#act(target, 'drain');
  }

  undrain(target: string): Promise<SessionView> {
    return this.#act(target, 'undrain');
  }

  async drainState(target: string, life: LifeRequest = {}): Promise<DrainState> {
    const path = withQuery(paths.sessionAction(target, 'drain'), { instance_token: life.instance_token });
    return parse<DrainState>(await this.#requests.get(path, READ_TIMEOUT_MS), ['draining']);
  }

  async acknowledgeDrain(target: string, life: LifeRequest = {}): Promise<DrainState> {
    const path = paths.sessionAction(target, 'drain-ack');
    return parse<DrainState>(await this.#requests.post(path, life, SESSION_TIMEOUT_MS), ['draining']);
  }

  requestRestart(target: string, life: LifeRequest = {}): Promise<SessionView> {
    return this.#act(target, 'request-restart', life);
  }

  async handoff(target: string, request: HandoffRequest): Promise<HandoffReply> {
    const path = paths.sessionAction(target, 'handoff');
    return parse<HandoffReply>(await this.#requests.post(path, request, HANDOFF_TIMEOUT_MS), [
      'mail_id',
      'to',
    ]);
  }

  async rename(target: string, title: string): Promise<SessionView> {
    return view(await this.#requests.post(paths.sessionAction(target, 'rename'), { title }, READ_TIMEOUT_MS));
  }

  async explain(target: string): Promise<Explanation> {
    const text = await this.#requests.get(paths.sessionAction(target, 'explain'), READ_TIMEOUT_MS);
    return parse<Explanation>(text, ['session', 'decisions', 'helps']);
  }

  async logs(target: string, options: LogsOptions): Promise<readonly LogEntry[]> {
    const path = withQuery(paths.sessionAction(target, 'transcript'), { tail: String(options.tail) });
    const text = await this.#requests.get(path, SESSION_TIMEOUT_MS);
    const { turns } = parse<{ turns: { role: string; text: string; timestamp: string }[] }>(text, ['turns']);
    return turns.map(({ role, text: said, timestamp }) => ({ at: timestamp, type: role, text: said }));
  }

  async setAgentSuspended(agent: string, suspended: boolean): Promise<void> {
    await this.#requests.post(
      paths.agentAction(agent, suspended ? 'suspend' : 'resume'),
      {},
      SESSION_TIMEOUT_MS,
    );
  }

  async events(filter: EventFilter): Promise<readonly CityEvent[]> {
    const path = withQuery(paths.events, {
      type: filter.type,
      actor: filter.actor,
      since_ms: filter.since?.toString(),
      after_seq: filter.afterSeq?.toString(),
      limit: filter.limit?.toString(),
    });
    return parse<{ items: CityEvent[] }>(await this.#requests.get(path, SESSION_TIMEOUT_MS), ['items']).items;
  }

  followEvents(afterSeq: number, signal: AbortSignal): AsyncIterable<CityEvent> {
    return followEvents({ socketPath: this.#socketPath, afterSeq, signal, clock: this.#clock });
  }

  async reload(): Promise<ReloadReply> {
    return parse<ReloadReply>(await this.#requests.post(paths.reload, {}, SESSION_TIMEOUT_MS), ['kind']);
  }

  async stop(): Promise<StopReply> {
    return parse<StopReply>(await this.#requests.post(paths.stop, {}, STOP_TIMEOUT_MS), ['stopped', 'left']);
  }

  async #act(target: string, action: string, body: unknown = {}): Promise<SessionView> {
    const text = await this.#requests.post(paths.sessionAction(target, action), body, SESSION_TIMEOUT_MS);
    return parse<{ session: SessionView }>(text, ['session']).session;
  }
}

function view(text: string): SessionView {
  return parse<SessionView>(text, ['id', 'session_name', 'state']);
}
