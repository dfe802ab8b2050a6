import { existsSync, readdirSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../internal/platform/clock.ts';
import { openDatabase } from '../../../internal/platform/sqlite.ts';
import { cityFact } from '../../../internal/protocol/events.ts';
import { BlobStore, blobFolderOf } from '../../../internal/session/log/blobs/blob-store.ts';
import { rebuild } from '../../../internal/session/log/rebuild.ts';
import { AGENTSESSIONS_MIGRATIONS } from '../../../internal/session/log/sqlite/agentsessions-schema.ts';
import { runProgram } from '../program.ts';
import { testContext } from '../testing/fake-city.ts';
import {
  AT,
  at,
  echoHost,
  failed,
  MAYOR,
  makeMayor,
  makeRecord,
  printed,
  run,
  TURN,
  useLogCity,
  WORKER,
  withStore,
} from '../testing/log-city.ts';

useLogCity();

describe('which log is meant', () => {
  it('is found by name and id of a session, by uid, by a unique beginning of it, and by its own name', async () => {
    await makeMayor();
    const id = await makeRecord('mayor', MAYOR);
    await printed(`log rename ${MAYOR} the first`);
    const whole = await printed(`log replay ${MAYOR}`);
    for (const name of ['mayor', id, 'sess-aaaa']) expect(await printed(`log replay ${name}`)).toBe(whole);
    expect(await printed(['log', 'replay', 'the first'])).toBe(whole);
    expect(
      await printed(['log', 'replay', 'mayor', '--journal', at.file, '--city', at.root]).catch(() => 'no'),
    ).toBe('no');
  });

  it('is said when there is none, or more than one', async () => {
    await makeMayor();
    await makeRecord('young', 'sess-bbbb00000000000000000001');
    await withStore((store) => store.create({ uid: WORKER, project: 'town' }));
    expect(await failed('log show mayr')).toMatch(
      /^gc log show: session not found: "mayr".*\n {2}next: gc session list\n$/,
    );
    expect(await failed('log show sess-cc')).toContain(
      'no session "sess-cc" in this store\n  next: gc log list\n',
    );
    expect(await failed('log show young')).toContain('has no log in');
    expect(await failed('log show sess-aaaa')).toContain(`${WORKER}, ${MAYOR}`);
  });

  it('is clear when the file is not there, and none is made', async () => {
    expect(await failed('log list')).toContain('has a log yet');
    expect(await failed('log list --journal nothing.db')).toContain(`no file ${join(at.root, 'nothing.db')}`);
    expect(await failed('log list --journal .gc')).toContain('is not a folder of session logs');
    expect(await failed('log list --journal logs/')).toContain(`no folder ${join(at.root, 'logs')}`);
    expect(readdirSync(join(at.root, '.gc'))).toEqual([]);
    openDatabase(join(at.root, 'other.db'), { migrations: ['CREATE TABLE mine (x)'] }).close();
    expect(await failed('log list --journal other.db')).toContain('is not a file of session logs');
    const other = openDatabase(join(at.root, 'other.db'), { readonly: true, migrations: [] });
    expect(other.prepare('SELECT name FROM sqlite_master').pluck().all()).toEqual(['mine']);
    other.close();
    writeFileSync(join(at.root, 'text.db'), 'this is no database '.repeat(100));
    expect(await failed('log list --journal text.db')).toContain('is not a file of session logs: file is');
  });
});

describe('gc log list', () => {
  it('is plain and stable in a pipe, and data as JSON', async () => {
    await makeMayor();
    expect(await printed('log list')).toBe(
      'SESSION                        NAME  PROJECT  HARNESS  STATE  RECORDS  TURNS  SIZE   STARTED               ACTIVE                TITLE\n' +
        `${MAYOR}  -     town     claude   live   10       1      420 B  ${AT}  ${AT}  What is the state?\n`,
    );
    expect(JSON.parse(await printed('log list --json'))).toMatchObject([
      { uid: MAYOR, title: 'What is the state?', records: 10, turns: 1, partial: false, started_at: AT },
    ]);
    expect(await printed('log list --project other')).toBe('No session logs.\n');
    expect(await printed(`log list --json --journal ${at.file}`)).toBe(await printed('log list --json'));
  });

  it('shows short unique uids and ages at a terminal, and deleted logs when asked', async () => {
    await makeMayor();
    await withStore(async (store) => {
      await store.create({ uid: WORKER, project: 'town' });
      await store.markDeleted(WORKER);
    });
    const { out } = await run('log list', { isTTY: true });
    expect(out).toContain(`${MAYOR}  -`);
    expect(out).toMatch(/ 420 B +\d+d +What/);
    expect(out).not.toContain(WORKER);
    expect(await printed('log list --all')).toContain('deleted');
  });
});

describe('gc log show', () => {
  it('prints a conversation with what the city noted, and nothing that a terminal would act on', async () => {
    await makeMayor();
    expect(await printed(`log show ${MAYOR}`)).toBe(`What is the state?
${MAYOR} · project town · harness claude
started ${AT}, last active ${AT}, 10 records, 1 turn

  -- ${AT} started: wanted: always

> What is the state?
> In short.

I look.

  · Bash git status
  ✗ Bash make: failed: exit 2

Nearly done.
`);
  });

  it('works on a log that ends in the middle', async () => {
    await makeMayor();
    const shown = await printed(`log show ${MAYOR} --from 3 --to 5`);
    expect(shown.split('\n\n').slice(1).join('\n\n')).toBe(
      '> What is the state?\n> In short.\n\nI look.\n\n  … Bash git status: no result\n',
    );
    expect(await failed(`log show ${MAYOR} --from 5 --to 3`)).toContain('--to 3 is before --from 5');
  });

  it('prints one line per record, and the records themselves', async () => {
    await makeMayor();
    expect(await printed(`log show ${MAYOR} --records --to 4`)).toBe(
      `     1  ${AT}  LIFECYCLE         started wanted: always\n` +
        `     2  ${AT}  EXECUTION_START   harness claude 2, inputs 1\n` +
        `     3  ${AT}  INPUT             user: What is the state? In short.\n` +
        `     4  ${AT}  OUTPUT            assistant: I look.\n`,
    );
    const lines = (await printed(`log show ${MAYOR} --json`)).trimEnd().split('\n');
    expect(lines).toHaveLength(10);
    expect(JSON.parse(lines[2] ?? '')).toMatchObject({ seq: '3', event: { kind: 'EVENT_INPUT' } });
    expect(await printed(`log replay ${MAYOR}`)).toBe(`${lines.join('\n')}\n`);
    expect(await printed(`log replay ${MAYOR} --from 3 --to 3`)).toBe(`${lines[2]}\n`);
    expect(await printed(`log replay ${MAYOR} --from 11`)).toBe('');
  });

  it('EVT-06 ends by itself while another process holds the file', async () => {
    await makeMayor();
    const holder = openDatabase(at.file, { migrations: AGENTSESSIONS_MIGRATIONS });
    holder.exec('BEGIN IMMEDIATE');
    try {
      expect(await printed(`log show ${MAYOR}`)).toContain('I look.');
    } finally {
      holder.close();
    }
  });

  it.each(['log list', 'log list --journal .gc/sessions.db'])(
    'EVT-06 is kept out of the file for good: `gc %s` says what it waited for, and ends',
    async (words) => {
      await makeMayor();
      const holder = openDatabase(at.file, { migrations: AGENTSESSIONS_MIGRATIONS });
      holder.pragma('locking_mode = EXCLUSIVE');
      holder.exec('BEGIN IMMEDIATE; UPDATE sessions SET fence = fence; COMMIT');
      try {
        expect(await failed(words)).toMatch(
          /^gc log list: \S+sessions\.db is kept locked by another process\n {2}next: try again/,
        );
      } finally {
        holder.close();
      }
    },
  );
});

describe('gc log follow', () => {
  it('prints what comes, from another process too, until it is ended', async () => {
    await makeMayor();
    const following = run(`log follow ${MAYOR} --from 10 --json`, { readerLeavesAfter: 2 });
    const told = run(`log follow ${MAYOR}`, { readerLeavesAfter: 1 });
    await withStore((store) =>
      store.append(MAYOR, [cityFact({ kind: 'woken', reason: 'a person', at: AT })]),
    );
    const seqs = [...(await following).out.matchAll(/"seq":"(\d+)"/g)].map(([, seq]) => seq);
    expect(seqs).toEqual(['10', '11']);
    const again = run(`log follow ${MAYOR} --from 11`, { readerLeavesAfter: 1 });
    expect((await again).out).toBe(`  -- ${AT} woken: a person\n`);
    await withStore((store) => store.append(MAYOR, [cityFact({ kind: 'suspended', reason: 'rest' })]));
    expect((await told).out).toMatch(/^ {2}-- .*(woken: a person|suspended: rest)\n$/);
  });

  it('EVT-04 does not wait for ever when the logs were taken away: it says so and ends', async () => {
    await makeMayor();
    const { base, printed: shown } = testContext({
      cwd: at.root,
      env: { HOME: at.base, GC_HOME: join(at.base, '.gc') },
    });
    const following = runProgram(['log', 'follow', MAYOR, '--from', '10', '--json'], base);
    await vi.waitUntil(() => shown().out !== '', { interval: 5, timeout: 5_000 });
    renameSync(at.file, `${at.file}.away`);
    expect(await following).toBe(1);
    expect(shown().err).toContain(`${at.file} was removed or replaced while it was followed`);
  });

  it('ends at Ctrl-C, which is no error', async () => {
    await makeMayor();
    const end = new AbortController();
    const following = run(`log follow ${MAYOR}`, { signal: end.signal });
    end.abort();
    expect(await following).toEqual({ code: 0, out: '', err: '' });
  });
});

describe('gc log rename', () => {
  it('gives a name, notes it, and gives the title back', async () => {
    await makeMayor();
    expect(await printed(['log', 'rename', MAYOR, 'The', 'parser'])).toBe(`${MAYOR} is now "The parser"\n`);
    expect(await printed('log list')).toContain('The parser');
    expect(await printed(`log show ${MAYOR} --from 11`)).toMatch(/ -- \S+ renamed: The parser, by human\n$/);
    expect(await printed(`log rename ${MAYOR}`)).toContain('its title is shown again');
    expect(await failed(['log', 'rename', MAYOR, 'x'.repeat(121)])).toContain('at most 120');
  });
});

describe('gc session fork and gc log continue', () => {
  it('makes children that share the beginning, one name each, and leaves the parent as it is', async () => {
    await makeMayor();
    const before = await printed(`log replay ${MAYOR}`);
    const out = await printed(`session fork ${MAYOR} --at 4 --name left,right`);
    const lines = [...out.matchAll(/^child (sess-[0-9a-f]{24}) parent=(\S+) fork_seq=4 name=(\w+)$/gm)];
    expect(lines.map(([, , parent, name]) => [parent, name])).toEqual([
      [MAYOR, 'left'],
      [MAYOR, 'right'],
    ]);
    const child = lines[0]?.[1] ?? '';
    expect((await printed(`log show ${child} --records`)).split('\n').at(-2)).toMatch(
      /LIFECYCLE +forked sess-\w+@4$/,
    );
    const hashes = (text: string) =>
      [...text.matchAll(/"content_hash":"(\w+)"/g)].map(([, hash]) => hash).slice(0, 4);
    expect(hashes(await printed(`log replay ${child}`))).toEqual(hashes(before));
    expect(await printed(`log replay ${MAYOR}`)).toBe(before);
    await printed('log verify --all');
    expect(await printed(`session fork ${MAYOR}`)).toMatch(/fork_seq=10 name=\n$/);
  });

  it('DUR-08 what a fork inherits keeps its identity and time', async () => {
    await makeMayor();
    const out = await printed(`session fork ${MAYOR} --at 4`);
    const child = /child (\S+)/.exec(out)?.[1] ?? '';
    const records = (uid: string) => printed(`log show ${uid} --records --to 4`);
    expect(await records(child)).toBe(await records(MAYOR));
  });

  it('of a city session neither has its agent: whoever serves them runs them', async () => {
    await withStore(async (store) => {
      await store.create({ uid: MAYOR, project: 'town', harness: 'gascity', origin: '{"source":"gascity"}' });
      await store.append(MAYOR, TURN);
    });
    const [forked] = JSON.parse(await printed(`session fork ${MAYOR} --json`));
    const continued = JSON.parse(await printed(`log continue ${MAYOR} --json`));
    expect([forked.harness, continued.harness]).toEqual(['', '']);
    await withStore(async (store) => {
      const say = await echoHost(store);
      for (const { uid } of [forked, continued]) expect(await say.to(uid, 'hi')).toBe(uid);
    });
  });

  it('refuses what cannot be, and makes nothing', async () => {
    await makeMayor();
    expect(await failed(`session fork ${MAYOR} --at 11`)).toContain('ends at record 10, before 11');
    expect(await failed(`session fork ${MAYOR} --count 129`)).toContain('at most 128');
    expect(await failed(`session fork ${MAYOR} --count 3 --name a,b`)).toContain('2 names for 3 children');
    expect(await failed(`log continue ${MAYOR} --at 11`)).toContain('ends at record 10, before 11');
    await withStore((store) => store.markDeleted(MAYOR));
    expect(await failed(`session fork ${MAYOR}`)).toContain('was deleted');
    expect(await failed(`log continue ${MAYOR}`)).toContain('was deleted');
    expect(JSON.parse(await printed('log list --all --json'))).toHaveLength(1);
  });

  it('continues a conversation in a new session that copies nothing', async () => {
    await makeMayor();
    const out = await printed(['log', 'continue', MAYOR, '--name', 'day two']);
    expect(out).toMatch(new RegExp(`^sess-[0-9a-f]{24} continues ${MAYOR} after record 10\\n$`));
    const uid = out.split(' ')[0] ?? '';
    expect(await printed(`log show ${uid}`)).toContain(
      `  -- continued: ${MAYOR} up to record 10 (turns: 1)\n`,
    );
    expect(await printed('log list')).toMatch(/day two +town +claude .*What is the state\?\n/);
    await withStore(async (store) => expect(await rebuild(store, uid)).toEqual(await rebuild(store, MAYOR)));
  });
});

describe('gc log prune', () => {
  it('removes what rested long, never the log of an open session, and says first what would go', async () => {
    await makeMayor();
    await makeRecord('mayor', MAYOR);
    await withStore((store) => store.append(WORKER, TURN));
    const blobs = new BlobStore(blobFolderOf(at.file), systemClock);
    const blob = blobs.pathOf((await blobs.put(Buffer.from('x'))).digest.slice(7));
    utimesSync(blob, 0, 0);
    expect(await printed('log prune')).toBe('removed 0 logs and 1 blob (1 B) that no log names; 2 left\n');
    expect(existsSync(blob)).toBe(false);
    expect(await printed('log prune --keep 0 --dry-run')).toBe(
      `${WORKER}  9 records, last active ${AT}\nwould remove 1 log; 1 left\n`,
    );
    const json = JSON.parse(await printed('log prune --keep 0 --older-than 1d --json'));
    expect(json).toMatchObject({ dry_run: false, removed: [{ uid: WORKER, records: 9 }], kept: 1 });
    expect(JSON.parse(await printed('log list --json'))).toMatchObject([{ uid: MAYOR }]);
  });

  it('takes sizes, and says which it does not understand', async () => {
    await withStore(async (store) => {
      for (const uid of [MAYOR, WORKER]) await store.append(uid, TURN);
    });
    expect(await failed('log prune --max-bytes much')).toContain('a size such as 512MiB');
    expect(await printed('log prune --older-than 0s --keep 0 --max-bytes 1.5k')).toContain('removed 0 logs');
    expect(await printed('log prune --older-than 0s --keep 0 --max-bytes 400')).toMatch(
      /removed 1 log; 1 left/,
    );
    expect(await printed('log prune --older-than 0s --keep 0 --max-bytes 0')).toMatch(
      /removed 0 logs; 1 left/,
    );
  });
});
