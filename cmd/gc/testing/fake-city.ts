import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serveCity } from '../../../internal/api/http/city-server.ts';
import { RuleDouble } from '../../../internal/api/http/testing/rule-double.ts';
import { TraceDouble } from '../../../internal/api/http/testing/trace-double.ts';
import { UpkeepDouble } from '../../../internal/api/http/testing/upkeep-double.ts';
import { WaitDouble } from '../../../internal/api/http/testing/wait-double.ts';
import type {
  CityApi,
  CityStatus,
  HandoffRequest,
  LifeRequest,
  NudgeQueue,
  NudgeReply,
  NudgeRequest,
  SessionView,
  TakenMark,
  TakenNudges,
} from '../../../internal/controller/city-api.ts';
import { apiSocketPath } from '../../../internal/controller/control-socket-client.ts';
import type { AnswerRequest, OpenQuestions } from '../../../internal/controller/question-api.ts';
import type { CityEvent, EventFilter } from '../../../internal/events/event.ts';
import { systemClock } from '../../../internal/platform/clock.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import type { Log } from '../../../internal/platform/log.ts';
import type { Environment } from '../../../internal/platform/paths.ts';
import type { Sink } from '../context.ts';
import { createStyle } from '../output/style.ts';
import { type BaseContext, runProgram } from '../program.ts';
import { ago, aResources, aSession, aStatus } from './status-fixtures.ts';

const QUIET: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => QUIET,
};

const EVENT_COUNT = 130;

/** A city whose controller answers on a real socket, from fixed facts, and remembers what it was told. */
export class FakeCityApi implements CityApi {
  readonly rules = new RuleDouble();
  readonly trace = new TraceDouble();
  readonly upkeep = new UpkeepDouble(
    (target) => this.session(target),
    () => this.sessions(),
  );
  readonly waits = new WaitDouble();
  readonly nudges: { readonly target: string; readonly request: NudgeRequest }[] = [];
  nudgeOutcome: NudgeReply['outcome'] = { kind: 'delivered', tookMs: 700, verified: true };
  readonly words: {
    readonly target: string;
    readonly says: 'done' | 'restart';
    readonly life: LifeRequest | undefined;
  }[] = [];
  readonly handoffs: { readonly target: string; readonly request: HandoffRequest }[] = [];
  statusNow: CityStatus = aStatus([aSession('mayor'), aSession('worker-1', { depends_on: ['mayor'] })]);
  /** One for each time it is asked. */
  statusesToCome: CityStatus[] = [];
  peeked = 'last line';
  onPeek: () => Promise<void> = async () => undefined;
  onFollow: () => void = () => undefined;

  async status() {
    const next = this.statusesToCome.shift();
    if (next) this.statusNow = next;
    return this.statusNow;
  }
  async sessions() {
    return this.statusNow.sessions;
  }
  async session(target: string): Promise<SessionView> {
    const found = this.statusNow.sessions.find(({ display_name, id }) => [display_name, id].includes(target));
    if (found) return found;
    throw new GcError('session-not-found', `session not found: "${target}"; did you mean "mayor"?`, {
      next: 'gc session list',
    });
  }
  /** What it was told to do whatever the machine says. */
  readonly forced: string[] = [];
  async resources() {
    return aResources();
  }
  async newSession({ template }: { template: string }) {
    return aSession(template, { condition: 'starting' });
  }
  async nudge(target: string, request: NudgeRequest) {
    const session = await this.session(target);
    this.nudges.push({ target, request });
    return { session: session.display_name, outcome: this.nudgeOutcome };
  }
  /** What waits, by session. */
  queue: NudgeQueue = {
    agent: 'mayor',
    session: 'mayor',
    session_id: 'gc-1',
    pending: [],
    in_flight: [],
    dead: [],
    waiting: 0,
  };
  taken: TakenNudges['items'] = [];
  readonly acknowledged: TakenMark[] = [];
  async nudgeQueues(target?: string) {
    if (target !== undefined) await this.session(target);
    return [this.queue];
  }
  async takeNudges(target: string) {
    const { session_name } = await this.session(target);
    const items = this.taken;
    this.taken = [];
    return { session: session_name, items };
  }
  async acknowledgeNudges(_target: string, taken: readonly TakenMark[]) {
    this.acknowledged.push(...taken);
  }
  async deliverNudges(target: string) {
    await this.session(target);
    return this.queue;
  }
  questionsNow: OpenQuestions = { items: [], unknown: [] };
  readonly answers: { readonly target: string; readonly request: AnswerRequest }[] = [];
  async questions(target?: string) {
    if (target !== undefined) await this.session(target);
    return this.questionsNow;
  }
  async answer(target: string, request: AnswerRequest) {
    const asked = this.questionsNow.items.find(({ id }) => id === target);
    const session = asked?.session ?? (await this.session(target)).display_name;
    if (!asked && this.questionsNow.items.length === 0) {
      throw new GcError('session-no-pending', `session ${session} has no pending interaction`);
    }
    this.answers.push({ target, request });
    const { scope } = request;
    const rule =
      scope && scope !== 'once'
        ? await this.rules.add({ effect: 'allow', scope, tool: asked?.tool ?? 'Bash', input: 'x' })
        : undefined;
    const choice = request.action;
    return { session, request_id: 'tmux-abc', choice, id: asked?.id ?? 'q1', ...(rule ? { rule } : {}) };
  }
  async peek(target: string) {
    await this.session(target);
    await this.onPeek();
    return this.peeked;
  }
  interrupt(target: string) {
    return this.session(target);
  }
  kill(target: string) {
    return this.session(target);
  }
  suspend(target: string) {
    return this.session(target);
  }
  wake(target: string, options: { readonly force?: boolean } = {}) {
    if (options.force) this.forced.push(target);
    return this.session(target);
  }
  close(target: string) {
    return this.session(target);
  }
  drain(target: string) {
    return this.session(target);
  }
  undrain(target: string) {
    return this.session(target);
  }
  async drainState(target: string) {
    const { display_name, condition } = await this.session(target);
    return { session: display_name, draining: condition === 'draining', acknowledged: false };
  }
  acknowledgeDrain(target: string, life?: LifeRequest) {
    this.words.push({ target, says: 'done', life });
    return this.drainState(target);
  }
  requestRestart(target: string, life?: LifeRequest) {
    this.words.push({ target, says: 'restart', life });
    return this.session(target);
  }
  async handoff(target: string, request: HandoffRequest) {
    const { display_name: to, condition } = await this.session(target);
    this.handoffs.push({ target, request });
    return { mail_id: 'gc-7', to, stops: condition !== 'asleep' };
  }
  async rename(target: string, title: string) {
    return { ...(await this.session(target)), title };
  }
  async explain(target: string) {
    const decision = { at: ago(1_000), what: 'start', why: 'wanted', inputs: { strikes: 0 } };
    return { session: await this.session(target), decisions: [decision], helps: [] };
  }
  async logs() {
    return [{ at: ago(1_000), type: 'user', text: 'hello' }];
  }
  async setAgentSuspended(agent: string) {
    await this.session(agent);
  }
  async events({ afterSeq = 0, limit = EVENT_COUNT }: EventFilter): Promise<readonly CityEvent[]> {
    const left = Math.min(limit, EVENT_COUNT - afterSeq);
    return Array.from({ length: Math.max(0, left) }, (_, i) => anEvent(afterSeq + 1 + i));
  }
  async *followEvents(afterSeq: number, signal: AbortSignal): AsyncGenerator<CityEvent> {
    this.onFollow();
    for (let seq = afterSeq + 1; !signal.aborted && seq <= EVENT_COUNT + 2; seq += 1) yield anEvent(seq);
    await systemClock.sleep(60_000, signal).catch(() => undefined); // ends with the reader
  }
  async reload() {
    return { kind: 'unchanged', revision: 'a' } as const;
  }
  async stop() {
    return { stopped: ['mayor'], left: [] };
  }
}

function anEvent(seq: number): CityEvent {
  const type = seq % 2 === 0 ? 'session.stopped' : 'session.woke';
  return { seq, type, ts: ago(0), actor: 'controller', subject: 'mayor', payload: { code: seq % 3 } };
}

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly isTTY?: boolean;
  readonly stdin?: string;
  readonly env?: Environment;
  readonly cwd?: string;
  readonly signal?: AbortSignal;
  /** The reader goes away after this many writes. */
  readonly readerLeavesAfter?: number;
}

export interface FakeCity {
  readonly root: string;
  readonly home: string;
  readonly env: Environment;
  readonly api: FakeCityApi;
  run(argv: readonly string[], options?: RunOptions): Promise<Ran>;
  close(): Promise<void>;
}

/** A folder with a city file, a home of its own, and (unless `dead`) a living controller. */
export async function fakeCity(options: { readonly dead?: boolean } = {}): Promise<FakeCity> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'gc-cmd-')));
  const root = join(base, 'city');
  const home = join(base, 'home');
  mkdirSync(join(root, '.gc'), { recursive: true, mode: 0o700 });
  mkdirSync(home);
  writeFileSync(
    join(root, 'city.yaml'),
    'workspace:\n  name: fake\nagents:\n  - name: mayor\n    start_command: sleep 60\n',
  );
  const env = { HOME: home, GC_HOME: join(home, '.gc'), PATH: process.env['PATH'] };
  const api = new FakeCityApi();
  const socketPath = apiSocketPath(root, env);
  const server = options.dead
    ? undefined
    : await serveCity({ api, socketPath, clock: systemClock, ids: systemIds, log: QUIET });
  return {
    root,
    home,
    env,
    api,
    run: (argv, run = {}) => runIn(argv, { ...run, env: { ...env, ...run.env }, cwd: run.cwd ?? root }),
    async close() {
      await server?.close();
      rmSync(base, { recursive: true, force: true });
    },
  };
}

/** One run of the program in this process, with everything it prints. */
export async function runIn(argv: readonly string[], options: RunOptions): Promise<Ran> {
  const { base, printed } = testContext(options);
  const code = await runProgram(argv, base);
  return { code, ...printed() };
}

/** A context over memory. */
export function testContext(options: RunOptions): {
  readonly base: BaseContext;
  printed(): Omit<Ran, 'code'>;
} {
  const gone = new AbortController();
  const out = memorySink(options.isTTY ?? false, options.readerLeavesAfter, () => gone.abort());
  const err = memorySink(options.isTTY ?? false);
  const base: BaseContext = {
    env: options.env ?? {},
    cwd: options.cwd ?? '/',
    out: out.sink,
    err: err.sink,
    clock: systemClock,
    signal: options.signal ? AbortSignal.any([options.signal, gone.signal]) : gone.signal,
    gc: 'gc',
    self: [process.execPath, join(import.meta.dirname, '..', 'main.ts')],
    stdinIsTTY: () => options.isTTY ?? false,
    readStdin: async () => options.stdin ?? '',
  };
  return { base, printed: () => ({ out: out.text(), err: err.text() }) };
}

function memorySink(
  isTTY: boolean,
  leavesAfter = Number.POSITIVE_INFINITY,
  onGone: () => void = () => undefined,
): { readonly sink: Sink; text(): string } {
  let text = '';
  let writes = 0;
  const sink: Sink = {
    isTTY,
    columns: 80,
    style: createStyle(false),
    get gone() {
      return writes >= leavesAfter;
    },
    write(piece) {
      if (sink.gone) return;
      text += typeof piece === 'string' ? piece : Buffer.from(piece).toString('utf8');
      writes += 1;
      if (sink.gone) onGone();
    },
    flush: async () => undefined,
  };
  return { sink, text: () => text };
}
