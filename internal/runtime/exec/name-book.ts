import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensurePrivateDir } from '../../platform/atomic-file.ts';
import { codeOf } from '../../platform/errors.ts';
import { isSessionName } from '../name-rule.ts';

/** Names of the sessions that were started, one empty file each: for scripts that cannot list theirs. */
export class NameBook {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  async add(name: string): Promise<void> {
    ensurePrivateDir(this.#dir);
    await writeFile(join(this.#dir, name), '', { mode: 0o600 });
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.#dir, name), { force: true });
  }

  async names(): Promise<readonly string[]> {
    try {
      return (await readdir(this.#dir)).filter(isSessionName).sort();
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return []; // nothing was ever started
      throw error;
    }
  }
}
