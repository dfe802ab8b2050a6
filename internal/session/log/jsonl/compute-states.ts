import { impliedState } from '../compute-state.ts';
import type { StoredComputeState } from '../session-log.ts';
import type { LogFolder } from './log-folder.ts';
import { headSeq, type LogState } from './log-state.ts';
import { decodeLine } from './record-line.ts';

/** Most logs end in a record that implies a state. */
const LOOK_BACK_RECORDS = 16;

/** The compute state that a log's records imply. Looks back only as far as needed, and never again at what it looked at. */
export class ComputeStates {
  readonly #log: LogFolder;
  /** What the records up to `seq`, the last of which has that hash, imply. */
  readonly #known = new Map<string, { readonly seq: number; readonly value: StoredComputeState }>();

  constructor(log: LogFolder) {
    this.#log = log;
  }

  async of(uid: string, state: LogState): Promise<StoredComputeState> {
    const head = headSeq(state);
    const known = this.#known.get(uid);
    const looked = known !== undefined && known.seq <= head ? known : { seq: 0, value: 'NONE' as const };
    const value = (await this.#lookBack(uid, state, head, looked.seq)) ?? looked.value;
    this.#known.set(uid, { seq: head, value });
    return value;
  }

  forget(uid: string): void {
    this.#known.delete(uid);
  }

  async #lookBack(
    uid: string,
    state: LogState,
    head: number,
    after: number,
  ): Promise<StoredComputeState | undefined> {
    for (let to = head; to > after; to -= LOOK_BACK_RECORDS) {
      const from = Math.max(after + 1, to - LOOK_BACK_RECORDS + 1);
      const records = (await this.#log.lines(uid, state, from, to)).map(decodeLine);
      const implied = records.map(({ event }) => impliedState(event));
      const value = implied.findLast((each) => each !== undefined);
      if (value !== undefined) return value;
    }
    return undefined;
  }
}
