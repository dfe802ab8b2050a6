import { afterEach, describe, expect, it } from 'vitest';
import { HttpCityApi } from '../internal/api/http/city-client.ts';
import { apiSocketPath } from '../internal/controller/control-socket-client.ts';
import { systemClock } from '../internal/platform/clock.ts';
import { readArguments } from '../internal/platform/process-table.ts';
import { mainly } from './support/cities.ts';
import { until, World } from './support/program.ts';
import { CLAUDE, realCity, realPath } from './support/real-agents.ts';
import { type ScriptedModel, startScriptedModel } from './support/scripted-messages.ts';

const TURN_LIMIT_MS = 60_000;
const WORD = 'BLUE-42';
const NOTE = 'both parsers are merged: release';
const ME = 'claude';

let waiting: Waiting;
afterEach(() => waiting?.end());

/** A city with one Claude Code that was told a word. */
class Waiting {
  readonly world: World;
  readonly #model: ScriptedModel;
  readonly #city: string;
  readonly #env: Readonly<Record<string, string>>;
  bead = '';

  static async begin(provider: 'tmux' | 'subprocess'): Promise<Waiting> {
    const begun = new Waiting(new World(provider), await startScriptedModel());
    await begun.start();
    await begun.#say(`remember ${WORD}`);
    begun.bead = (await begun.gc('bd', 'create', 'merge the parsers', '--silent')).trim();
    return begun;
  }

  private constructor(world: World, model: ScriptedModel) {
    this.world = world;
    this.#model = model;
    CLAUDE.settle(world.home, model.url);
    this.#env = realPath(world, [CLAUDE]);
    this.#city = world.city('waiting', { 'city.yaml': realCity('waiting', [CLAUDE], model.url, 'always') });
  }

  gc(...words: string[]): Promise<string> {
    return this.world.ok(words, { cwd: this.#city, env: this.#env, timeoutMs: 2 * TURN_LIMIT_MS });
  }

  async start(): Promise<void> {
    await this.gc('start');
  }

  session() {
    return new HttpCityApi(apiSocketPath(this.#city, this.world.env), systemClock).session(ME);
  }

  /** The processes of the agent program: its own pid may be a shell's. */
  agents(): readonly number[] {
    return this.world.processes().filter((pid) => readArguments(pid).includes('--effort'));
  }

  /** Supervisor, session host, keepers and hooks, all at once and without a word. */
  killOurs(): void {
    const ours = this.world
      .processes()
      .filter((pid) => readArguments(pid).some((word) => /\/main\.js$/.test(word)));
    expect(ours.length).toBeGreaterThan(0);
    for (const pid of ours) process.kill(pid, 'SIGKILL');
  }

  async wait(...more: string[]): Promise<void> {
    await this.gc('session', 'wait', ME, '--on-beads', this.bead, '--note', NOTE, ...more);
  }

  async fallAsleep(): Promise<void> {
    await this.wait('--sleep');
    await until('it to sleep', async () => (await this.session()).condition === 'asleep', TURN_LIMIT_MS);
    expect(this.agents()).toEqual([]);
  }

  /** It is told once, in the conversation in which it was told the word. */
  async remembers(): Promise<void> {
    await until('the note', () => this.#told() > 0, 2 * TURN_LIMIT_MS);
    const { session_key: key } = await this.session();
    expect(key).not.toBe('');
    const commands = this.agents().map((pid) => readArguments(pid).join(' '));
    expect(commands.join('\n')).toContain(`--resume ${key}`);
    await until(
      'the wait to be over',
      async () => / closed /.test(await this.gc('wait', 'list', '--state', 'all')),
      TURN_LIMIT_MS,
    );
    await this.#say('what was the word?');
    const last = this.#model.turns.at(-1)?.whole ?? '';
    expect(last).toContain(`remember ${WORD}`);
    expect(last.split(NOTE)).toHaveLength(2);
    expect(this.#told()).toBe(1);
  }

  async end(): Promise<void> {
    await this.world.dispose();
    await this.#model.close();
  }

  #told(): number {
    return this.#model.turns.filter(({ text }) => text.includes(NOTE)).length;
  }

  async #say(text: string): Promise<void> {
    await this.gc('nudge', ME, text, '--wait', '60s');
    await until(text, () => this.#model.turns.some((turn) => turn.text === text), TURN_LIMIT_MS);
    await until(
      'the end of the turn',
      async () => (await this.session()).conversation?.turn === 'idle',
      TURN_LIMIT_MS,
    );
  }
}

describe.each(mainly('tmux'))('real Claude Code that waits, on $provider', ({ provider, available }) => {
  const reason = CLAUDE.installed
    ? available
      ? ''
      : ' (skipped: tmux is not installed)'
    : ' (skipped: Claude Code is not installed)';
  const test = (name: string, run: () => Promise<void>) =>
    it.runIf(CLAUDE.installed && available)(`${name}${reason}`, run, 240_000);

  test('sleeps until its bead is closed, and still knows what it was told', async () => {
    waiting = await Waiting.begin(provider);
    await waiting.fallAsleep();
    await waiting.gc('bd', 'close', waiting.bead);
    await waiting.remembers();
  });

  test('so it does when everything of ours is killed while it sleeps, and while it wakes', async () => {
    waiting = await Waiting.begin(provider);
    await waiting.fallAsleep();
    waiting.killOurs();
    await waiting.gc('bd', 'close', waiting.bead);
    await waiting.gc('start', '--no-wait');
    await until('it to wake', () => waiting.agents().length > 0, TURN_LIMIT_MS);
    waiting.killOurs();
    await waiting.start();
    await waiting.remembers();
  });

  test('so it does when it is killed itself while the wait is open', async () => {
    waiting = await Waiting.begin(provider);
    await waiting.wait();
    for (const pid of waiting.agents()) process.kill(pid, 'SIGKILL');
    await until('its next life', async () => (await waiting.session()).restarts > 0, TURN_LIMIT_MS);
    await waiting.gc('bd', 'close', waiting.bead);
    await waiting.remembers();
  });
});
