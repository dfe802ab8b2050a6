import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gated } from '../../../conformance/sessions-service/peer-scripts.ts';
import { DESCRIPTOR } from '../../../conformance/sessions-service/steps.ts';
import { systemClock } from '../../../internal/platform/clock.ts';
import { type OwnService, openOwnService } from '../conformance/own-service.ts';
import { type Ran, runIn } from '../testing/fake-city.ts';

let dir: string;
let own: OwnService;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'gc-client-'));
  own = await openOwnService(systemClock, new AbortController().signal);
});
afterAll(async () => {
  await own.close();
  rmSync(dir, { recursive: true, force: true });
});

type Options = Omit<Parameters<typeof runIn>[1], 'cwd'>;

const run = (argv: readonly string[], { env, ...options }: Options = {}): Promise<Ran> =>
  runIn(argv, {
    cwd: dir,
    ...options,
    env: { HOME: dir, GC_HOME: dir, GC_CEILING_DIRECTORIES: dir, ...env },
  });
const sessions = (words: readonly string[], options: Options = {}): Promise<Ran> =>
  run(['sessions', ...words], {
    ...options,
    env: { GC_SESSIONS_SERVER: own.addresses().sessions, ...options.env },
  });
const harness = (...words: readonly string[]): Promise<Ran> =>
  run(['sessions', 'harness', ...words, '--server', own.addresses().registry]);

async function made(...words: readonly string[]): Promise<string> {
  const { code, out, err } = await sessions(['create', ...words]);
  expect([code, err]).toEqual([0, '']);
  expect(out).toMatch(/^sess-[0-9a-f]{24}\n$/);
  return out.trim();
}

/** A session whose harness asks before it acts, and waits. */
async function asking(work: (uid: string) => Promise<void>): Promise<void> {
  const peer = await own.subject.servePeer?.();
  if (!peer) throw new Error('no peers');
  try {
    const name = `peer-${Math.random().toString(16).slice(2, 10)}`;
    peer.describe({ ...DESCRIPTOR, models: [...DESCRIPTOR.models] });
    peer.play(gated);
    const spec = join(dir, 'spec.json');
    const capabilities = { resumability: 'RESUMABILITY_STATELESS_REPLAY' };
    writeFileSync(
      spec,
      JSON.stringify({ remote: { address: peer.address }, capabilities, descriptor_id: DESCRIPTOR.id }),
    );
    const registered = await harness('register', name, '--spec', spec);
    expect(JSON.parse(registered.out)).toMatchObject({ outcome: 'REGISTER_OUTCOME_CREATED' });
    const uid = await made('--harness', name);
    const asked = await sessions(['exec', uid, 'go']);
    expect(asked.code).toBe(0);
    expect(asked.out).toMatch(/^pending execution=[0-9a-f]{16} tool_call=tool-1 request_seq=4\n$/m);
    await work(uid);
  } finally {
    await peer.close();
  }
}

describe('gc sessions', () => {
  it('makes a session, talks to it and reads it again', async () => {
    const uid = await made('--name', 'first', '--label', 'a=1', '--project', 'p1');
    const said = await sessions(['exec', uid, 'two', 'words']);
    expect(said).toEqual({
      code: 0,
      err: '',
      out: [
        'seq=1 EXECUTION_START  harness echo 1, inputs 1',
        'seq=2 INPUT  user: two words',
        'seq=3 MODEL_CALL  echo',
        'seq=4 OUTPUT  assistant: echo:two words',
        'seq=5 END  COMPLETED',
        '',
      ].join('\n'),
    });
    expect((await sessions(['replay', '--session', uid, '--from', '4'])).out).toBe(
      said.out.split('\n').slice(3).join('\n'),
    );
    expect((await sessions(['list', '--project', 'p1'])).out).toBe(
      `${uid}\tlast_seq=5\tcompute=LIVE\tharness=echo\tname=first\n`,
    );
    expect((await sessions(['get', uid])).out).toContain('\tname=first\texec=COMPLETED\tproject=p1\n');
    const verified = await sessions(['verify', uid]);
    expect([verified.code, verified.out]).toEqual([
      0,
      expect.stringMatching(`^${uid}  ok  5 records  [0-9a-f]{64}\n$`),
    ]);
  });

  it('keeps lines of a text apart from records', async () => {
    const uid = await made();
    await sessions(['exec', uid, '--input', '-'], { stdin: 'one\nseq=9 END\n' });
    expect((await sessions(['replay', uid, '--to', '2'])).out).toContain(
      'seq=2 INPUT  user: one\n  seq=9 END\n',
    );
  });

  it('makes the session that Exec needs, and says which', async () => {
    const said = await sessions(['exec', '--input', 'hi']);
    expect(said.out).toMatch(/^session sess-[0-9a-f]{24}\nseq=1 /);
    const elsewhere = await sessions(['exec', '--input', 'hi', '--project', 'p2']);
    const [, uid] = /^session (\S+)/.exec(elsewhere.out) ?? [];
    expect((await sessions(['list', '--project', 'p2'])).out).toContain(String(uid));
  });

  it('suspends, resumes, forks and deletes', async () => {
    const uid = await made();
    await sessions(['exec', uid, 'hi']);
    expect((await sessions(['suspend', uid])).out).toBe('compute=COMPUTE_COLD last_seq=6\n');
    expect((await sessions(['resume', uid])).out).toBe('compute=COMPUTE_LIVE last_seq=7\n');
    const forked = await sessions(['fork', uid, '--at', '5', '--names', 'left,right']);
    const child = (name: string) => `child sess-[0-9a-f]{24} parent=${uid} fork_seq=5 name=${name}\n`;
    expect(forked.out).toMatch(new RegExp(`^${child('left')}${child('right')}$`));
    await sessions(['delete', uid]);
    const refused = await sessions(['exec', uid, 'again']);
    expect([refused.code, refused.out]).toEqual([1, '']);
    expect(refused.err).toContain('was deleted');
  });

  it('prints the JSON of the protocol', async () => {
    const uid = await made('--name', 'json');
    const updates = (await sessions(['exec', uid, 'hi', '--json'])).out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(updates[0]).toMatchObject({ session: { metadata: { uid }, exec_state: 'EXEC_PENDING' } });
    expect(updates[5]).toMatchObject({ record: { seq: '5', event: { kind: 'EVENT_END' } } });
    expect(JSON.parse((await sessions(['get', uid, '--json'])).out)).toMatchObject({ last_seq: '5' });
    expect(JSON.parse((await sessions(['list', '--json'])).out).sessions.length).toBeGreaterThan(0);
    expect(JSON.parse((await sessions(['verify', uid, '--json'])).out)).toMatchObject({
      uid,
      ok: true,
      records: 5,
    });
    const missing = await sessions(['get', 'sess-ffffffffffffffffffffffff', '--json']);
    expect(JSON.parse(missing.err).error).toMatchObject({ code: 'sessions-not-found' });
  });

  it('shows what was committed of a turn that fails, with what to do', async () => {
    const uid = await made();
    await sessions(['exec', uid, 'hi']);
    const stale = await sessions(['exec', uid, 'again', '--expect', '0']);
    expect([stale.code, stale.out]).toEqual([1, '']);
    expect(stale.err).toContain(`next: gc sessions get ${uid}\n`);
  });

  it('tells a person what a session is and what it waits for', async () => {
    await asking(async (uid) => {
      const seen = await sessions(['get', uid], { isTTY: true });
      expect(seen.out).toContain('waits for you: write {"path":"a.txt","n":1}\n');
      expect(seen.out).toContain(`gc sessions approve ${uid}\n`);
      expect((await sessions(['list'], { isTTY: true })).out).toMatch(
        /^SESSION +NAME +HARNESS +STATE +RECORDS +ACTIVE\n/,
      );
    });
  });
});

describe('answers', () => {
  it('are found, given in the name of the person, and the session goes on', async () => {
    await asking(async (uid) => {
      const denied = await sessions(['deny', uid, '--reason', 'not today'], { env: { USER: 'ada' } });
      expect(denied).toEqual({
        code: 0,
        err: '',
        out: `denied ${uid} seq=6\ncompute=COMPUTE_LIVE last_seq=10\n`,
      });
      const log = (await sessions(['replay', uid])).out;
      expect(log).toContain('seq=6 APPROVAL_RESULT  call tool-1 refused by ada not today\n');
      expect(log).toMatch(/^seq=8 OUTPUT {2}assistant: refused: /m);
      expect((await sessions(['approve', uid])).err).toContain("waits for nobody's answer");
    });
  });

  it('are never given by an agent', async () => {
    await asking(async (uid) => {
      for (const mark of ['GC_SESSION_ID', 'GC_SESSION_UID', 'GC_INSTANCE_TOKEN']) {
        const refused = await sessions(['approve', uid], { env: { [mark]: 'x' } });
        expect([refused.code, refused.out]).toEqual([1, '']);
        expect(refused.err).toContain('an agent cannot answer its own question');
      }
      expect((await sessions(['get', uid])).out).toContain('exec=AWAITING');
    });
  });

  it('stay when the session cannot go on, and that is said', async () => {
    const peer = await own.subject.servePeer?.();
    if (!peer) throw new Error('no peers');
    peer.describe({ ...DESCRIPTOR, models: [...DESCRIPTOR.models] });
    peer.play(gated);
    const spec = {
      placement: { case: 'remote' as const, value: { address: peer.address } },
      capabilities: { resumability: 1 },
    };
    await own.subject.registry?.register({ name: 'goes-away', spec });
    const uid = await made('--harness', 'goes-away');
    await sessions(['exec', uid, 'go']);
    await peer.close();
    const other = await made('--harness', 'goes-away');
    const unbegun = await sessions(['exec', other, 'go']);
    // Nothing was begun: there is nothing to resume.
    expect([unbegun.code, unbegun.out]).toEqual([1, '']);
    expect(unbegun.err).toContain(`next: gc sessions exec ${other} "what to do"\n`);
    const answered = await sessions(['deny', uid]);
    expect([answered.code, answered.out]).toEqual([1, `denied ${uid} seq=6\n`]);
    expect(answered.err).toContain('the decision is committed (record 6), but the session did not go on');
    expect(answered.err).toContain(`next: gc sessions resume ${uid}\n`);
  });

  it('take the whole question or none of it', async () => {
    const refused = await sessions(['approve', 'sess-1', '--execution', 'e']);
    expect(refused.err).toContain('--execution, --tool-call and --request-seq belong together');
  });
});

describe('gc sessions harness', () => {
  it('registers, observes, lists and retires', async () => {
    const listed = JSON.parse((await harness('list', '--page-size', '1')).out);
    expect(listed.harnesses).toContainEqual(expect.objectContaining({ source: 'HARNESS_SOURCE_STATIC' }));
    const echo = JSON.parse((await harness('get', '--name', 'echo', '--observe')).out);
    expect(echo.observed).toMatchObject({ id: 'echo', version: '1' });
    expect((await harness('retire', 'echo')).err).toContain('built in');
    expect((await harness('retire', 'echo', '--observe')).err).toContain('--observe is not for retire');
    expect((await harness('get', 'nobody')).err).toContain('no harness "nobody"');
    expect((await run(['sessions', 'harness', 'list'])).err).toContain('missing --server');
  });

  it('says what is wrong with a spec', async () => {
    const file = join(dir, 'bad.json');
    writeFileSync(file, '{"remote": {"adress": "x"}}');
    expect((await harness('register', 'x', '--spec', file)).err).toContain(
      `${file} is not the JSON of a HarnessSpec`,
    );
  });
});

describe('where the service is', () => {
  it('may be a file, with the echo harness alone', async () => {
    const journal = ['--journal', 'own.db'];
    const early = await run(['sessions', 'list', ...journal]);
    expect([early.code, early.err]).toEqual([1, expect.stringContaining(`no file ${join(dir, 'own.db')}`)]);
    const said = await run(['sessions', 'exec', '--input', 'hi', ...journal]);
    expect(said.out).toContain('OUTPUT  assistant: echo:hi\n');
    expect((await run(['sessions', 'list', ...journal])).out).toContain('last_seq=5');
    expect((await run(['sessions', 'create', '--harness', 'coder', ...journal])).err).toContain(
      'served: echo',
    );
  });

  it('is asked for when nothing says it', async () => {
    const ran = await run(['sessions', 'list']);
    expect([ran.code, ran.out]).toEqual([1, '']);
    expect(ran.err).toContain('no server of sessions is known here\n  next: gc serve');
    expect((await run(['sessions', 'list', '--server', 'nonsense'])).err).toContain(
      'not an address of a service',
    );
    expect((await run(['sessions', 'list', '--server', 'a:1', '--journal', 'b'])).err).toContain('not both');
    expect((await run(['sessions', 'list', '--server', '127.0.0.1:9'])).err).toContain(
      'nobody answers on 127.0.0.1:9',
    );
  });
});

describe('gc conformance sessions', () => {
  it('says which cases hold, and why others do not apply', async () => {
    const { sessions: server, registry } = own.addresses();
    const only = ['--only', 'a call cut before'];
    const none = await run(['conformance', 'sessions', '--server', server, '--registry', registry, ...only]);
    expect(none.code).toBe(0);
    expect(none.out).toContain('not applicable: cuts logs');
    const report = join(dir, 'report.xml');
    const far = ['conformance', 'sessions', '--server', server, '--only', 'whole tuple', '--junit', report];
    const ran = await run([...far, '--json']);
    expect(JSON.parse(ran.out)).toMatchObject({ server, passed: 1, failed: 0, not_applicable: 0 });
    expect(
      JSON.parse((await run(['conformance', 'sessions', '--list', '--json'])).out).length,
    ).toBeGreaterThan(50);
    expect((await run(['conformance', 'sessions', '--only', 'zzz'])).err).toContain('no case has "zzz"');
  });
});
