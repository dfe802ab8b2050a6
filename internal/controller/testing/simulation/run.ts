import { Agents } from './agents.ts';
import { calmDown } from './calm.ts';
import type { Cast } from './cast.ts';
import { Dice } from './dice.ts';
import { Oracle } from './oracle.ts';
import { People } from './people.ts';
import { settled } from './sim-clock.ts';
import { ACTS } from './steps.ts';
import { type Seams, World } from './world.ts';

export interface RunOptions {
  readonly seed: string;
  /** Of this process alone; its city is made anew for each run. */
  readonly dir: string;
  readonly steps?: number;
  /** Steps that are left out. */
  readonly without?: ReadonlySet<number>;
  readonly seams?: Seams;
}

export interface RunReport {
  readonly seed: string;
  readonly steps: number;
  /** The first step after which something was wrong; `undefined`: nothing was, or at the end. */
  readonly failedAt: number | undefined;
  readonly violations: readonly string[];
  readonly story: readonly string[];
}

const MIN_STEPS = 14;
const MAX_STEPS = 40;
const PAUSES_MS = [0, 50, 500, 2_000, 8_000];

/** Every promise that nobody holds is somebody's mistake. */
const unhandled: unknown[] = [];
let listens = false;

/** One story from one seed: the same one each time. It ends at the first step at which something is wrong. */
export async function simulate(options: RunOptions): Promise<RunReport> {
  if (!listens) process.on('unhandledRejection', (reason) => unhandled.push(reason));
  listens = true;
  const { seed, dir, without = new Set() } = options;
  const world = new World(seed, dir, options.seams);
  const people = new People(world);
  const cast: Cast = { world, people, agents: new Agents(world, people) };
  const oracle = new Oracle(world);
  world.witness = oracle;
  const steps = options.steps ?? new Dice(`${seed}:steps`).int(MIN_STEPS, MAX_STEPS);
  let failedAt: number | undefined;
  try {
    await world.up();
    for (let step = 0; step < steps && failedAt === undefined; step += 1) {
      if (!without.has(step)) await take(cast, step);
      oracle.look();
      noteUnhandled(world);
      if (world.violations.length > 0) failedAt = step;
    }
    if (failedAt === undefined) await calmDown(cast);
    await world.sweep();
    noteUnhandled(world);
  } catch (error) {
    world.violates(`the run broke: ${error instanceof Error ? error.stack : String(error)}`);
  } finally {
    await world.end();
    await settled();
  }
  const { violations, story } = world;
  return { seed, steps, failedAt, violations, story };
}

/** Each step has chances of its own, so that leaving one out changes as little as can be of the others. */
async function take(cast: Cast, step: number): Promise<void> {
  const { world } = cast;
  const dice = new Dice(`${world.seed}:${step}`);
  world.weather.dice = new Dice(`${world.seed}:${step}:weather`);
  const name = dice.weighted(Object.entries(ACTS).map(([what, [weight]]) => [weight, what] as const));
  world.note(`-- ${step} ${name}`);
  if (!world.controller && dice.chance(0.8)) await world.up();
  await ACTS[name]?.[1](cast, dice);
  await world.clock.pass(dice.pick(PAUSES_MS));
  await world.sweep();
}

function noteUnhandled(world: World): void {
  for (const reason of unhandled.splice(0))
    world.violates(`nobody held: ${reason instanceof Error ? reason.stack : String(reason)}`);
}
