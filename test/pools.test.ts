import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { until, World } from './support/program.ts';

let world: World;
afterEach(() => world.dispose());

const WORKERS = 20;
const FEWER = 4;
const PIECES = WORKERS + 5;
const LIMIT_MS = 120_000;

interface EventJson {
  readonly seq: number;
  readonly type: string;
  readonly subject?: string;
  readonly message?: string;
  readonly payload?: Readonly<Record<string, unknown>>;
}

interface BeadJson {
  readonly id: string;
  readonly status: string;
  readonly assignee?: string;
  readonly issue_type?: string;
}

/** Takes one piece of work (each another one, where it can), does it until it is let go, says that it is done. */
const WORKER = `#!/bin/sh
n=\${GC_AGENT##*-}
while :; do
  ids=$(gc bd ready --metadata-field gc.routed_to=worker --unassigned --json --limit=0 | grep -o '"id": *"[^"]*"' | cut -d'"' -f4)
  id=$(echo "$ids" | sed -n "\${n}p")
  [ -n "$id" ] || id=$(echo "$ids" | head -n 1)
  [ -n "$id" ] || { gc runtime drain-ack; sleep 3600; }
  gc bd update "$id" --claim >/dev/null 2>&1 && break
  n=1
done
touch "$GC_CITY/taken/$id"
while [ ! -e "$GC_CITY/go" ]; do sleep 0.2; done
gc bd close "$id" >/dev/null
gc runtime drain-ack
sleep 3600
`;

const cityYaml = (max: number) =>
  [
    'workspace: { name: pools }',
    'daemon: { max_wakes_per_tick: 20 }',
    'agents:',
    `  - { name: worker, start_command: "sh $GC_CITY/worker.sh", max_active_sessions: ${max}, prompt_mode: none, work_dir: work }`,
    '',
  ].join('\n');

describe('a pool of the built program', () => {
  it(
    'goes from nothing to twenty and back with the work, and ends nobody who works',
    async () => {
      world = new World('subprocess', { GC_SESSION: 'subprocess' });
      const city = world.city('pools', { 'city.yaml': cityYaml(WORKERS) });
      for (const dir of ['taken', 'work']) mkdirSync(join(city, dir));
      writeFileSync(join(city, 'worker.sh'), WORKER);
      const gc = (...args: readonly string[]) => world.ok(args, { cwd: city });
      const events = async () => JSON.parse(await gc('events', '--json')) as readonly EventJson[];
      const beads = async () => JSON.parse(await gc('bd', 'list', '--all', '--json')) as readonly BeadJson[];
      const taken = () => readdirSync(join(city, 'taken'));

      await gc('start');
      expect((await world.status(city)).sessions).toEqual([]);
      // More work than there may be workers.
      for (let i = 0; i < PIECES; i += 1)
        await gc('bd', 'create', `piece ${i}`, '--metadata', '{"gc.routed_to": "worker"}');
      await until('all have work in their hands', () => taken().length === WORKERS, LIMIT_MS);
      expect((await world.status(city)).sessions).toHaveLength(WORKERS);

      // A lower limit ends nobody who works, and lets nobody new come up above it.
      writeFileSync(join(city, 'city.yaml'), cityYaml(FEWER));
      await gc('supervisor', 'reload');
      const reloadedAt = Math.max(...(await events()).map(({ seq }) => seq));
      const inHands = (await beads()).filter(({ status }) => status === 'in_progress');
      expect(inHands).toHaveLength(WORKERS);
      writeFileSync(join(city, 'go'), '');
      await until(
        'all work is done, and nobody is left',
        async () =>
          (await beads()).every(({ status }) => status === 'closed') &&
          (await world.status(city)).sessions.length === 0,
        LIMIT_MS,
      );
      expect(taken()).toHaveLength(PIECES);
      expectNobodyEndedAtWork(await events(), reloadedAt);
      await gc('stop');
    },
    2 * LIMIT_MS,
  );
});

/** By the events: who came up, who took what, who was ended, in this order. */
function expectNobodyEndedAtWork(events: readonly EventJson[], reloadedAt: number): void {
  const up = new Set<string>();
  const inHands = new Map<string, string>();
  let most = 0;
  let claims = 0;
  for (const { seq, type, subject = '', message = '', payload = {} } of events) {
    expect(type, message).not.toMatch(/crashed|quarantined|idle_killed/);
    if (type === 'session.woke') {
      up.add(subject);
      most = Math.max(most, up.size);
      expect(up.size).toBeLessThanOrEqual(seq > reloadedAt ? FEWER : WORKERS);
    }
    if (type === 'bead.updated' && payload['status'] === 'in_progress') {
      claims += 1;
      inHands.set(subject, String(payload['assignee']));
    }
    if (type === 'bead.closed') inHands.delete(subject);
    if (type === 'session.stopped' || type === 'session.draining') {
      up.delete(subject);
      expect([...inHands.values()], `${type} ${message}`).not.toContain(subject);
    }
  }
  expect({ most, claims }).toEqual({ most: WORKERS, claims: PIECES });
  expect(inHands.size).toBe(0);
}
