import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HttpCityApi } from '../internal/api/http/city-client.ts';
import { BUILTIN_PRESETS } from '../internal/config/preset/presets.ts';
import { PROGRAM_ABILITIES, type ProgramAbilities } from '../internal/config/preset/program-abilities.ts';
import { apiSocketPath } from '../internal/controller/control-socket-client.ts';
import { systemClock } from '../internal/platform/clock.ts';
import { readArguments, readProcesses } from '../internal/platform/process-table.ts';
import { HAS_TMUX } from './support/cities.ts';
import { until, World } from './support/program.ts';
import { endHelpers, REAL_AGENTS, type RealAgent, realCity, realPath } from './support/real-agents.ts';
import { answerTo, type ScriptedModel, startScriptedModel } from './support/scripted-messages.ts';

const TURN_LIMIT_MS = 60_000;
const START_LIMIT_MS = 100_000;
const AGENT_LIMIT_MS = 240_000;
const WORD = 'heliotrope';
const THREE_LINES = 'first line\nsecond line\nthird line';

const AGENTS = HAS_TMUX ? REAL_AGENTS.filter(({ installed }) => installed) : [];

let world: World;
let model: ScriptedModel;
let city: string;
let env: Readonly<Record<string, string>>;
let api: HttpCityApi;

const gc = (args: readonly string[], input = '') =>
  world.ok(args, { cwd: city, env, input, timeoutMs: 2 * TURN_LIMIT_MS });

const execute = promisify(execFile);
/** What it prints; its error when it does not understand its arguments. */
const runProgram = (program: string, args: readonly string[]): Promise<string> =>
  execute(program, args, { env: { ...world.env, ...env }, cwd: world.root, timeout: 20_000 }).then(
    ({ stdout }) => stdout,
    (error: unknown) => String(error),
  );

const times = (text: string, part: string): number => text.split(part).length - 1;

/** One program through all that a city does with it; what it turned out to be able to do. */
class Trial {
  readonly #agent: RealAgent;
  readonly #name: string;
  readonly #turnsBefore = model.turns.length;
  readonly #resultsBefore = model.toolResults.length;
  #firstCommands: readonly string[] = [];

  constructor(agent: RealAgent) {
    this.#agent = agent;
    this.#name = agent.name;
  }

  get #turns() {
    return model.turns.slice(this.#turnsBefore);
  }

  /** What runs for the one agent that is up. */
  #commands(): readonly string[] {
    return world.processes().flatMap((pid) => readArguments(pid));
  }

  async #wake(): Promise<readonly string[]> {
    await gc(['session', 'wake', this.#name]);
    const seen = new Set<string>();
    const isUp = async () => {
      // Soon it may call itself something else.
      for (const word of this.#commands()) seen.add(word);
      return (await this.#view()).state === 'active';
    };
    await until(`${this.#name} to be up`, isUp, START_LIMIT_MS);
    return [...seen];
  }

  #view() {
    return api.session(this.#name);
  }

  async #say(text: string): Promise<void> {
    const seen = this.#turns.length;
    await gc(['nudge', this.#name, '-', '--wait', '60s'], text);
    await until(`the turn of ${JSON.stringify(text)}`, () => this.#turns.length > seen, TURN_LIMIT_MS);
  }

  async start(): Promise<ProgramAbilities['start']> {
    this.#firstCommands = await this.#wake();
    const first = await until('the first turn', () => this.#turns[0], TURN_LIMIT_MS);
    expect(times(first.whole, WORD), 'the prompt is given once').toBe(1);
    return this.#firstCommands.some((word) => word.startsWith(`[real] ${this.#name} `))
      ? 'argument'
      : 'typed';
  }

  async nudge(): Promise<boolean> {
    const before = this.#turns.length;
    const bodies = ['one line', THREE_LINES];
    for (const body of bodies) await this.#say(body);
    // opencode sets a space behind what is pasted.
    expect(this.#turns.slice(before).map(({ text }) => text.trimEnd())).toEqual(bodies);
    return true;
  }

  /** Whether it asked before it ran a command, which it ran once. */
  async asks(): Promise<boolean> {
    const command = 'echo done >> effect.txt';
    await this.#say(`RUN OUTSIDE: ${command}`);
    const hasResult = () => model.toolResults.length > this.#resultsBefore;
    const question = async () => (await api.questions(this.#name)).items[0];
    const effect = join(city, this.#name, 'effect.txt');
    const asked = await until(
      'a question or a result',
      async () => (await question()) ?? (hasResult() && 'ran'),
      TURN_LIMIT_MS,
    );
    if (asked !== 'ran') {
      expect(asked).toMatchObject({ input: command, source: 'screen' });
      expect(existsSync(effect)).toBe(false);
      await gc(['session', 'respond', asked.id, 'yes']);
    }
    await until('the result', hasResult, TURN_LIMIT_MS);
    expect(readFileSync(effect, 'utf8')).toBe('done\n');
    await until('no question', async () => (await question()) === undefined, TURN_LIMIT_MS);
    return asked !== 'ran';
  }

  async transcript(): Promise<boolean> {
    const logs = await gc(['session', 'logs', this.#name, '--tail', '0']);
    const answers = this.#turns.slice(1, 3).map(({ text }) => answerTo(text));
    for (const said of ['second line', ...answers]) expect(logs).toContain(said);
    return true;
  }

  async tokens(): Promise<boolean> {
    const told = await until(
      'the turn to be over',
      async () => {
        const { conversation } = await this.#view();
        return conversation?.turn === 'idle' && conversation;
      },
      TURN_LIMIT_MS,
    );
    return (told.context_tokens ?? 0) > 0;
  }

  async sleep(): Promise<boolean> {
    const { pid } = await this.#view();
    expect(pid).toBeGreaterThan(1);
    await gc(['session', 'suspend', this.#name]);
    await until(
      'its processes to be gone',
      () => !readProcesses().some((each) => each.pid === pid && each.state !== 'Z'),
      TURN_LIMIT_MS,
    );
    return (await this.#view()).condition === 'suspended';
  }

  async resume(): Promise<ProgramAbilities['resume']> {
    const { session_key: key } = await this.#view();
    this.#agent.rest(world.home);
    await this.#wake();
    await this.#say('what was it?');
    const last = this.#turns.at(-1);
    const remembers = last?.whole.includes('second line') ?? false;
    expect(remembers, 'it remembers what a key goes on with').toBe(key !== '');
    expect((await this.#view()).session_key).toBe(key);
    expect(await gc(['session', 'logs', this.#name, '--tail', '0'])).toContain('second line');
    if (key === '') return 'no';
    return this.#firstCommands.includes(key) ? 'given-key' : 'own-key';
  }

  /** Its account is refused for hours: whether the city sees that, and where. */
  async limits(): Promise<ProgramAbilities['limits']> {
    await this.#say('REFUSE');
    const seen = new RegExp(`account\\.limited +\\S+ +${this.#name} `);
    await until('the limit', async () => seen.test(await gc(['events'])), TURN_LIMIT_MS);
    const { conversation } = await this.#view();
    return conversation?.failure ? 'transcript' : 'screen';
  }
}

async function abilitiesOf(agent: RealAgent): Promise<ProgramAbilities> {
  const trial = new Trial(agent);
  const start = await trial.start();
  const nudge = await trial.nudge();
  const asks = await trial.asks();
  const transcript = await trial.transcript();
  const tokens = await trial.tokens();
  const sleep = await trial.sleep();
  const resume = await trial.resume();
  const limits = await trial.limits();
  await trial.sleep();
  return { start, nudge, asks, transcript, sleep, resume, tokens, limits };
}

describe.runIf(AGENTS.length > 0)('real agent programs in the terminals of a city', () => {
  beforeAll(async () => {
    model = await startScriptedModel();
    world = new World('tmux');
    for (const agent of AGENTS) agent.settle(world.home, model.url);
    const prompts = AGENTS.map(({ name }) => [
      `agents/${name}/prompt.template.md`,
      `You are {{.AgentName}}. The word is ${WORD}.\n`,
    ]);
    city = world.city('real', {
      'city.yaml': realCity('real', AGENTS, model.url, 'on_demand'),
      ...Object.fromEntries(prompts),
    });
    env = realPath(world, AGENTS);
    await world.ok(['--city', city, 'start'], { env, timeoutMs: 60_000 });
    api = new HttpCityApi(apiSocketPath(city, world.env), systemClock);
  });
  afterAll(async () => {
    await world.gc(['--city', city, 'stop'], { env });
    await endHelpers(world);
    await world.dispose();
    await model.close();
  });

  // The others say their version without a look at their options.
  const judges = AGENTS.filter(({ name }) => name === 'claude' || name === 'codex');
  it.each(judges)(
    '$title understands what each option of its preset stands for',
    async ({ name, program }) => {
      for (const { key, choices } of BUILTIN_PRESETS[name]?.optionsSchema ?? []) {
        for (const { value, flagArgs } of choices) {
          const ran = await runProgram(program, [...flagArgs, '--version']);
          expect(ran, `${key} ${value}`).toMatch(/^\D*\d+\.\d+\.\d+/);
        }
      }
    },
  );

  it.each(AGENTS)(
    '$title does what the table of abilities says',
    async (agent) => {
      expect(await abilitiesOf(agent)).toEqual(PROGRAM_ABILITIES[agent.name]);
    },
    AGENT_LIMIT_MS,
  );
});

const missing = REAL_AGENTS.filter((agent) => !AGENTS.includes(agent));
it.skip.each(missing)(`$title (skipped: ${HAS_TMUX ? 'it' : 'tmux'} is not installed)`, () => undefined);
