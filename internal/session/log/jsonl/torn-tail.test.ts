import { isDeepStrictEqual } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import { encodeEvent } from '../../../protocol/encode-event.ts';
import { input, textMessage } from '../../../protocol/events.ts';
import { MemoryFiles } from '../testing/memory-files.ts';
import { encodeNote } from './append-times.ts';
import { logPaths } from './log-paths.ts';
import { headSeq, loadState } from './log-state.ts';
import { chainEvents } from './new-records.ts';

const UID = 'sess-000000000000000000000001';
const FOLDER = '/logs';
const paths = logPaths(FOLDER, UID);
/** Records of each append, in order. */
const APPENDS = [1, 2, 1, 3] as const;

const events = ['ä', 'b', '\u2028', 'd "', 'e', '😀', 'g'].map((text) =>
  encodeEvent(input('0123456789abcdef', textMessage('user', text))),
);
const { records, lines } = chainEvents(events, { seq: 0, hash: '' }, 1);
const whole = Buffer.from(lines.text);
const ends = lines.lengths.map((_, index) =>
  lines.lengths.slice(0, index + 1).reduce((sum, each) => sum + each, 0),
);
const notes = APPENDS.map((count, index) => {
  const from = APPENDS.slice(0, index).reduce<number>((sum, each) => sum + each, 1);
  const batch = count > 1 ? { batch: records[from - 1]?.contentHash ?? '' } : {};
  return { from, to: from + count - 1, at: BigInt(index + 1) * 1_000_000n, ...batch };
});
const times = Buffer.from(notes.map(encodeNote).join(''));

let files: MemoryFiles;
const load = () => loadState(files, FOLDER, UID, paths);

beforeEach(() => {
  files = new MemoryFiles();
});

/** The file as a crash left it, and which appends had been announced. */
function given(bytes: Buffer, announced = notes.length): void {
  files.held.clear();
  files.put(paths.records, bytes);
  files.put(paths.times, notes.slice(0, announced).map(encodeNote).join(''));
}

/** Records that are there whole, batches counted as one, when the file ends at `size`. */
function wholeRecords(size: number): number {
  return notes.filter(({ to }) => (ends[to - 1] ?? 0) <= size).at(-1)?.to ?? 0;
}

describe('a log that a crash cut off', () => {
  it('keeps what was whole, wherever it was cut; the rest goes aside', async () => {
    for (let size = 0; size <= whole.length; size += 1) {
      const kept = wholeRecords(size);
      const announced = notes.filter(({ from }) => from <= kept).length + 1;
      given(whole.subarray(0, size), announced);
      const { state, repair } = await load();
      const keptBytes = ends[kept - 1] ?? 0;
      const again = await load();
      const found = {
        head: headSeq(state),
        damage: state.damage,
        left: files.bytes(paths.records).equals(whole.subarray(0, keptBytes)),
        aside: repair && [repair.fromSeq, repair.bytes, repair.movedTo],
        moved: files.bytes(`${FOLDER}/${UID}.torn-1`).equals(whole.subarray(keptBytes, size)),
        times: [state.times.last?.to ?? 0, files.bytes(paths.times).length - state.times.bytes],
        again: [again.repair, again.state.hash],
      };
      const tail = size - keptBytes;
      const expected = {
        head: kept,
        damage: undefined,
        left: true,
        aside: tail === 0 ? undefined : [kept + 1, tail, `${FOLDER}/${UID}.torn-1`],
        moved: true,
        times: [kept, 0],
        again: [undefined, records[kept - 1]?.contentHash ?? ''],
      };
      if (!isDeepStrictEqual(found, expected)) expect({ size, ...found }).toEqual({ size, ...expected });
    }
  });

  it('loses no record when the times were cut off or are gone', async () => {
    for (let size = 0; size <= times.length; size += 1) {
      given(whole);
      files.put(paths.times, times.subarray(0, size));
      const { state, repair } = await load();
      expect(repair).toBeUndefined();
      expect(headSeq(state)).toBe(records.length);
      expect(state.times.recordedAt(1)).toBe(
        size < encodeNote({ ...notes[0], from: 1, to: 1, at: 1_000_000n }).length ? 0 : 1,
      );
    }
    files.held.delete(paths.times);
    expect(headSeq((await load()).state)).toBe(records.length);
  });

  it('EVT-01 a tail of NULs is cut off, after a whole record and within one', async () => {
    const last = ends[2] ?? 0;
    for (const begun of [0, 1, 40]) {
      given(Buffer.concat([whole.subarray(0, last + begun), Buffer.alloc(4096)]), 3);
      const { state, repair } = await load();
      expect(headSeq(state)).toBe(3);
      expect(repair).toMatchObject({ fromSeq: 4, bytes: 4096 + begun });
    }
    const holed = Buffer.from(whole);
    holed.fill(0, (ends[4] ?? 0) + 10, (ends[4] ?? 0) + 30);
    given(holed);
    const { state, repair } = await load();
    expect(headSeq(state)).toBe(4);
    expect(repair?.fromSeq).toBe(5);
  });

  it('every tail goes to a file of its own', async () => {
    for (const n of [1, 2, 3]) {
      files.put(paths.records, Buffer.concat([whole.subarray(0, ends[0]), Buffer.from(`torn ${n}`)]));
      expect((await load()).repair?.movedTo).toBe(`${FOLDER}/${UID}.torn-${n}`);
    }
    expect(files.bytes(`${FOLDER}/${UID}.torn-2`).toString()).toBe('torn 2');
  });
});

describe('a log that is known already', () => {
  it('is read from where it was known, and anew when that is of another file', async () => {
    given(whole.subarray(0, ends[0]), 1);
    const { state: known } = await load();
    const { inode } = known.stamp ?? { inode: 0n };
    given(whole);
    const held = files.held.get(paths.records);
    if (held) files.held.set(paths.records, { ...held, inode });
    expect(headSeq((await loadState(files, FOLDER, UID, paths, known)).state)).toBe(records.length);
    const other = chainEvents(events.slice(1), { seq: 0, hash: '' }, 1).lines.text;
    if (held) files.held.set(paths.records, { ...held, bytes: Buffer.from(other), inode });
    files.put(paths.times, '');
    const { state, repair } = await loadState(files, FOLDER, UID, paths, known);
    expect([headSeq(state), state.damage, repair]).toEqual([events.length - 1, undefined, undefined]);
  });
});

describe('a log that somebody changed', () => {
  it.each([0x01, 0x80, 0xff])(
    'EVT-01 shows where, for every byte changed by %i, and stays as it is',
    async (mask) => {
      for (let at = 0; at < whole.length; at += 1) {
        const changed = Buffer.from(whole);
        changed[at] = (changed[at] ?? 0) ^ mask;
        given(changed);
        const seq = ends.findIndex((end) => at < end) + 1;
        const { state, repair } = await load();
        const found = repair?.fromSeq ?? state.damage?.seq ?? Number.POSITIVE_INFINITY;
        const batch = notes.find(({ from, to }) => from <= seq && seq <= to)?.from ?? seq;
        const where = `byte ${at}`;
        if (found !== seq && found !== batch) expect.fail(`${where}: found at ${found}, not ${seq}`);
        // A last line that makes no sense cannot be told from one that was never written whole.
        const inLastLine = at >= (ends[records.length - 2] ?? 0) - 1;
        if (!inLastLine && repair) expect.fail(`${where} was taken for a torn tail`);
        if (headSeq(state) !== found - 1) expect.fail(`${where}: ${headSeq(state)} records are readable`);
        if (!repair && !files.bytes(paths.records).equals(changed))
          expect.fail(`${where}: the file was touched`);
      }
    },
  );

  it.each([
    ['a line is missing', (all: string[]) => all.splice(2, 1), 3],
    ['a line is there twice', (all: string[]) => all.splice(2, 0, all[1] ?? ''), 3],
    ['two lines changed places', (all: string[]) => all.splice(2, 2, all[3] ?? '', all[2] ?? ''), 3],
    ['a line is empty', (all: string[]) => all.splice(4, 0, ''), 5],
    [
      'the incarnation goes back',
      (all: string[]) => all.splice(0, 1, (all[0] ?? '').replace('"fence":"1"', '"fence":"2"')),
      2,
    ],
  ])('%s', async (_, change, seq) => {
    const all = whole.toString().trimEnd().split('\n');
    change(all);
    given(Buffer.from(`${all.join('\n')}\n`));
    const { state, repair } = await load();
    expect(repair).toBeUndefined();
    expect(state.damage?.seq).toBe(seq);
    expect(headSeq(state)).toBe(seq - 1);
  });
});
