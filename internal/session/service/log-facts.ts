import type { SessionLog } from '../log/session-log.ts';
import { type ApprovalState, LogAnalyzer, type LogView } from '../turn/log-view.ts';
import { catchUp } from '../turn/read-log-view.ts';

/** How many logs are remembered, so that only what is new in them is read. */
const REMEMBERED_LOGS = 64;

/** What logs say, read once. */
export class LogFacts {
  readonly #log: Pick<SessionLog, 'head' | 'read'>;
  /** The longest unused first. One in use is not in here, so that nobody else adds to it. */
  readonly #analyzers = new Map<string, LogAnalyzer>();

  constructor(log: Pick<SessionLog, 'head' | 'read'>) {
    this.#log = log;
  }

  /** @throws TurnError `invalid-log` */
  async now(uid: string): Promise<LogView> {
    return await this.upTo(uid, (await this.#log.head(uid)).seq);
  }

  /** @throws TurnError `invalid-log` */
  async upTo(uid: string, to: number): Promise<LogView> {
    const known = this.#analyzers.get(uid);
    const isUsable = known !== undefined && known.lastSeq <= to;
    if (isUsable) this.#analyzers.delete(uid);
    const analyzer = isUsable ? known : new LogAnalyzer({ uid, keep: 'none' });
    await catchUp(analyzer, this.#log, uid, { to });
    const view = analyzer.view();
    this.#remember(uid, analyzer);
    return view;
  }

  #remember(uid: string, analyzer: LogAnalyzer): void {
    const other = this.#analyzers.get(uid);
    if (other !== undefined && other.lastSeq > analyzer.lastSeq) return;
    this.#analyzers.delete(uid);
    this.#analyzers.set(uid, analyzer);
    const [oldest] = this.#analyzers.keys();
    if (this.#analyzers.size > REMEMBERED_LOGS && oldest !== undefined) this.#analyzers.delete(oldest);
  }
}

/** The last gated call of an unfinished turn, whatever became of it. */
export function unfinishedGate({ latest, approvals }: LogView): ApprovalState | undefined {
  if (latest === undefined || latest.end !== undefined) return undefined;
  return approvals.findLast((each) => each.executionId === latest.id);
}

/** The name that the turn to go on with was begun under; '' when there is none or the log does not say. */
export function unfinishedHarness({ latest }: LogView): string {
  return latest === undefined || latest.end !== undefined ? '' : (latest.start?.harness ?? '');
}
