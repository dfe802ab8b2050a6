import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { until, type World } from './program.ts';

/**
 * A person's terminal: a private tmux server of the test (never one of the city's), in which a command runs and keys
 * are typed. It is the observer, not the thing under test.
 */
export class PersonsTerminal {
  readonly #socket: string;
  readonly #env: Record<string, string>;

  constructor(world: World, command: string, size = { columns: 100, rows: 30 }) {
    const dir = join(world.root, 'person');
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    this.#socket = join(dir, 'socket');
    this.#env = { ...world.env, PATH: process.env['PATH'] ?? '', TMUX_TMPDIR: dir };
    const env = Object.entries(world.env).flatMap(([k, v]) => ['-e', `${k}=${v}`]);
    this.#tmux(
      'new-session',
      '-d',
      '-s',
      'person',
      '-x',
      String(size.columns),
      '-y',
      String(size.rows),
      ...env,
      `${command}; echo "[left: $?]"; exec sh`,
    );
  }

  screen(): string {
    return this.#tmux('capture-pane', '-p', '-t', 'person:');
  }

  type(text: string): void {
    this.#tmux('send-keys', '-t', 'person:', '-l', '--', text);
  }

  key(...keys: string[]): void {
    this.#tmux('send-keys', '-t', 'person:', ...keys);
  }

  resize(columns: number, rows: number): void {
    this.#tmux('resize-window', '-t', 'person:', '-x', String(columns), '-y', String(rows));
  }

  async see(text: string | RegExp, limitMs?: number): Promise<string> {
    return until(
      `${text} on the person's screen`,
      () => {
        const screen = this.screen();
        return (typeof text === 'string' ? screen.includes(text) : text.test(screen)) && screen;
      },
      limitMs,
    );
  }

  close(): void {
    try {
      this.#tmux('kill-server');
    } catch {
      // it ended by itself with its last window
    }
  }

  #tmux(...args: string[]): string {
    return execFileSync('tmux', ['-u', '-f', '/dev/null', '-S', this.#socket, ...args], {
      env: this.#env,
      encoding: 'utf8',
    });
  }
}
