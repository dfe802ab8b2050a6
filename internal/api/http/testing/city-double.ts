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
} from '../../../controller/city-api.ts';
import type { CityResources } from '../../../controller/city-resources.ts';
import type { AnswerReply, AnswerRequest, OpenQuestions } from '../../../controller/question-api.ts';
import type { CityEvent, EventFilter } from '../../../events/event.ts';
import { GcError } from '../../../platform/errors.ts';
import { RuleDouble } from './rule-double.ts';
import { TraceDouble } from './trace-double.ts';
import { UpkeepDouble } from './upkeep-double.ts';
import { WaitDouble } from './wait-double.ts';

/** A session's view with everything filled in that is not given. */
export function sessionView(name: string, over: Partial<SessionView> = {}): SessionView {
  return {
    id: `gc-${name}`,
    display_name: name,
    session_name: `s-${name}`,
    alias: '',
    title: name,
    template: name,
    state: 'active',
    condition: 'idle',
    wanted: true,
    wake_reasons: ['always'],
    sleep_reason: '',
    provider: 'claude',
    command: 'claude',
    transport: '',
    work_dir: '/city',
    session_key: '',
    resume_flag: '',
    resume_style: '',
    resume_command: '',
    attached: false,
    created_at: '2026-01-01T00:00:00Z',
    restarts: 0,
    depends_on: [],
    ...over,
  };
}

/** A city in memory: sessions by name, events in a list, every call written down. */
export class CityDouble implements CityApi {
  readonly rules = new RuleDouble();
  readonly trace = new TraceDouble();
  readonly upkeep = new UpkeepDouble(
    (target) => this.session(target),
    () => this.sessions(),
  );
  readonly waits = new WaitDouble();
  readonly sessionsByName = new Map<string, SessionView>();
  readonly log: CityEvent[] = [];
  readonly calls: { method: string; args: readonly unknown[] }[] = [];
  screen = 'line 1\nline 2\n';
  /** Thrown by the next call of anything. */
  failure: unknown;
  #waiting: (() => void)[] = [];

  constructor(...names: string[]) {
    for (const name of names) this.sessionsByName.set(name, sessionView(name));
  }

  record(type: string, payload?: unknown): CityEvent {
    const event: CityEvent = {
      seq: this.log.length + 1,
      type,
      ts: '2026-01-01T00:00:00.000Z',
      actor: 'gc',
      ...(payload === undefined ? {} : { payload }),
    };
    this.log.push(event);
    for (const wake of this.#waiting.splice(0)) wake();
    return event;
  }

  async status(): Promise<CityStatus> {
    this.#called('status');
    const sessions = [...this.sessionsByName.values()];
    return {
      city_name: 'double',
      city_path: '/city',
      controller: { running: true, pid: 7, mode: 'standalone' },
      provider: { name: 'fake', chosen_by: 'config' },
      suspended: false,
      config: { file: '/city/city.yaml', revision: 'abc' },
      agents: [],
      sessions,
      rigs: [],
      summary: {
        total_agents: 0,
        running_agents: 0,
        wanted_sessions: sessions.length,
        running_sessions: sessions.length,
        waiting_for_person: 0,
        backing_off: 0,
        unknown_sessions: 0,
        active_sessions: sessions.length,
        suspended_sessions: 0,
      },
      problems: [],
    };
  }

  async resources(): Promise<CityResources> {
    this.#called('resources');
    return {
      machine: { memory_free: 1, memory_total: 2, load: [0, 0, 0], cores: 1 },
      limits: { max_load_per_core: 0, min_free_memory: 0, memory_per_session: 0 },
      sessions: [],
      total: { memory: 0, cpu_share: 0, processes: 0 },
    };
  }

  async sessions(filter?: SessionFilter): Promise<readonly SessionView[]> {
    this.#called('sessions', filter);
    return [...this.sessionsByName.values()].filter(
      (view) => !filter?.template || view.template === filter.template,
    );
  }

  async session(target: string): Promise<SessionView> {
    this.#called('session', target);
    return this.#find(target);
  }

  async newSession(request: NewSessionRequest): Promise<SessionView> {
    this.#called('newSession', request);
    const view = sessionView(request.alias ?? request.template, { template: request.template });
    this.sessionsByName.set(view.display_name, view);
    return view;
  }

  async nudge(target: string, request: NudgeRequest): Promise<NudgeReply> {
    this.#called('nudge', target, request);
    return {
      session: this.#find(target).session_name,
      outcome: { kind: 'delivered', tookMs: request.text.length, verified: true },
    };
  }

  async nudgeQueues(target?: string): Promise<readonly NudgeQueue[]> {
    this.#called('nudgeQueues', target);
    return [queueOf(target ?? 'mayor')];
  }

  async takeNudges(target: string): Promise<TakenNudges> {
    this.#called('takeNudges', target);
    const item = { id: 'nudge-1', fence: 3, source: 'session', sender: 'human', message: 'hello' };
    return { session: this.#find(target).session_name, items: [item] };
  }

  async acknowledgeNudges(target: string, taken: readonly TakenMark[]): Promise<void> {
    this.#called('acknowledgeNudges', target, taken);
  }

  async deliverNudges(target: string): Promise<NudgeQueue> {
    this.#called('deliverNudges', target);
    return queueOf(this.#find(target).session_name);
  }

  async peek(target: string, lines: number): Promise<string> {
    this.#called('peek', target, lines);
    this.#find(target);
    return this.screen;
  }

  async questions(target?: string): Promise<OpenQuestions> {
    this.#called('questions', target);
    const view = this.#find(target ?? 'mayor');
    const { display_name: session, id: session_id, session_name } = view;
    const asked = { request_id: 'q1', kind: 'approval', prompt: 'Bash: ls', options: ['Yes', 'No'] };
    const told = { source: 'screen', tool: 'Bash', input: 'ls', asked_at: '2026-01-02T03:04:05Z' };
    return {
      items: [{ id: 'q1', session, session_id, session_name, ...asked, ...told, metadata: {} }],
      unknown: [],
    };
  }

  async answer(target: string, request: AnswerRequest): Promise<AnswerReply> {
    this.#called('answer', target, request);
    this.#find(target);
    return { session: target, request_id: request.request_id ?? 'q1', choice: request.action, id: 'q1' };
  }

  interrupt(target: string): Promise<SessionView> {
    return this.#change('interrupt', target, {});
  }

  kill(target: string): Promise<SessionView> {
    return this.#change('kill', target, { restarts: 1 });
  }

  suspend(target: string): Promise<SessionView> {
    return this.#change('suspend', target, { state: 'suspended' });
  }

  wake(target: string, options: WakeOptions = {}): Promise<SessionView> {
    return this.#change(`wake ${JSON.stringify(options)}`, target, { state: 'active' });
  }

  close(target: string): Promise<SessionView> {
    return this.#change('close', target, { state: 'closed' });
  }

  drain(target: string): Promise<SessionView> {
    return this.#change('drain', target, { condition: 'draining' });
  }

  undrain(target: string): Promise<SessionView> {
    return this.#change('undrain', target, { condition: 'idle' });
  }

  async drainState(target: string, life?: LifeRequest): Promise<DrainState> {
    this.#called('drainState', target, life);
    const { condition } = this.#find(target);
    return { session: target, draining: condition === 'draining', acknowledged: false };
  }

  async acknowledgeDrain(target: string, life?: LifeRequest): Promise<DrainState> {
    this.#called('acknowledgeDrain', target, life);
    this.#find(target);
    return { session: target, draining: true, acknowledged: true };
  }

  async requestRestart(target: string, life?: LifeRequest): Promise<SessionView> {
    this.#called('requestRestart', target, life);
    return this.#find(target);
  }

  async handoff(target: string, request: HandoffRequest): Promise<HandoffReply> {
    this.#called('handoff', target, request);
    this.#find(target);
    return { mail_id: 'gc-7', to: target, stops: request.by === 'session' };
  }

  async rename(target: string, title: string): Promise<SessionView> {
    this.#called('rename', target, title);
    const view = { ...this.#find(target), title };
    this.sessionsByName.set(target, view);
    return view;
  }

  async explain(target: string): Promise<Explanation> {
    this.#called('explain', target);
    const session = this.#find(target);
    const decision = { at: session.created_at, what: 'start', why: 'wanted: always', inputs: { strikes: 0 } };
    return { session, decisions: [decision], helps: [{ command: 'gc session peek', why: 'look' }] };
  }

  async logs(target: string, options: LogsOptions): Promise<readonly LogEntry[]> {
    this.#called('logs', target, options);
    this.#find(target);
    return [{ at: '2026-01-01T00:00:00Z', type: 'user', text: 'hello' }];
  }

  async setAgentSuspended(agent: string, suspended: boolean): Promise<void> {
    this.#called('setAgentSuspended', agent, suspended);
  }

  async events(filter: EventFilter): Promise<readonly CityEvent[]> {
    this.#called('events', filter);
    return this.log.filter((event) => event.seq > (filter.afterSeq ?? 0)).slice(0, filter.limit);
  }

  async *followEvents(afterSeq: number, signal: AbortSignal): AsyncGenerator<CityEvent> {
    this.#called('followEvents', afterSeq);
    let next = afterSeq;
    while (!signal.aborted) {
      const event = this.log[next];
      if (event) {
        next += 1;
        yield event;
        continue;
      }
      await new Promise<void>((resolve) => {
        const wake = () => {
          signal.removeEventListener('abort', wake);
          resolve();
        };
        this.#waiting.push(wake);
        signal.addEventListener('abort', wake, { once: true });
      });
    }
  }

  async reload(): Promise<ReloadReply> {
    this.#called('reload');
    return { kind: 'applied', revision: 'def', message: 'agents changed' };
  }

  async stop(): Promise<StopReply> {
    this.#called('stop');
    return { stopped: [...this.sessionsByName.keys()], left: [] };
  }

  async #change(method: string, target: string, over: Partial<SessionView>): Promise<SessionView> {
    this.#called(method, target);
    const view = { ...this.#find(target), ...over };
    this.sessionsByName.set(target, view);
    return view;
  }

  #find(target: string): SessionView {
    const view = this.sessionsByName.get(target);
    if (view) return view;
    throw new GcError('session-not-found', `no session "${target}" in double`, { next: 'gc session list' });
  }

  #called(method: string, ...args: unknown[]): void {
    this.calls.push({ method, args });
    const failure = this.failure;
    this.failure = undefined;
    if (failure !== undefined) throw failure;
  }
}

const queueOf = (session: string): NudgeQueue => ({
  agent: session,
  session,
  session_id: '',
  pending: [],
  in_flight: [],
  dead: [],
  waiting: 0,
});
