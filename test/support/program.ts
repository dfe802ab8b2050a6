import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { systemClock } from '../../internal/platform/clock.ts';
import { identityOf } from '../../internal/platform/process-identity.ts';
import { readProcesses } from '../../internal/platform/process-table.ts';
import { killTree } from '../../internal/platform/process-tree.ts';

export const PROJECT_ROOT = dirname(dirname(import.meta.dirname));
const MAIN = join(PROJECT_ROOT, 'dist', 'main.js');
const COMMAND_TIMEOUT_MS = 60_000;
const POLL_MS = 40;

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly timeoutMs?: number;
  /** Another copy of the program than the project's own build. */
  readonly program?: string;
}

/**
 * A private world for the built program: its own home, runtime folder and tmux socket folder. Everything that it starts
 * carries GC_HOME of this world, which is how `dispose` finds and ends what is left, by pid.
 */
export class World {
  readonly root = mkdtempSync(join(tmpdir(), 'gcw-'));
  readonly home = join(this.root, 'home');
  readonly env: Readonly<Record<string, string>>;

  constructor(provider: 'tmux' | 'subprocess' = 'subprocess', extra: Readonly<Record<string, string>> = {}) {
    for (const dir of ['home', 'tmux', 'cities', 'tmp']) mkdirSync(join(this.root, dir), { mode: 0o700 });
    this.env = {
      PATH: provider === 'tmux' ? (process.env['PATH'] ?? '') : pathWithout('tmux', join(this.root, 'bin')),
      HOME: this.home,
      GC_HOME: join(this.root, 'home', '.gc'),
      TMUX_TMPDIR: join(this.root, 'tmux'),
      TMPDIR: join(this.root, 'tmp'),
      TERM: 'xterm-256color',
      LANG: 'C.UTF-8',
      GC_CEILING_DIRECTORIES: this.root,
      ...extra,
    };
  }

  /** A city folder with the given files. */
  city(name: string, files: Readonly<Record<string, string>>): string {
    const dir = join(this.root, 'cities', name);
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(dir, path)), { recursive: true });
      writeFileSync(join(dir, path), content);
    }
    return dir;
  }

  /** A copy of one of the example cities. */
  example(name: string, as = name): string {
    const dir = join(this.root, 'cities', as);
    cpSync(join(PROJECT_ROOT, 'examples', name), dir, { recursive: true });
    return dir;
  }

  /** Runs the built program as a user would. */
  gc(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
    const started = performance.now();
    return new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [options.program ?? MAIN, ...args], {
        cwd: options.cwd ?? this.root,
        env: { ...this.env, ...options.env },
        stdio: ['pipe', 'pipe', 'pipe'],
      });
      const out: Buffer[] = [];
      const err: Buffer[] = [];
      const timer = setTimeout(() => child.kill('SIGKILL'), options.timeoutMs ?? COMMAND_TIMEOUT_MS);
      child.stdout.on('data', (b: Buffer) => out.push(b));
      child.stderr.on('data', (b: Buffer) => err.push(b));
      child.stdin.on('error', () => undefined);
      child.stdin.end(options.input ?? '');
      child.on('error', reject);
      child.on('close', (code) => {
        clearTimeout(timer);
        const text = (chunks: Buffer[]) => Buffer.concat(chunks).toString('utf8');
        resolve({ code, stdout: text(out), stderr: text(err), ms: performance.now() - started });
      });
    });
  }

  /** Runs and expects success. */
  async ok(args: readonly string[], options: RunOptions = {}): Promise<string> {
    const ran = await this.gc(args, options);
    if (ran.code !== 0)
      throw new Error(`gc ${args.join(' ')} exited ${ran.code}\n${ran.stdout}\n${ran.stderr}`);
    return ran.stdout;
  }

  async status(city: string): Promise<StatusJson> {
    return JSON.parse(await this.ok(['--city', city, 'status', '--json'])) as StatusJson;
  }

  /** Pids of every process that this world started and that still lives. */
  processes(): readonly number[] {
    return readProcesses()
      .filter(
        (entry) =>
          entry.state !== 'Z' &&
          entry.pid !== process.pid &&
          environmentOf(entry.pid)?.includes(`GC_HOME=${this.env['GC_HOME']}`),
      )
      .map((entry) => entry.pid);
  }

  /** tmux servers of this world (they have no environment of ours): by their socket folder. */
  tmuxServers(): readonly number[] {
    return readProcesses()
      .filter(
        (e) =>
          e.comm.startsWith('tmux: server') &&
          environmentOf(e.pid)?.includes(`TMUX_TMPDIR=${this.env['TMUX_TMPDIR']}`),
      )
      .map((e) => e.pid);
  }

  async dispose(): Promise<void> {
    for (const pid of [...this.processes(), ...this.tmuxServers()]) {
      const identity = identityOf(pid);
      if (identity) await killTree(identity, { graceMs: 500, clock: systemClock });
    }
    rmSync(this.root, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** The parts of `gc status --json` that tests read. */
export interface StatusJson {
  readonly controller: { readonly running: boolean; readonly pid?: number; readonly mode?: string };
  readonly provider: { readonly name: string; readonly tmux_socket?: string };
  readonly config: { readonly revision: string; readonly error?: string };
  readonly summary: Readonly<Record<string, number>>;
  readonly sessions: readonly {
    readonly id: string;
    readonly display_name: string;
    readonly session_name: string;
    readonly condition: string;
    readonly pid?: number;
    readonly restarts: number;
    readonly next_try_at?: string;
    readonly detail?: string;
    readonly last_exit?: { readonly code?: number; readonly signal?: string; readonly last_lines: string };
  }[];
}

/** Asks until the answer is there. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  limitMs = 20_000,
): Promise<T> {
  const started = performance.now();
  let last: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      last = error;
    }
    if (performance.now() - started > limitMs)
      throw new Error(`not within ${limitMs} ms: ${what}`, { cause: last });
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

function environmentOf(pid: number): readonly string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return undefined; // it ended meanwhile
  }
}

/** The PATH with one program hidden: a folder of links to everything else that stands beside it. */
function pathWithout(program: string, shadow: string): string {
  const dirs = (process.env['PATH'] ?? '').split(delimiter).filter((d) => d !== '');
  return dirs
    .map((dir, index) => {
      if (!existsSync(join(dir, program))) return dir;
      const links = `${shadow}-${index}`;
      if (!existsSync(links)) linkAllBut(program, dir, links);
      return links;
    })
    .join(delimiter);
}

function linkAllBut(program: string, from: string, to: string): void {
  mkdirSync(to, { mode: 0o700 });
  for (const entry of readdirSync(from))
    if (entry !== program) symlinkSync(join(from, entry), join(to, entry));
}
