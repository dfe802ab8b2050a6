import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../../../platform/sqlite.ts';

/** A log with one byte changed, under a name of its own. */
export interface Flip {
  readonly uid: string;
  /** Of the record that was changed. */
  readonly seq: number;
  /** For a person. */
  readonly where: string;
  /** Nothing covers it: the change reads as another incarnation, or as the other zero. */
  readonly plausible: boolean;
}

const NEWLINE = 0x0a;

/** Writes one copy of an exported log per byte and mask into a folder. */
export function flipLines(
  path: string,
  folder: string,
  name: string,
  masks: readonly number[],
): readonly Flip[] {
  const whole = readFileSync(path);
  const flips: Flip[] = [];
  for (const mask of masks) {
    let seq = 1;
    for (let at = 0; at < whole.length; at += 1) {
      const changed = flipped(whole, at, mask);
      const uid = `${name}-${mask}-${at}`;
      writeFileSync(join(folder, `${uid}.jsonl`), changed);
      flips.push({ uid, seq, where: `byte ${at} ^ ${mask}`, plausible: isOtherFence(whole, changed, at) });
      if (whole[at] === NEWLINE) seq += 1;
    }
  }
  return flips;
}

/** Digits of a fence became others. */
function isOtherFence(whole: Buffer, changed: Buffer, at: number): boolean {
  const fence = /"fence":"[1-9][0-9]*$/;
  const context = (bytes: Buffer) => bytes.toString('latin1', Math.max(0, at - 24), at + 1);
  return fence.test(context(whole)) && fence.test(context(changed));
}

type Row = readonly [seq: number, prev: string, hash: string, fence: number, event: Buffer];

/** Adds, for every byte of a session's events and hashes and for each mask, a session that differs in it. */
export function flipRows(file: string, session: string, masks: readonly number[]): readonly Flip[] {
  const db = openDatabase(file, { migrations: ['', ''] });
  try {
    const insert = db.prepare('INSERT INTO events VALUES (?, ?, CAST(? AS TEXT), CAST(? AS TEXT), ?, ?)');
    const rows = db
      .prepare<[string], Row>(
        'SELECT seq, prev_hash, hash, fence, event FROM events WHERE session = ? ORDER BY seq',
      )
      .raw()
      .all(session);
    const flips: Flip[] = [];
    const add = (changed: number, column: number, where: string, bytes: Buffer, plausible: boolean) => {
      const uid = `${session}-${flips.length}`;
      for (const [index, [seq, prev, hash, fence, event]] of rows.entries()) {
        const columns = [Buffer.from(prev), Buffer.from(hash), event];
        if (index === changed) columns[column] = bytes;
        insert.run(uid, seq, columns[0], columns[1], fence, columns[2]);
      }
      flips.push({ uid, seq: changed + 1, where, plausible });
    };
    db.transaction(() => {
      for (const [index, [, prev, hash, , event]] of rows.entries()) {
        for (const [column, bytes] of [Buffer.from(prev), Buffer.from(hash), event].entries()) {
          for (const mask of masks) {
            for (let at = 0; at < bytes.length; at += 1) {
              const where = `record ${index + 1}, column ${column}, byte ${at} ^ ${mask}`;
              const plausible = column === 2 && isOtherZero(bytes, at, mask);
              add(index, column, where, flipped(bytes, at, mask), plausible);
            }
          }
        }
      }
    })();
    return flips;
  } finally {
    db.close();
  }
}

/** The sign of a zero in a Struct: tag, seven zero bytes, and a byte that is a sign at most. */
function isOtherZero(bytes: Buffer, at: number, mask: number): boolean {
  const tag = bytes[at - 8];
  const sign = bytes[at] ?? 1;
  const zeros = bytes.subarray(Math.max(0, at - 7), at);
  return mask === 0x80 && tag === 0x11 && (sign === 0 || sign === 0x80) && zeros.every((byte) => byte === 0);
}

function flipped(bytes: Buffer, at: number, mask: number): Buffer {
  const changed = Buffer.from(bytes);
  changed[at] = (changed[at] ?? 0) ^ mask;
  return changed;
}
