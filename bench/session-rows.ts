import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { turnLine } from '../internal/agent/hooks/hook-lines.ts';
import { InboxTable } from '../internal/beads/sqlite/inbox-table.ts';
import { sendControl } from '../internal/controller/control-socket-client.ts';
import { CityHarness, cityYaml } from '../internal/controller/testing/city-harness.ts';
import { newNudge } from '../internal/session/inbox.ts';
import { until, World } from '../test/support/program.ts';
import { median, ms, type Row } from './row.ts';

const WORKERS = 100;
const WORKERS_BAR = 1.5;
const WORKERS_LIMIT_MS = 120_000;
const LOOK_PAUSE_MS = 2_500;
const FEW_NUDGES = 10;
const MANY_NUDGES = 10_000;
const NUDGE_TICKS = 30;
const NUDGES_BAR = 1.3;
/** A pass of this length or shorter says nothing by its ratio. */
const NUDGES_SLACK_MS = 0.5;
const HOOK_RUNS = 200;
const HOOK_BAR_MS = 5;

/** A pool that goes from nothing to a hundred workers, against as many sessions made by hand on the same machine. */
export async function poolRows(): Promise<readonly Row[]> {
  const world = new World('tmux');
  try {
    const raw = rawSessions(world);
    const city = world.city('crowd', {
      'city.yaml': [
        'workspace: { name: crowd }',
        `daemon: { max_wakes_per_tick: ${WORKERS} }`,
        'agents:',
        `  - { name: worker, start_command: "exec sleep 3600", prompt_mode: none, min_active_sessions: 0, max_active_sessions: ${WORKERS}, scale_check: "cat wanted" }`,
        '',
      ].join('\n'),
      wanted: '0\n',
    });
    await world.ok(['--city', city, 'start']);
    // A check that has just run is not run again at once.
    await delay(LOOK_PAUSE_MS);
    const started = Date.now();
    writeFileSync(join(city, 'wanted'), `${WORKERS}\n`);
    await sendControl(city, 'poke', world.env);
    // Asked seldom, and told by the events when it was: a status looks at every screen.
    const woke = await until(
      `${WORKERS} workers`,
      async () => {
        await delay(LOOK_PAUSE_MS);
        const words = ['--city', city, 'events', '--json', '--type', 'session.woke'];
        const events = JSON.parse(await world.ok(words)) as readonly { readonly ts: string }[];
        return events.length >= WORKERS && events.map(({ ts }) => Date.parse(ts));
      },
      WORKERS_LIMIT_MS,
    );
    const took = Math.max(...woke) - started;
    return [
      {
        what: `start of ${WORKERS} pool workers, tmux`,
        bar: `${WORKERS_BAR} x the same sessions made by hand`,
        measured: `${ms(took)} = ${(took / raw).toFixed(2)} x`,
        floor: `${ms(raw)} by hand`,
        met: took <= raw * WORKERS_BAR,
      },
    ];
  } finally {
    await world.dispose();
  }
}

/** One `tmux new-session` after the other, as a script would. */
function rawSessions(world: World): number {
  const tmux = (...args: string[]) =>
    execFileSync('tmux', ['-L', 'by-hand', '-f', '/dev/null', ...args], { env: world.env });
  tmux('new-session', '-d', '-s', 'first', 'sleep 3600');
  const started = performance.now();
  for (let n = 0; n < WORKERS; n += 1) tmux('new-session', '-d', '-s', `w${n}`, 'exec sleep 3600');
  const took = performance.now() - started;
  tmux('kill-server');
  return took;
}

/** What a pass costs while nobody can be given what waits. */
export async function waitingNudgeRows(): Promise<readonly Row[]> {
  const few = await passWith(FEW_NUDGES);
  const many = await passWith(MANY_NUDGES);
  return [
    {
      what: `a pass with ${MANY_NUDGES} waiting nudges`,
      bar: `as with ${FEW_NUDGES}`,
      measured: `${ms(many)} = ${(many / few).toFixed(2)} x`,
      floor: `${ms(few)} with ${FEW_NUDGES}`,
      met: many <= few * NUDGES_BAR + NUDGES_SLACK_MS,
    },
  ];
}

async function passWith(count: number): Promise<number> {
  const city = new CityHarness(cityYaml(['a', 'b']));
  try {
    await city.up();
    await city.running(2);
    await city.settled(city.api.suspend('a'));
    await city.pass(1_000);
    const { db } = city.city;
    const table = new InboxTable(db.connection);
    const [record] = (await city.records()).filter(
      ({ alias, sessionName }) => (alias || sessionName) === 'a',
    );
    const sessionName = record?.sessionName ?? 'a';
    const request = { agent: 'a', sessionName, template: 'a', sender: 'bench', delivery: 'queue' } as const;
    const now = city.now();
    for (let from = 0; from < count; from += 500) {
      await db.transaction(() => {
        for (let n = from; n < Math.min(count, from + 500); n += 1)
          table.insert(newNudge({ ...request, id: `nudge-${n}`, message: `message ${n}` }, now));
      });
    }
    const took: number[] = [];
    for (let tick = 0; tick < NUDGE_TICKS; tick += 1) {
      const started = performance.now();
      await city.runtime.passes.pass();
      took.push(performance.now() - started);
    }
    return median(took);
  } finally {
    await city.end();
  }
}

/** The line that agents run at every turn, with nothing to say. */
export function hookRows(): readonly Row[] {
  const line = turnLine('nudge drain --inject');
  const script = 'i=0; while [ $i -lt "$RUNS" ]; do sh -c "$LINE"; i=$((i+1)); done; times';
  const cost = (run: string): number => {
    const env = {
      PATH: '/usr/bin:/bin',
      LINE: run,
      RUNS: String(HOOK_RUNS),
      GC_CITY_RUNTIME_DIR: '/nonexistent',
    };
    const [, children = ''] = execFileSync('sh', ['-c', script], { env, encoding: 'utf8' })
      .trim()
      .split('\n');
    return (secondsIn(children) * 1_000) / HOOK_RUNS;
  };
  const [bare, own] = [cost(':'), cost(line)];
  return [
    {
      what: 'a hook with nothing to say',
      bar: `${HOOK_BAR_MS} ms of processor time`,
      measured: ms(own),
      floor: `${ms(bare)} for an empty line of sh`,
      met: own < HOOK_BAR_MS,
    },
  ];
}

/** `0m0.120000s 0m0.040000s`: user and system time. */
function secondsIn(text: string): number {
  return [...text.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, m, s]) => sum + Number(m) * 60 + Number(s),
    0,
  );
}
