import { findAgent } from '../agent/find-agent.ts';
import type { CityEvent, EventFilter } from '../events/event.ts';
import { CONTROLLER_ACTOR } from '../events/event-types.ts';
import { rfc3339 } from '../platform/clock.ts';
import { GcError } from '../platform/errors.ts';
import { DecisionLog } from '../session/decision-log.ts';
import type { SessionRecord } from '../session/record.ts';
import { actorNow } from './acting.ts';
import { suspendAgentInFile } from './agent-edit.ts';
import { agentsOf, Board, summaryOf } from './board.ts';
import type {
  CityApi,
  CityStatus,
  ConfigState,
  ControllerInfo,
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
} from './city-api.ts';
import type { CityEngine } from './city-engine.ts';
import type { CityResources } from './city-resources.ts';
import type { CityRuntime } from './city-runtime.ts';
import { stopCity } from './city-stop.ts';
import { unusedBeads } from './city-work.ts';
import { problemText } from './config-reload.ts';
import { DrainVerbs } from './drain-verbs.ts';
import { explainedDecisions } from './explained-decisions.ts';
import { helpsFor } from './helps.ts';
import type { InboxDesk } from './inbox-desk.ts';
import { inboxDeskOf } from './inbox-keeper.ts';
import { interruptSession } from './interrupt.ts';
import type { OrderedSurvey } from './model.ts';
import { createManualSession, requireAgent } from './new-session.ts';
import { unusedProvider } from './provider-decision.ts';
import type { AnswerReply, AnswerRequest, OpenQuestions } from './question-api.ts';
import { bookOf } from './question-book.ts';
import { QuestionDesk } from './question-desk.ts';
import { measureCity } from './resources.ts';
import { RuleDesk } from './rule-desk.ts';
import { matchesFilter } from './session-filter.ts';
import { LogMemory, readLogs } from './session-logs.ts';
import { SessionVerbs } from './session-verbs.ts';
import { TraceDesk } from './trace-desk.ts';
import { Upkeep } from './upkeep.ts';
import type { WokenSession } from './upkeep-api.ts';
import { WaitDesk } from './wait-desk.ts';

/** A look this young is as good as a new one. */
const LOOK_MAX_AGE_MS = 500;

export interface LocalCityApiOptions {
  readonly engine: CityEngine;
  /** The controller of this process, when there is one. */
  readonly runtime?: CityRuntime;
  readonly controller: ControllerInfo;
  /** Who asks, for the events, where the request itself does not say. */
  readonly actor?: string;
}

/** The city's interface in the process that has the city open: the controller, or a command when none lives. */
export class LocalCityApi implements CityApi {
  readonly rules: RuleDesk;
  readonly trace: TraceDesk;
  readonly waits: WaitDesk;
  readonly upkeep: Upkeep;
  readonly #logMemory = new LogMemory();
  readonly #engine: CityEngine;
  readonly #runtime: CityRuntime | undefined;
  readonly #options: LocalCityApiOptions;
  readonly #board: Board;
  readonly #verbs: SessionVerbs;
  readonly #drains: DrainVerbs;
  readonly #desk: InboxDesk;
  readonly #questions: QuestionDesk;
  readonly #decisions: DecisionLog;
  #lastLook: { readonly at: number; readonly survey: OrderedSurvey } | undefined;

  constructor(options: LocalCityApiOptions) {
    this.#options = options;
    this.#engine = options.engine;
    this.#runtime = options.runtime;
    this.#board = new Board(options.engine);
    this.trace = new TraceDesk(options.engine, () => options.runtime?.poke());
    this.#decisions = new DecisionLog(options.engine.parts.db);
    const verbs = {
      engine: options.engine,
      get actor() {
        return actorNow() ?? options.actor ?? CONTROLLER_ACTOR;
      },
      controlled: options.runtime !== undefined,
      poke: () => options.runtime?.poke(),
    };
    this.#verbs = new SessionVerbs(verbs);
    this.#drains = new DrainVerbs(verbs, this.#verbs);
    this.waits = new WaitDesk({
      engine: options.engine,
      verbs: this.#verbs,
      controlled: options.runtime !== undefined,
      actor: () => verbs.actor,
      poke: verbs.poke,
    });
    const asking = {
      engine: options.engine,
      verbs: this.#verbs,
      book: options.runtime?.questions.book ?? bookOf(options.engine),
      actor: () => verbs.actor,
      rulesChanged: () => options.runtime?.questions.recheck(),
    };
    this.rules = new RuleDesk(asking);
    this.#questions = new QuestionDesk({
      ...asking,
      controlled: verbs.controlled,
      say: (target, text) => this.nudge(target, { text, wait_idle_ms: 0, delivery: 'queue' }),
      poke: verbs.poke,
    });
    this.#desk = inboxDeskOf({
      engine: options.engine,
      verbs: this.#verbs,
      keeper: options.runtime?.inbox,
      actor: () => verbs.actor,
      poke: verbs.poke,
    });
    const view = (record: SessionRecord) => this.#view(record);
    this.upkeep = new Upkeep(verbs, { verbs: this.#verbs, drains: this.#drains, api: this, view });
  }

  async status(): Promise<CityStatus> {
    const { city, parts } = this.#engine;
    const survey = await this.#look();
    const sessions = await this.#views(await parts.store.list('open'), survey);
    return {
      city_name: city.workspace.name,
      city_path: city.root,
      controller: this.#options.controller,
      provider: parts.providerInfo,
      suspended: city.workspace.suspended,
      ...(this.#runtime?.startedAt ? { started_at: rfc3339(this.#runtime.startedAt) } : {}),
      config: this.#runtime?.configState ?? this.#configState(),
      agents: agentsOf(city, sessions),
      sessions,
      rigs: city.rigs.map(({ name, path, suspended }) => ({ name, path, suspended })),
      summary: summaryOf(city, sessions),
      problems: [
        ...this.#surveyProblems(survey),
        ...this.#providerProblems(),
        ...(this.#runtime?.troubles.lines ?? []),
      ],
    };
  }

  async resources(): Promise<CityResources> {
    const survey = await this.#look();
    return measureCity(this.#engine, survey, await this.#engine.parts.store.list('open'));
  }

  async sessions(filter: SessionFilter = {}): Promise<readonly SessionView[]> {
    const { store } = this.#engine.parts;
    const wantsClosed = /\b(closed|all)\b/.test(filter.state ?? '');
    const records = await store.list(wantsClosed ? 'all' : 'open');
    const views = await this.#views(records, await this.#look());
    const { template } = filter;
    const meant = template ? findAgent(this.#engine.city, template)?.agent.qualifiedName : undefined;
    return views.filter((view) =>
      matchesFilter(view, meant === undefined ? filter : { ...filter, template: meant }),
    );
  }

  async session(target: string): Promise<SessionView> {
    const found = await this.#verbs.target(target, true);
    if (found.kind === 'session') return this.#view(found.record);
    throw new GcError('session-not-active', `session ${found.identity} has never been started`, {
      next: `gc session wake ${found.identity}`,
    });
  }

  async newSession(request: NewSessionRequest): Promise<SessionView> {
    const record = await createManualSession(this.#engine, request, this.#runtime !== undefined);
    return this.#view(await this.#verbs.start(record));
  }

  nudge(target: string, request: NudgeRequest): Promise<NudgeReply> {
    return this.#desk.nudge(target, request);
  }

  nudgeQueues(target?: string): Promise<readonly NudgeQueue[]> {
    return this.#desk.queues(target);
  }

  takeNudges(target: string): Promise<TakenNudges> {
    return this.#desk.take(target);
  }

  acknowledgeNudges(target: string, taken: readonly TakenMark[]): Promise<void> {
    return this.#desk.acknowledge(target, taken);
  }

  deliverNudges(target: string): Promise<NudgeQueue> {
    return this.#desk.deliver(target);
  }

  /** The last screen of an agent that ended is still there, until it is started again. */
  async peek(target: string, lines: number): Promise<string> {
    const found = await this.#verbs.target(target);
    const keptScreen = found.kind === 'session' && found.sight.kind === 'exited';
    const name = keptScreen
      ? found.record.sessionName
      : (await this.#verbs.ready(target, 'peek')).sessionName;
    return this.#engine.parts.provider.peek(name, lines);
  }

  questions(target?: string): Promise<OpenQuestions> {
    return this.#questions.open(target);
  }

  answer(target: string, request: AnswerRequest): Promise<AnswerReply> {
    return this.#questions.answer(target, request);
  }

  async interrupt(target: string): Promise<SessionView> {
    const actor = actorNow() ?? this.#options.actor ?? CONTROLLER_ACTOR;
    const interrupter = { engine: this.#engine, verbs: this.#verbs, actor };
    return this.#view(await interruptSession(interrupter, target));
  }

  async kill(target: string): Promise<SessionView> {
    return this.#view(await this.#verbs.kill(target));
  }

  async suspend(target: string): Promise<SessionView> {
    return this.#view(await this.#verbs.suspend(target));
  }

  async wake(target: string, options: WakeOptions = {}): Promise<WokenSession> {
    const { record, woke } = await this.#verbs.wake(target, options.force);
    return { ...(await this.#view(record)), woke };
  }

  async close(target: string): Promise<SessionView> {
    return this.#view(await this.#verbs.close(target));
  }

  async drain(target: string): Promise<SessionView> {
    return this.#view(await this.#drains.drain(target));
  }

  async undrain(target: string): Promise<SessionView> {
    return this.#view(await this.#drains.undrain(target));
  }

  drainState(target: string, life: LifeRequest = {}): Promise<DrainState> {
    return this.#drains.state(target, life);
  }

  async acknowledgeDrain(target: string, life: LifeRequest = {}): Promise<DrainState> {
    const { id } = await this.#drains.acknowledge(target, life);
    return this.#drains.state(id, {});
  }

  async requestRestart(target: string, life: LifeRequest = {}): Promise<SessionView> {
    return this.#view(await this.#drains.requestRestart(target, life));
  }

  handoff(target: string, request: HandoffRequest): Promise<HandoffReply> {
    return this.#drains.handoff(target, request);
  }

  async rename(target: string, title: string): Promise<SessionView> {
    return this.#view(await this.#verbs.rename(target, title));
  }

  async explain(target: string): Promise<Explanation> {
    const session = await this.session(target);
    const { survey } = await this.#look();
    const isSeen = survey.kind === 'seen' && survey.sessions.has(session.session_name);
    return {
      session,
      decisions: await explainedDecisions(this.#decisions, session.id),
      helps: helpsFor(session, isSeen),
    };
  }

  async logs(target: string, options: LogsOptions): Promise<readonly LogEntry[]> {
    const found = await this.#verbs.target(target, true);
    if (found.kind === 'reserved') {
      throw new GcError('no-transcript', `no session file found for ${JSON.stringify(target)}`, {
        next: `it was never started: gc session wake ${found.identity}`,
      });
    }
    const { parts } = this.#engine;
    const city = parts.city.workspace.name;
    const open = await parts.store.list('open');
    const request = { ...options, target, city };
    return readLogs(parts.transcripts, found.record, open, request, this.#logMemory);
  }

  async setAgentSuspended(agent: string, suspended: boolean): Promise<void> {
    const { city, parts } = this.#engine;
    await suspendAgentInFile(parts, city, requireAgent(city, agent), suspended);
    await this.reload();
  }

  events(filter: EventFilter): Promise<readonly CityEvent[]> {
    return this.#engine.parts.db.events.list(filter);
  }

  followEvents(afterSeq: number, signal: AbortSignal): AsyncIterable<CityEvent> {
    return this.#engine.parts.db.events.follow(afterSeq, signal);
  }

  async reload(): Promise<ReloadReply> {
    if (this.#runtime) return this.#runtime.reload();
    const loaded = await this.#engine.parts.load();
    if (loaded.kind === 'invalid') return { kind: 'rejected', error: problemText(loaded.problems) };
    const { revision } = loaded.city;
    if (revision === this.#engine.city.revision) return { kind: 'unchanged', revision };
    this.#engine.use(loaded.city);
    return { kind: 'applied', revision, message: 'the config is good; it takes effect at the next start' };
  }

  async stop(): Promise<StopReply> {
    if (this.#runtime) return this.#runtime.stop();
    const engine = this.#engine;
    const desired = await engine.desired(await engine.parts.store.list('open'));
    const { shutdownTimeoutMs } = engine.city.daemon;
    const reply = await stopCity(
      { context: engine.executor.context, desired, shutdownTimeoutMs },
      new AbortController().signal,
    );
    if (reply.left.length === 0) await engine.parts.tidy();
    return reply;
  }

  async #look(): Promise<OrderedSurvey> {
    const { memory, time } = this.#engine;
    const last = this.#lastLook;
    const fresh = last && time.lived() - last.at < LOOK_MAX_AGE_MS && memory.lastEffect < last.survey.order;
    if (fresh) return last.survey;
    const at = time.lived();
    const survey = await this.#engine.look();
    this.#lastLook = { at, survey };
    return survey;
  }

  async #view(record: SessionRecord): Promise<SessionView> {
    const { store } = this.#engine.parts;
    const fresh = await store.get(record.id);
    const [view] = await this.#views([fresh], await this.#look());
    if (!view) throw new GcError('internal', `no view of ${record.id}`);
    return view;
  }

  async #views(records: readonly SessionRecord[], survey: OrderedSurvey): Promise<readonly SessionView[]> {
    const open = await this.#engine.parts.store.list('open');
    const desired = await this.#engine.desired(open);
    return this.#board.views({ survey, records, desired, controlled: this.#runtime !== undefined });
  }

  #configState(): ConfigState {
    const { city, parts } = this.#engine;
    const error = parts.configError;
    return { file: city.file, revision: city.revision, ...(error === undefined ? {} : { error }) };
  }

  #providerProblems(): readonly string[] {
    const { city, parts } = this.#engine;
    const used = parts.providerInfo.name;
    if (!this.#runtime) return [];
    return [...unusedProvider(city.session.provider, used, parts.env), ...unusedBeads(city, parts.env)];
  }

  #surveyProblems({ survey }: OrderedSurvey): readonly string[] {
    const answers = survey.kind === 'seen' ? (survey.unseen ?? []).map((part) => part.answer) : [survey];
    return answers.flatMap((answer) =>
      answer.kind === 'unknown' ? [`the runtime could not be asked: ${answer.reason}`] : [],
    );
  }
}
