import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { systemIds } from '../../../platform/ids.ts';
import type { Environment } from '../../../platform/paths.ts';
import type { FetchContext } from '../fetch.ts';

/** A machine of its own: a home, places for cities and repositories, and git without anybody's settings. */
export class Machine {
  readonly base = realpathSync(mkdtempSync(join(tmpdir(), 'gc-remote-')));
  readonly home = join(this.base, 'home');
  readonly env: Environment = {
    PATH: process.env['PATH'],
    HOME: this.home,
    GC_HOME: join(this.home, '.gc'),
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@example.org',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@example.org',
  };

  constructor() {
    mkdirSync(this.home);
  }

  /** Files, by path in the machine's folder; `-> target` makes a link. */
  write(dir: string, files: Readonly<Record<string, string>>): string {
    const root = join(this.base, dir);
    for (const [name, content] of Object.entries(files)) {
      const path = join(root, name);
      mkdirSync(dirname(path), { recursive: true });
      rmSync(path, { force: true });
      const target = /^-> (.*)$/.exec(content)?.[1];
      if (target === undefined) writeFileSync(path, content);
      else symlinkSync(target, path);
    }
    return root;
  }

  git(dir: string, ...args: readonly string[]): string {
    return execFileSync('git', ['-C', dir, ...args], {
      env: { ...this.env },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  }

  upstream(name: string): Upstream {
    return new Upstream(this, name);
  }

  fetchContext(signal: AbortSignal = new AbortController().signal): FetchContext {
    return { env: this.env, signal, ids: systemIds };
  }

  remove(): void {
    rmSync(this.base, { recursive: true, force: true });
  }
}

/** A bare repository that others can fetch, and a work tree that pushes to it. */
export class Upstream {
  readonly bare: string;
  readonly url: string;
  readonly #machine: Machine;
  readonly #tree: string;

  constructor(machine: Machine, name: string) {
    this.#machine = machine;
    this.bare = join(machine.base, 'upstream', `${name}.git`);
    this.#tree = join(machine.base, 'trees', name);
    this.url = `file://${this.bare}`;
    mkdirSync(this.bare, { recursive: true });
    mkdirSync(this.#tree, { recursive: true });
    machine.git(this.bare, 'init', '--quiet', '--bare', '--initial-branch=main');
    machine.git(this.#tree, 'init', '--quiet', '--initial-branch=main');
  }

  /** Commits these files on `branch` and pushes them, with a tag when one is named. Returns the commit. */
  commit(
    files: Readonly<Record<string, string>>,
    { tag, branch = 'main' }: { readonly tag?: string; readonly branch?: string } = {},
  ): string {
    const git = (...args: readonly string[]) => this.#machine.git(this.#tree, ...args);
    if (branch !== 'main') git('checkout', '--quiet', '-B', branch);
    this.#machine.write(`trees/${this.#tree.split('/').at(-1)}`, files);
    git('add', '--all');
    git('commit', '--quiet', '--allow-empty', '-m', 'change');
    const commit = git('rev-parse', 'HEAD');
    if (tag !== undefined) git('tag', '-a', '-m', tag, tag);
    git('push', '--quiet', '--tags', this.bare, `HEAD:refs/heads/${branch}`);
    if (branch !== 'main') git('checkout', '--quiet', 'main');
    return commit;
  }
}

/** The files of a pack with one agent. */
export function packFiles(
  name: string,
  more: { readonly dir?: string; readonly imports?: string } = {},
): Record<string, string> {
  const at = more.dir ? `${more.dir}/` : '';
  return {
    [`${at}pack.toml`]: `[pack]\nname = "${name}"\nschema = 2\n${more.imports ?? ''}`,
    [`${at}agents/${name}-agent/agent.toml`]: 'start_command = "sleep 60"\n',
  };
}
