import { dirname, join } from 'node:path';
import type { FileWork } from './file/file-work.ts';
import type { CityDatabase } from './sqlite/city-database.ts';
import type { WorkBeads } from './work.ts';
import { choiceState, recordedWork, type WorkChoice } from './work-choice.ts';

/** Source of the name: Gas City. It lies beside the city's database. */
const BEAD_FILE = 'beads.json';
const SWAPPED_EVENT = 'provider.swapped';
/** Records and letters are nobody's work. */
const NOT_COUNTED = ['session', 'message'];
/** The city's own state that says what another store still holds. */
const LEFT_KEY = 'bead_store_left';

export interface OpenWork {
  readonly city: CityDatabase;
  /** The PATH of whoever works, for the lock of the file. */
  readonly path: string;
}

/** The city's work where the choice says it is. Nothing is made or changed yet. */
export async function openWork({ city, path }: OpenWork, provider: string): Promise<WorkBeads> {
  if (provider !== 'file') return city.beads;
  return openFile({ city, path });
}

/**
 * Puts a choice in force: records it, makes the bead file, and keeps the numbers of the two stores apart, so that an id
 * never means two beads. `told`: what people should know, because work stays behind in the other store.
 */
export async function settleWork(
  opening: OpenWork,
  choice: WorkChoice,
  actor: string,
): Promise<{ readonly work: WorkBeads; readonly told: string | undefined }> {
  const { city } = opening;
  const recorded = await recordedWork(city);
  const isFile = choice.provider === 'file';
  const wasFile = recorded?.provider === 'file';
  const work = await openWork(opening, choice.provider);
  if (isFile) {
    const taken = wasFile ? 0 : await city.read(() => city.beadTable.lastNumber());
    await (work as FileWork).prepare(taken);
  }
  if (recorded?.provider === choice.provider) {
    if (recorded.by !== choice.by) await city.commit({ state: choiceState(choice) });
    return { work, told: undefined };
  }
  const before = isFile === wasFile ? undefined : await openWork(opening, wasFile ? 'file' : 'sqlite');
  const left = before ? await openBeadsIn(before) : 0;
  const told = before && left > 0 ? leftText(left, before.file, work.file, wasFile) : undefined;
  if (wasFile && before) await numberAfter(city, before as FileWork);
  await city.commit({
    state: { ...choiceState(choice), [LEFT_KEY]: told ?? '' },
    events: recorded
      ? [{ type: SWAPPED_EVENT, actor, message: `beads: ${recorded.provider} → ${choice.provider}` }]
      : [],
  });
  return { work, told };
}

/** What another store still holds, for people; `undefined`: nothing. */
export async function leftBehind(city: CityDatabase): Promise<string | undefined> {
  return (await city.state(LEFT_KEY)) || undefined;
}

/** Whether beads of a kind that only work has were ever made in the city's database. */
export async function hasDatabaseWork(city: CityDatabase): Promise<boolean> {
  const found = await city.beads.list({ notTypes: ['session'], includeClosed: true, limit: 1 });
  return found.length > 0;
}

async function openFile({ city, path }: OpenWork): Promise<FileWork> {
  const { FileWork: Opened } = await import('./file/file-work.ts');
  return new Opened({ file: join(dirname(city.file), BEAD_FILE), city, path });
}

async function openBeadsIn(work: WorkBeads): Promise<number> {
  return (await work.list({ notTypes: NOT_COUNTED })).length;
}

async function numberAfter(city: CityDatabase, work: FileWork): Promise<void> {
  const seq = await work.lastNumber();
  await city.write(() => city.beadTable.continueAfter(seq));
}

function leftText(count: number, from: string, to: string, wasFile: boolean): string {
  const beads = count === 1 ? '1 open bead stays' : `${count} open beads stay`;
  return `work is kept in ${to} now; ${beads} in ${from} (gc start with GC_BEADS=${wasFile ? 'file' : 'sqlite'} goes back to it)`;
}
