import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findOnPath } from '../internal/platform/executable.ts';
import { until, World } from './support/program.ts';

/** An agent as a shell script: it takes what `bd` gives it, notes what it saw, and stays. */
const WORKER = `#!/bin/sh
set -u
while :; do
  id=$(bd ready --assignee="$GC_SESSION_NAME" --json --limit=1 | sed -n 's/.*"id": "\\(gc-[0-9]*\\)".*/\\1/p')
  [ -n "$id" ] || id=$(bd ready --unassigned --metadata-field gc.routed_to="$GC_TEMPLATE" | awk '{ print $2; exit }')
  if [ -n "$id" ] && bd update "$id" --claim --quiet; then
    bd close "$id" --reason "by $GC_SESSION_NAME" --quiet
    echo "$id $GC_BEADS" >> "$GC_CITY/done-$GC_SESSION_NAME"
  fi
  sleep 0.2
done
`;

const CITY = `
workspace: { name: filed }
daemon: { patrol_interval: 30s }
agents:
  - { name: worker, start_command: "sh worker.sh", prompt_mode: none, max_active_sessions: 2 }
  - { name: clerk, start_command: "sh worker.sh", prompt_mode: none }
  - { name: lead, start_command: "sleep 3600", prompt_mode: none }
named_sessions:
  - { template: clerk, mode: on_demand }
  - { template: lead, mode: always }
`;

/** As Gas City's own programs write: under the lock, in place. */
const OUTSIDER = `
const fs = require('fs');
const [, file] = process.argv;
const data = JSON.parse(fs.readFileSync(file, 'utf8'));
data.seq += 1;
data.beads.push({ id: 'gc-' + data.seq, title: 'from outside', status: 'open', issue_type: 'task',
  created_at: new Date().toISOString(), assignee: 'clerk', theirs: true });
fs.writeFileSync(file, JSON.stringify(data));
process.stdout.write('gc-' + data.seq);
`;

interface FileBead {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly issue_type: string;
  readonly assignee?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

const FLOCK = findOnPath(process.env['PATH'] ?? '', 'flock');
const LACKING = FLOCK ? '' : ' (flock is not installed)';

let world: World;
let city: string;
const gc = (...args: readonly string[]) => world.ok(args, { cwd: city });
const beads = (): readonly FileBead[] =>
  (JSON.parse(readFileSync(join(city, '.gc', 'beads.json'), 'utf8')) as { beads: FileBead[] }).beads;
const bead = (id: string) => beads().find((each) => each.id === id);
const idIn = (text: string) => /gc-\d+/.exec(text)?.[0] ?? '';

beforeAll(async () => {
  world = new World('subprocess', { GC_SESSION: 'subprocess', GC_BEADS: 'file' });
  city = join(world.root, 'cities', 'filed');
  await world.ok(['init', city]);
  writeFileSync(join(city, 'city.yaml'), CITY);
  writeFileSync(join(city, 'worker.sh'), WORKER);
});
afterAll(() => world.dispose());

describe('a city whose work is in the bead file', () => {
  it('has the file from the beginning, and no other database of work', async () => {
    expect(JSON.parse(readFileSync(join(city, '.gc', 'beads.json'), 'utf8'))).toEqual({ seq: 0, beads: [] });
    expect(existsSync(join(city, '.beads'))).toBe(false);
    // Commands without the variable find the same work.
    expect(await world.ok(['bd', 'create', 'first'], { cwd: city, env: { GC_BEADS: '' } })).toBe(
      'Created bead: gc-1\n',
    );
    expect(await gc('bd', 'ready')).toContain('gc-1');
    expect(await gc('bd', 'close', 'gc-1')).toBe('Closed bead: gc-1\n');
    const refused = await world.gc(['bd', 'mol', 'burn'], { cwd: city });
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('"mol" is not among the words'),
    ]);
  });

  it('shows its sessions among the beads once it runs, under ids that no work has', async () => {
    await gc('start');
    const found = await until('a copy of the session', () =>
      beads().find(({ issue_type, metadata }) => issue_type === 'session' && metadata?.['alias'] === 'lead'),
    );
    expect(found.id).toMatch(/^gc-s\d+$/);
    await until('its state', () => ['active', 'awake'].includes(bead(found.id)?.metadata?.['state'] ?? ''));
    expect(readFileSync(join(city, '.gc', 'beads.json'), 'utf8')).not.toContain('instance_token');
  });

  it('starts a pool for work of the file, which an agent takes by bd', async () => {
    const ids = [
      await gc('sling', 'worker', 'Paint the fence'),
      await gc('sling', 'worker', 'Dig a hole'),
    ].map(idIn);
    await until('both are done', () => ids.every((id) => bead(id)?.status === 'closed'));
    const took = bead(ids[0] ?? '');
    expect(took?.metadata).toMatchObject({ 'gc.routed_to': 'worker', close_reason: `by ${took?.assignee}` });
    expect(readFileSync(join(city, `done-${took?.assignee}`), 'utf8')).toContain(`${took?.id} file\n`);
    const closed = await gc('events', '--type', 'bead.closed');
    for (const id of ids) expect(closed).toContain(id);
  });

  it.skipIf(!FLOCK)(`wakes an on-demand session for what another program writes${LACKING}`, async () => {
    const file = join(city, '.gc', 'beads.json');
    const { stdout: id } = await promisify(execFile)(
      FLOCK ?? '',
      [`${file}.lock`, process.execPath, '-e', OUTSIDER, file],
      { env: { PATH: process.env['PATH'] } },
    );
    // Long before the next patrol: the change itself was noticed.
    await until('it is done', () => bead(id)?.status === 'closed', 15_000);
    expect(bead(id)).toMatchObject({ theirs: true, metadata: { close_reason: 'by clerk' } });
  });

  it('sends mail through the file', async () => {
    const id = idIn(await gc('mail', 'send', 'lead', 'The fence is painted'));
    expect(bead(id)).toMatchObject({ issue_type: 'message', assignee: 'lead' });
    expect(await gc('mail', 'inbox', 'lead')).toContain(id);
    expect(await gc('mail', 'read', id)).toContain('The fence is painted');
    expect((await world.gc(['mail', 'check', 'lead'], { cwd: city })).code).toBe(1);
    expect(await gc('mail', 'archive', id)).toBe(`Archived message ${id}\n`);
    expect(await gc('events', '--type', 'mail.sent')).toContain(id);
  });

  it('takes its copies back with the sessions, and leaves the work', async () => {
    await gc('stop');
    const states = beads().filter(({ issue_type }) => issue_type === 'session');
    expect(states.filter(({ metadata }) => ['active', 'awake'].includes(metadata?.['state'] ?? ''))).toEqual(
      [],
    );
    expect(beads().filter(({ issue_type }) => issue_type === 'task').length).toBe(FLOCK ? 4 : 3);
  });
});
