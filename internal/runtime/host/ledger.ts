import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensurePrivateDir } from '../../platform/atomic-file.ts';
import { codeOf } from '../../platform/errors.ts';
import { bootId, type ProcessIdentity, parseProcessIdentity } from '../../platform/process-identity.ts';
import { isSessionName } from '../name-rule.ts';
import { countForks } from './process-evidence.ts';

/** The variable whose value proves that a process is one particular life of one session. */
export const INSTANCE_TOKEN = 'GC_INSTANCE_TOKEN';
/** In commands that the host itself runs for an agent: the agent's instance token. They are not its descendants. */
export const TERMINAL_OF = 'GC_ACP_TERMINAL_OF';
const OWNER_ONLY = 0o600;

/** What is known of one agent, even when the host that ran it is gone. */
export interface LedgerEntry {
  readonly name: string;
  readonly bootId: string;
  /** The agent's instance token, `''` when it was given none. */
  readonly token: string;
  /** Absent: it was about to be started. */
  readonly leader: ProcessIdentity | undefined;
  /** The machine's count of started processes when the leader was. */
  readonly forks: number | undefined;
}

/** The agents of one city that a session host runs or is about to run: one small owner-only file each. */
export class Ledger {
  readonly #dir: string;

  constructor(runtimeDir: string) {
    this.#dir = join(runtimeDir, 'ledger');
  }

  /** Written before the agent runs. */
  intend(name: string, token: string): void {
    this.#write(name, { name, bootId: bootId(), token });
  }

  /** Written as soon as the agent has a number; nothing else happens in between. */
  started(name: string, token: string, leader: ProcessIdentity): void {
    this.#write(name, { name, bootId: leader.bootId, token, leader, forks: countForks() });
  }

  remove(name: string): void {
    rmSync(this.#file(name), { force: true });
  }

  isEmpty(): boolean {
    return !existsSync(this.#dir) || this.#names().length === 0;
  }

  /** Files that do not have the form of an entry are left out: nothing can be proven from them. */
  entries(): readonly LedgerEntry[] {
    return this.#names().flatMap((name) => {
      const entry = parseEntry(name, readText(this.#file(name)));
      return entry ? [entry] : [];
    });
  }

  /**
   * Whole or not at all, without waiting for the disk: an entry matters as long as its processes can live, and what
   * outlives the host is with the kernel then. After a crash of the machine nothing of it is true any more.
   */
  #write(name: string, entry: object): void {
    ensurePrivateDir(this.#dir);
    const file = this.#file(name);
    const fresh = `${file}.new`;
    writeFileSync(fresh, `${JSON.stringify(entry)}\n`, { mode: OWNER_ONLY });
    renameSync(fresh, file);
  }

  #names(): readonly string[] {
    try {
      return readdirSync(this.#dir)
        .filter((file) => file.endsWith('.json') && isSessionName(file.slice(0, -5)))
        .map((file) => file.slice(0, -5));
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    }
  }

  #file(name: string): string {
    return join(this.#dir, `${name}.json`);
  }
}

function parseEntry(name: string, content: string): LedgerEntry | undefined {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    return undefined; // cut or altered by somebody else: it proves nothing
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { bootId: boot, token, leader, forks } = value as Record<string, unknown>;
  if (typeof boot !== 'string' || typeof token !== 'string') return undefined;
  return {
    name,
    bootId: boot,
    token,
    leader: parseProcessIdentity(leader),
    forks: typeof forks === 'number' ? forks : undefined,
  };
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return ''; // removed meanwhile
    throw error;
  }
}
