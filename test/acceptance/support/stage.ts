import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { expect } from 'vitest';
import { PROJECT_ROOT, until, World } from '../../support/program.ts';

const MAIN = join(PROJECT_ROOT, 'dist', 'main.js');
/** What agents and people call it. */
const NAME = 'gc';
const COMMAND_TIMEOUT_MS = 60_000;
/** Another program under the same name can be judged by the same tests: an absolute path. */
const OTHER_PROGRAM = process.env['GC_ACCEPTANCE_GC_BIN'];

export interface Said {
  readonly args: readonly string[];
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  /** Both, as scripts read them that merge them. */
  readonly all: string;
}

export interface Call {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

type Place = Required<Call>;

/** One run of the program. */
export type Run = (args: readonly string[], place: Place) => Promise<Omit<Said, 'args'>>;

/**
 * A machine for the program as black-box suites see it: a private home and runtime folder, embedded terminals, work in a
 * file, no service manager, `gc` on the PATH as agents call it, nobody at a terminal and nothing on stdin.
 */
export class Stage {
  readonly world: World;
  readonly env: Readonly<Record<string, string>>;
  readonly empty: string;
  readonly #run: Run;

  /** @param run how the program is run: the built one, unless told */
  constructor(run: Run = built) {
    this.#run = run;
    this.world = new World('subprocess');
    const { root } = this.world;
    const bin = join(root, 'programs');
    this.empty = join(root, 'empty');
    for (const dir of [bin, this.empty, join(root, 'run')]) mkdirSync(dir, { mode: 0o700 });
    program(bin, NAME, `exec ${OTHER_PROGRAM ?? `"${process.execPath}" "${MAIN}"`} "$@"`);
    for (const name of ['launchctl', 'systemctl']) program(bin, name, 'exit 1');
    this.env = {
      ...this.world.env,
      PATH: [bin, this.world.env['PATH'] ?? ''].join(delimiter),
      XDG_RUNTIME_DIR: join(root, 'run'),
      GC_SESSION: 'subprocess',
      GC_BEADS: 'file',
      GC_DOLT: 'skip',
    };
  }

  /** Where a city of this name is, or would be. */
  place(name: string): string {
    return join(this.world.root, 'cities', name);
  }

  async gc(args: readonly string[], { cwd = this.empty, env = {} }: Call = {}): Promise<Said> {
    return { args, ...(await this.#run(args, { cwd, env: { ...this.env, ...env } })) };
  }

  /** It succeeds and says all of this. Answers what it said. */
  async ok(args: readonly string[], says: readonly string[] = [], call: Call = {}): Promise<string> {
    const said = await this.gc(args, call);
    expect(said.code, `gc ${args.join(' ')}: ${said.all}`).toBe(0);
    for (const text of says) expect(said.all).toContain(text);
    return said.all;
  }

  /** It fails, on stderr, and says all of this there. */
  async refused(args: readonly string[], says: readonly string[] = [], call: Call = {}): Promise<string> {
    const said = await this.gc(args, call);
    expect(said.code, `gc ${args.join(' ')}: ${said.all}`).toBeGreaterThan(0);
    expect(said.err, `gc ${args.join(' ')} says why`).not.toBe('');
    for (const text of says) expect(said.err).toContain(text);
    return said.all;
  }

  /** A city of the given files, not started. */
  async city(name: string, files: Readonly<Record<string, string>>): Promise<City> {
    const dir = this.place(name);
    for (const [path, text] of Object.entries(files)) write(join(dir, path), text);
    return new City(this, dir);
  }

  /** A city that the program itself makes. */
  async init(name: string, options: readonly string[] = []): Promise<City> {
    const dir = this.place(name);
    await this.ok(['init', '--skip-provider-readiness', ...options, dir]);
    return new City(this, dir);
  }

  /** A controller of this city in the foreground. Answers its exit code, once it has ended. */
  foreground(city: City): Promise<number | null> {
    const child = spawn(NAME, ['start', '--foreground', city.dir], {
      cwd: city.dir,
      env: { ...this.env },
      stdio: ['ignore', 'ignore', 'ignore'],
    });
    return new Promise((resolve) => child.on('close', resolve));
  }

  async dispose(): Promise<void> {
    await this.gc(['supervisor', 'stop']);
    await this.world.dispose();
  }
}

/** The built program, in a process of its own. */
function built(args: readonly string[], { cwd, env }: Place): Promise<Omit<Said, 'args'>> {
  return new Promise((resolve, reject) => {
    const child = spawn(NAME, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const pieces = { out: '', err: '', all: '' };
    const take = (into: 'out' | 'err') => (text: string) => {
      pieces[into] += text;
      pieces.all += text;
    };
    child.stdout.setEncoding('utf8').on('data', take('out'));
    child.stderr.setEncoding('utf8').on('data', take('err'));
    const timer = setTimeout(() => child.kill('SIGKILL'), COMMAND_TIMEOUT_MS);
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code, ...pieces });
    });
  });
}

/** One city on a stage; its commands run in its folder. */
export class City {
  readonly stage: Stage;
  readonly dir: string;

  constructor(stage: Stage, dir: string) {
    this.stage = stage;
    this.dir = dir;
  }

  gc(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Said> {
    return this.stage.gc(args, { cwd: this.dir, env });
  }

  ok(
    args: readonly string[],
    says: readonly string[] = [],
    env: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    return this.stage.ok(args, says, { cwd: this.dir, env });
  }

  refused(
    args: readonly string[],
    says: readonly string[] = [],
    env: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    return this.stage.refused(args, says, { cwd: this.dir, env });
  }

  path(...parts: readonly string[]): string {
    return join(this.dir, ...parts);
  }

  has(...parts: readonly string[]): boolean {
    return existsSync(this.path(...parts));
  }

  read(...parts: readonly string[]): string {
    return readFileSync(this.path(...parts), 'utf8');
  }

  write(path: string, text: string): void {
    write(this.path(path), text);
  }

  start(): Promise<string> {
    return this.stage.ok(['start', this.dir], ['City started'], { cwd: this.dir });
  }

  /** It starts, though some agent of it cannot stay up. */
  async startInPart(): Promise<void> {
    const said = await this.gc(['start', this.dir]);
    expect(said.all).toContain('City started');
    expect(said.code).toBe(1);
  }

  stop(): Promise<string> {
    return this.stage.ok(['stop', this.dir], ['stopped'], { cwd: this.dir });
  }

  async json<T>(args: readonly string[]): Promise<T> {
    const said = await this.gc(args);
    expect([said.code, said.err], `gc ${args.join(' ')}`).toEqual([0, '']);
    return JSON.parse(said.out) as T;
  }

  /** The table of sessions as scripts take it apart: words of a row, split at blanks. */
  async rows(): Promise<readonly Row[]> {
    const text = await this.ok(['session', 'list', '--state', 'all']);
    return text
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter((cells) => cells.length >= 6)
      .map(([id = '', template = '', state = '', reason = '', target = '']) => ({
        id,
        template,
        state,
        reason,
        target,
      }));
  }

  /** The state of the session that people call so. */
  async state(target: string): Promise<string | undefined> {
    return (await this.rows()).find((row) => row.target === target)?.state;
  }

  /** What an agent wrote about itself, once it wrote all of it. */
  async report(agent: string, unlike?: Report): Promise<Report> {
    const file = this.path('.reports', `${agent.replaceAll('/', '__')}.env`);
    return until(`report of ${agent}`, () => {
      if (!existsSync(file)) return false;
      const report = parse(readFileSync(file, 'utf8'));
      const isOld = unlike !== undefined && report['PID'] === unlike['PID'];
      return report['DONE'] === 'true' && !isOld && report;
    });
  }
}

export type Report = Readonly<Record<string, string>>;

export interface Row {
  readonly id: string;
  readonly template: string;
  readonly state: string;
  readonly reason: string;
  readonly target: string;
}

/**
 * A shell agent that writes down where it runs and what it was given, then ends when it is asked to, and says so. Its
 * start-up message comes as an argument, which it does not look at.
 */
export const REPORTER = script([
  'dir="$GC_CITY/.reports"; mkdir -p "$dir"',
  'name=$(printf %s "$GC_AGENT" | sed "s|/|__|g")',
  '{ env | grep -E "^(GC_|GT_|BEADS_|CUSTOM_)" | sort; echo "CWD=$(pwd -P)"; echo "PID=$$"; echo "DONE=true"; } > "$dir/.$name.$$"',
  'mv "$dir/.$name.$$" "$dir/$name.env"',
  'while :; do',
  '  if gc runtime drain-check; then gc runtime drain-ack; exit 0; fi',
  '  sleep 0.3',
  'done',
]);

/** Lives, and looks at nothing. */
export const STUCK = script(['while :; do sleep 1; done']);

export function script(lines: readonly string[]): string {
  return ['#!/bin/sh', ...lines, ''].join('\n');
}

function program(dir: string, name: string, line: string): void {
  const file = join(dir, name);
  writeFileSync(file, script([line]));
  chmodSync(file, 0o755);
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function parse(text: string): Report {
  const pairs = text
    .split('\n')
    .filter((line) => line.includes('='))
    .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]);
  return Object.fromEntries(pairs);
}
