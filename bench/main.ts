import { HAS_TMUX } from '../test/support/cities.ts';
import { acpRows } from './acp-rows.ts';
import { deathRows, idleRows, memoryRows, spawnRows, startRows } from './city-rows.ts';
import { commandRows } from './command-rows.ts';
import { configRows } from './config-rows.ts';
import { decisionRows } from './decision-rows.ts';
import { execRows } from './exec-rows.ts';
import { hostMemoryRows } from './host-memory.ts';
import { k8sRows } from './k8s-rows.ts';
import { logRows } from './log-rows.ts';
import { nudgeRows } from './nudge-rows.ts';
import { printRows, type Row } from './row.ts';
import { serviceRows } from './service-rows.ts';
import { hookRows, poolRows, waitingNudgeRows } from './session-rows.ts';

/** `npm run bench [part]`: every bar of the cost table, as counts and as ratios against a floor of the same run. */
const PARTS: Readonly<Record<string, () => Promise<readonly Row[]> | readonly Row[]>> = {
  decision: decisionRows,
  log: logRows,
  service: serviceRows,
  commands: commandRows,
  config: configRows,
  exec: execRows,
  ...(HAS_TMUX
    ? {
        spawns: spawnRows,
        'idle-tmux': () => idleRows('tmux'),
        'idle-100-tmux': () => idleRows('tmux', 100),
        pool: poolRows,
        'start-tmux': () => startRows('tmux'),
        'death-tmux': () => deathRows('tmux'),
        'nudge-tmux': () => nudgeRows('tmux'),
      }
    : {}),
  waiting: waitingNudgeRows,
  hook: hookRows,
  idle: () => idleRows('subprocess'),
  'idle-100': () => idleRows('subprocess', 100),
  start: () => startRows('subprocess'),
  death: () => deathRows('subprocess'),
  nudge: () => nudgeRows('subprocess'),
  memory: memoryRows,
  host: hostMemoryRows,
  k8s: k8sRows,
  acp: acpRows,
};

const wanted = process.argv.slice(2);
const rows: Row[] = [];
for (const [name, run] of Object.entries(PARTS)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  console.error(`measuring ${name} ...`);
  rows.push(...(await run()));
}
if (rows.length === 0) {
  console.error(`no such part; parts: ${Object.keys(PARTS).join(', ')}`);
  process.exit(1);
}
printRows(rows);
