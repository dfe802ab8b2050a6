import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../internal/platform/clock.ts';
import { openDatabase } from '../../../internal/platform/sqlite.ts';
import { toolResult } from '../../../internal/protocol/events.ts';
import { ToolResultSchema } from '../../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import { create } from '../../../internal/protocol/protobuf.ts';
import { BlobStore, blobFolderOf } from '../../../internal/session/log/blobs/blob-store.ts';
import { externalizeEvent } from '../../../internal/session/log/blobs/externalize.ts';
import { AGENTSESSIONS_MIGRATIONS } from '../../../internal/session/log/sqlite/agentsessions-schema.ts';
import {
  at,
  echoHost,
  failed,
  MAYOR,
  makeMayor,
  printed,
  run,
  TURN,
  useLogCity,
  WORKER,
  withStore,
} from '../testing/log-city.ts';

useLogCity();

describe('gc log verify', () => {
  it('says what is sound and where a log is damaged, with exit code 1', async () => {
    await makeMayor();
    await withStore((store) => store.append(WORKER, TURN));
    expect(await printed(`log verify ${MAYOR}`)).toMatch(
      new RegExp(`^${MAYOR}  ok  10 records  [0-9a-f]{64}\\n$`),
    );
    const db = openDatabase(at.file, { migrations: AGENTSESSIONS_MIGRATIONS });
    db.prepare(
      'UPDATE events SET event = (SELECT event FROM events WHERE session = ? AND seq = 2) WHERE session = ? AND seq = 5',
    ).run(WORKER, WORKER);
    db.close();
    const all = await run('log verify --all');
    expect([all.code, all.err]).toEqual([1, '']);
    expect(all.out).toMatch(new RegExp(`${WORKER}  damaged  at record 5: .*\\n`));
    expect(all.out).toContain('1 sound, 1 damaged\n');
    const json = await run(`log verify ${WORKER} --json`);
    expect([json.code, JSON.parse(json.out)]).toMatchObject([1, [{ uid: WORKER, ok: false, damaged_at: 5 }]]);
    expect(await failed('log verify')).toContain('missing session');
    expect(await failed(`log verify ${MAYOR} --all`)).toContain('not both');
  });

  it('finds an event that reads the same and is stored in other bytes', async () => {
    await makeMayor();
    const db = openDatabase(at.file, { migrations: AGENTSESSIONS_MIGRATIONS });
    // A field that no version knows: no hash covers it.
    const unknownField = Buffer.from([0xf8, 0x7f, 0x01]);
    const row = db.prepare('SELECT event FROM events WHERE session = ? AND seq = 4').pluck().get(MAYOR);
    db.prepare('UPDATE events SET event = ? WHERE session = ? AND seq = 4').run(
      Buffer.concat([Buffer.from(row as Uint8Array), unknownField]),
      MAYOR,
    );
    db.close();
    const { code, out } = await run(`log verify ${MAYOR}`);
    expect([code, out]).toEqual([1, `${MAYOR}  damaged  at record 4: its event is not in canonical form\n`]);
  });

  it('EVT-01 checks exports, folders of them and databases by their path, without a city', async () => {
    await makeMayor();
    await withStore((store) => store.append(WORKER, TURN));
    const elsewhere = join(at.base, 'elsewhere');
    mkdirSync(elsewhere);
    for (const [uid, name] of [
      [MAYOR, 'mayor'],
      [WORKER, 'worker'],
    ] as const) {
      await printed(`log export ${uid} -o ${join(elsewhere, `${name}.jsonl`)}`);
    }
    const there = (words: string) => run(words, { cwd: elsewhere });
    const [line] = (await printed(`log verify ${MAYOR}`)).split('\n');
    expect(await there('log verify mayor.jsonl')).toEqual({
      code: 0,
      out: `${line?.replace(MAYOR, 'mayor')}\n`,
      err: '',
    });
    expect((await there(`log verify ${at.file}`)).out).toMatch(/ok .*\n.* ok .*\n2 sound, 0 damaged\n$/);
    const path = join(elsewhere, 'worker.jsonl');
    writeFileSync(path, readFileSync(path, 'utf8').replace('git status', 'git stAtus'));
    const folder = await there('log verify .');
    expect([folder.code, folder.out]).toEqual([
      1,
      expect.stringMatching(
        /^mayor {2}ok .*\nworker {2}damaged {2}at record 4: its content does not match its hash\n1 sound, 1 damaged\n$/,
      ),
    ]);
    const json = await there('log verify ./worker.jsonl --json');
    expect([json.code, JSON.parse(json.out)]).toMatchObject([1, [{ uid: 'worker', damaged_at: 4 }]]);
    expect((await there('log verify none.jsonl')).err).toContain(
      `there is no ${join(elsewhere, 'none.jsonl')}`,
    );
    mkdirSync(join(elsewhere, 'empty'));
    expect((await there('log verify empty/')).err).toContain('no .jsonl file is in');
    expect((await there(`log verify mayor.jsonl --journal ${at.file}`)).err).toContain('not both');
  });

  it('misses a blob that a sound log names', async () => {
    const blobs = new BlobStore(blobFolderOf(at.file), systemClock);
    const content = [{ part: { case: 'text' as const, value: { text: 'x'.repeat(100_000) } } }];
    const large = await externalizeEvent(
      toolResult('e1', create(ToolResultSchema, { id: 'a', content })),
      blobs,
    );
    await withStore((store) => store.append(MAYOR, [large]));
    await printed(`log verify ${MAYOR}`);
    const [, uri = ''] = /"output_uri":"([^"]+)"/.exec(await printed(`log show ${MAYOR} --json`)) ?? [];
    const whole = JSON.stringify({ content: [{ text: { text: 'x'.repeat(100_000) } }] });
    for (const name of [uri, uri.slice(5), uri.slice(-64)])
      expect(await printed(`log blob ${name}`)).toBe(whole);
    expect((await run(`log blob ${uri}`, { isTTY: true })).out).toBe(`${whole}\n`);
    expect(await failed('log blob sha256:12')).toContain('is not the name of a blob');
    expect(await failed(`log blob ${'0'.repeat(64)}`)).toContain('is not at');
    rmSync(blobFolderOf(at.file), { recursive: true });
    const { code, out } = await run(`log verify ${MAYOR}`);
    expect([code, out]).toEqual([1, expect.stringMatching(/damaged {2}record 1: blob:sha256:\w+ is not at/)]);
  });
});

describe('gc log export', () => {
  it('writes the records whole, for their owner only, and replaces nothing unasked', async () => {
    await makeMayor();
    const lines = await printed(`log replay ${MAYOR}`);
    expect(await printed(`log export ${MAYOR}`)).toBe(lines);
    const path = join(at.root, 'mayor.jsonl');
    expect(await printed(`log export ${MAYOR} -o mayor.jsonl`)).toBe(`10 records of ${MAYOR} in ${path}\n`);
    expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual([lines, 0o600]);
    writeFileSync(path, 'mine');
    expect(await failed(`log export ${MAYOR} -o mayor.jsonl`)).toContain('is there already');
    expect(readFileSync(path, 'utf8')).toBe('mine');
    await printed(`log export ${MAYOR} -o mayor.jsonl --force`);
    expect(readFileSync(path, 'utf8')).toBe(lines);
    expect(await failed(`log export ${MAYOR} -o no/such.jsonl`)).toContain(
      `no folder ${join(at.root, 'no')}`,
    );
    expect(readdirSync(at.root).sort()).toEqual(['.gc', 'city.yaml', 'mayor.jsonl']);
  });
});

describe('gc log show --conversation', () => {
  it('prints what a model would be told, as text and as messages', async () => {
    await makeMayor();
    expect(await printed(`log show ${MAYOR} --conversation`)).toBe(`user:
What is the state?
In short.

assistant:
I look.
[call a Bash {"command":"git status"}]
[call b Bash {"command":"make"}]

tool:
[result a ok]
[result b failed]
exit 2

assistant:
Nearly done.
`);
    const lines = (await printed(`log show ${MAYOR} --conversation --json`)).trimEnd().split('\n');
    expect(lines.map((each) => JSON.parse(each).role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(lines[0]).toBe('{"parts":[{"text":{"text":"What is the state?\\nIn short."}}],"role":"user"}');
    expect(await printed(`log show ${MAYOR} --conversation --to 4`)).toBe(
      'user:\nWhat is the state?\nIn short.\n\nassistant:\nI look.\n',
    );
    const [uid = ''] = (await printed(`log continue ${MAYOR} --at 4`)).split(' ');
    expect(await printed(`log show ${uid} --conversation`)).toBe(
      await printed(`log show ${MAYOR} --conversation --to 4`),
    );
    expect(await failed(`log show ${MAYOR} --conversation --records`)).toContain('it takes no --records');
  });
});

describe('--journal with a folder of JSON lines', () => {
  it('works as a file does: list, show, verify, export, fork, continue, rename, prune', async () => {
    await makeMayor();
    const folder = join(at.base, 'logs');
    mkdirSync(folder, { mode: 0o700 });
    await printed(`log export ${MAYOR} -o ${join(folder, `${MAYOR}.jsonl`)}`);
    const there = (line: string) => printed(`${line} --journal ${folder}`);
    expect(await there('log list')).toContain('What is the state?');
    for (const line of [`log replay ${MAYOR}`, `log verify ${MAYOR}`, `log export ${MAYOR}`])
      expect(await there(line)).toBe(await printed(line));
    expect(await there(`log show ${MAYOR} --conversation`)).toBe(
      await printed(`log show ${MAYOR} --conversation`),
    );
    const child = /child (\S+)/.exec(await there(`session fork ${MAYOR} --at 4`))?.[1] ?? '';
    expect(await there(`log verify ${child}`)).toContain('ok  5 records');
    const [carried = ''] = (await there(`log continue ${MAYOR}`)).split(' ');
    await there(`log rename ${carried} second`);
    expect(await there('log verify --all')).toContain('3 sound, 0 damaged');
    await printed(`log export ${MAYOR} -o ${join(folder, 'mayor.jsonl')}`);
    expect(await there('log replay mayor')).toBe(await printed(`log replay ${MAYOR}`));
    expect(await there('log prune --keep 0 --older-than 1s --max-bytes 0')).toContain('removed 0 logs');
    expect(await printed('log list')).not.toContain(child);
  });

  it('says what an interrupted write left and where it is now; damage is named', async () => {
    await makeMayor();
    const folder = join(at.base, 'logs');
    mkdirSync(folder, { mode: 0o700 });
    const path = join(folder, `${MAYOR}.jsonl`);
    await printed(`log export ${MAYOR} -o ${path}`);
    const whole = readFileSync(path, 'utf8');
    writeFileSync(path, `${whole}{"content_h`);
    const torn = await run(`log verify ${MAYOR} --journal ${folder}`);
    expect([torn.code, torn.out, torn.err]).toEqual([
      0,
      expect.stringContaining('ok  10 records'),
      expect.stringMatching(/from record 11 on is cut off .* are in .*torn-1\n$/),
    ]);
    writeFileSync(path, whole.replace('git status', 'git stAtus'));
    const damaged = await run(`log verify ${MAYOR} --journal ${folder}`);
    expect([damaged.code, damaged.out]).toEqual([1, expect.stringMatching(/damaged {2}at record 5: /)]);
  });
});

describe('gc log replay --rerun', () => {
  it('runs finished turns again and names those that cannot be', async () => {
    await makeMayor();
    const { out: uid } = await withStore(async (store) => {
      const host = await echoHost(store);
      return { out: await host('hello', 'again') };
    });
    expect(await printed(`log replay ${uid} --rerun`)).toBe('2 turns gave what the log holds\n');
    expect(await printed(`log replay ${MAYOR} --rerun`)).toBe(
      '0 turns gave what the log holds\n' +
        '1 turn of claude (from record 2) not run again: when it is served somewhere, add --harness claude=host:port\n',
    );
    expect(await failed(`log replay ${MAYOR} --harness claude=127.0.0.1:1`)).toContain('add --rerun');
    expect(await failed(`log replay ${MAYOR} --rerun --to 3`)).toContain('no --from and --to');
    expect(await failed(`log replay ${MAYOR} --rerun --harness nowhere`)).toContain('is not name=address');
  });

  it('says where the first difference is', async () => {
    const uid = await withStore(async (store) => {
      const host = await echoHost(store);
      const made = await host('hello');
      const events = (await store.read(made, {})).map(({ event }) => event);
      const other = events.map((event) =>
        event.body.case === 'model'
          ? {
              ...event,
              body: { case: 'model' as const, value: { ...event.body.value, inputHash: '0'.repeat(64) } },
            }
          : event,
      );
      await store.append(WORKER, other);
      return WORKER;
    });
    expect(await failed(`log replay ${uid} --rerun`)).toContain('record 3 is EVENT_MODEL_CALL');
  });
});
