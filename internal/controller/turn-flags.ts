import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../platform/errors.ts';
import { isSessionName } from '../runtime/name-rule.ts';
import type { SessionRecord } from '../session/record.ts';
import type { Desired } from './model.ts';
import { isAmong, NO_WORK, type WorkFacts } from './work-facts.ts';

/** What there may be to say to an agent at its next turn. */
export type TurnTopic = 'work' | 'mail' | 'nudge';

/** `GC_CITY_RUNTIME_DIR` of a city's sessions. */
export function cityRuntimeDir(cityRoot: string): string {
  return join(cityRoot, '.gc', 'runtime');
}

/** `turns/<session>` exists while there may be something to say; it holds one file per topic, so that none hides another. */
function flagOf(runtimeDir: string, sessionName: string): string | undefined {
  return isSessionName(sessionName) ? join(runtimeDir, 'turns', sessionName) : undefined;
}

/** The session's hooks start our program at its next turn. Raised flags may be raised again. */
export async function raiseTurnFlag(
  runtimeDir: string,
  sessionName: string,
  topic: TurnTopic = 'work',
): Promise<void> {
  const flag = flagOf(runtimeDir, sessionName);
  if (flag === undefined) return;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await mkdir(flag, { recursive: true, mode: 0o700 });
      // What is in it already stays: what the agent was told.
      await writeFile(join(flag, topic), '', { flag: 'a' });
      return;
    } catch (error) {
      // The last topic was cleared in between.
      if (codeOf(error) !== 'ENOENT' || attempt === RAISE_ATTEMPTS) throw error;
    }
  }
}

const RAISE_ATTEMPTS = 20;

/** There is nothing to say about the topic; without a topic: about none (the session ended). */
export async function clearTurnFlag(
  runtimeDir: string,
  sessionName: string,
  topic?: TurnTopic,
): Promise<void> {
  const flag = flagOf(runtimeDir, sessionName);
  if (flag === undefined) return;
  if (topic === undefined) return rm(flag, { recursive: true, force: true });
  await rm(join(flag, topic), { force: true });
  await rmdir(flag).catch((error: unknown) => {
    const code = codeOf(error);
    if (code !== 'ENOENT' && code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
  });
}

/**
 * The sessions to which work is waiting: what is theirs by name, and what is routed to their agent and taken by nobody.
 * A named session takes no routed work. Pure.
 */
export function sessionsWithWork(
  work: WorkFacts,
  records: readonly SessionRecord[],
  desired: ReadonlyMap<string, Pick<Desired, 'identity' | 'kind'>>,
): readonly string[] {
  return records
    .filter((record) => {
      const wanted = desired.get(record.sessionName);
      if (isAmong(work.callers, record, wanted?.identity ?? record.namedIdentity)) return true;
      return wanted?.kind !== 'named' && (work.waiting.get(record.template)?.size ?? 0) > 0;
    })
    .map((record) => record.sessionName);
}

/** Whether the agent was told of exactly this since the flag was raised last. */
export async function wasTold(runtimeDir: string, sessionName: string, text: string): Promise<boolean> {
  const flag = flagOf(runtimeDir, sessionName);
  if (flag === undefined) return false;
  const told = await readFile(join(flag, 'work'), 'utf8').catch(() => ''); // the flag is down: nothing was told
  return told === digestOf(text);
}

/** Remembered until the flag is raised again. */
export async function noteTold(runtimeDir: string, sessionName: string, text: string): Promise<void> {
  const flag = flagOf(runtimeDir, sessionName);
  if (flag === undefined) return;
  await mkdir(flag, { recursive: true, mode: 0o700 });
  await writeFile(join(flag, 'work'), digestOf(text));
}

function digestOf(text: string): string {
  return createHash('sha256').update(text.trim()).digest('hex');
}

/** Raises the flags of the sessions that work is waiting for, whenever the work or who is there changes. */
export class TurnFlags {
  readonly #runtimeDir: string;
  #work: WorkFacts = NO_WORK;
  #known: ReadonlySet<string> = new Set();

  constructor(runtimeDir: string) {
    this.#runtimeDir = runtimeDir;
  }

  async follow(
    work: WorkFacts,
    records: readonly SessionRecord[],
    desired: ReadonlyMap<string, Pick<Desired, 'identity' | 'kind'>>,
  ): Promise<void> {
    const names = sessionsWithWork(work, records, desired);
    const fresh = work === this.#work ? names.filter((name) => !this.#known.has(name)) : names;
    const unsaid = new Set<string>();
    for (const name of fresh) {
      // The next pass tries again; until then its agent hears of the work a turn later.
      await raiseTurnFlag(this.#runtimeDir, name, 'work').catch(() => unsaid.add(name));
    }
    this.#work = work;
    this.#known = new Set(names.filter((name) => !unsaid.has(name)));
  }
}
