import {
  appendFileSync,
  linkSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../platform/fake-clock.ts';
import { transcriptLines } from '../format.ts';
import type { ObservedEntry, TranscriptCursor } from '../observed.ts';
import { WrittenJournal } from '../testing/acp-journal.ts';
import { AcpTranscriptReader } from './acp-reader.ts';

const clock = new FakeClock();

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-acp-log-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const journal = (session = 'worker', maxBytes?: number) =>
  new WrittenJournal({ runtimeDir: dir, session, clock, ...(maxBytes !== undefined && { maxBytes }) });
const place = { session: 'worker', workDir: '/work', keys: [], aloneInWorkDir: false };

async function located(conversation = 'c1', reader = new AcpTranscriptReader(dir)): Promise<string> {
  const file = await reader.locate({ ...place, keys: [conversation] });
  if (file === undefined) throw new Error(`no ${conversation}`);
  return file;
}

/** Reads like somebody who remembers only how far it was. */
class Follower {
  readonly entries: ObservedEntry[] = [];
  restarts = 0;
  #cursor: TranscriptCursor | undefined;
  #file: string | undefined;

  async read(passBytes?: number): Promise<void> {
    const reader = new AcpTranscriptReader(dir, passBytes);
    this.#file ??= await located();
    for (;;) {
      const chunk = await reader.observe(this.#file, this.#cursor);
      if (!chunk) return;
      this.entries.push(...chunk.entries.map(({ entry }) => entry));
      if (chunk.restarted) this.restarts += 1;
      this.#cursor = JSON.parse(JSON.stringify(chunk.cursor)) as TranscriptCursor;
      if (!chunk.more) return;
    }
  }

  get words(): readonly string[] {
    return this.entries.flatMap((entry) => {
      if (entry.kind === 'missed') return [`missed ${entry.count}`];
      return entry.kind === 'prompt' || entry.kind === 'answer' ? [entry.text] : [];
    });
  }
}

describe('the journal of an ACP session', () => {
  it('is found by its name and conversation; without a key only what began since is its own', async () => {
    journal().open('c/1#x').turn(1);
    const reader = new AcpTranscriptReader(dir);
    const file = await located('c/1#x');
    expect(reader.conversationOf(file)).toBe('c/1#x');
    expect(await reader.locate(place)).toBe(file);
    expect(await reader.locate({ ...place, keys: ['other', 'c/1#x'] })).toBe(file);
    expect(await reader.locate({ ...place, keys: ['other'] })).toBeUndefined();
    expect(await reader.locate({ ...place, since: clock.now() + 60_000 })).toBeUndefined();
    for (const session of ['other', '', '../worker', 'worker.jsonl']) {
      expect(await reader.locate({ ...place, session })).toBeUndefined();
    }
  });

  it('DUR-16 holds the conversation before until the one after the next begins, each told apart', async () => {
    journal().open('c1').turn(1).close();
    journal().open('c2').turn(2);
    const reader = new AcpTranscriptReader(dir);
    const said = async (conversation: string) =>
      transcriptLines(await reader.read(await located(conversation), { tail: 0 })).map(({ text }) => text);
    expect([await said('c1'), await said('c2')]).toEqual([
      ['do 1', 'tool_use: Run echo 1', 'done 1'],
      ['do 2', 'tool_use: Run echo 2', 'done 2'],
    ]);
    expect(await reader.locate(place)).toBe(await located('c2'));
    journal().open('c3');
    expect(await reader.locate({ ...place, keys: ['c1'] })).toBeUndefined();
    expect(await reader.observe(await located('c2'), undefined)).toMatchObject({ more: false });
  });

  it('shows questions, answers, failures and cancelled turns to people', async () => {
    const options = [
      { id: 'y', name: 'Yes', kind: 'allow_once' },
      { id: 'n', name: 'No', kind: 'reject_once' },
    ];
    journal()
      .open()
      .prompt('do it')
      .think('hm')
      .call('t', 'ls')
      .note({ kind: 'asked', question: 'q1', call: 't', title: 'Run ls', detail: '', options })
      .note({ kind: 'answered', question: 'q1', by: 'client', option: 'n' })
      .result('t', 'refused', 'failed')
      .note({ kind: 'asked', question: 'q2', call: 't', title: 'Run rm', detail: '', options })
      .note({ kind: 'answered', question: 'q2', by: 'cancel' })
      .end('cancelled')
      .prompt('again')
      .end('error: no credit');
    const transcript = await new AcpTranscriptReader(dir).read(await located(), { tail: 1 });
    expect(transcript).toMatchObject({ hasOlder: false, badLines: 0, compactions: 0 });
    expect(transcriptLines(transcript).map(({ type, text }) => `${type} ${text}`)).toEqual([
      'user do it',
      'assistant tool_use: Run ls',
      'system asks: Run ls (Yes, No)',
      'system answered: n',
      'user tool_result: error',
      'system asks: Run rm (Yes, No)',
      'system answered: nothing, its turn was cancelled',
      'system the turn was cancelled',
      'user again',
      'system error: no credit',
    ]);
    expect(Date.parse(transcriptLines(transcript)[0]?.at ?? '')).toBeGreaterThan(clock.now());
  });

  it('DUR-09 is read once in whatever pieces it grows, across rotations, by whoever goes on', async () => {
    const steps = fc.array(fc.constantFrom('read', 'small read', 'life', 'turn', 'turn', 'turn'), {
      maxLength: 16,
    });
    await fc.assert(
      fc.asyncProperty(steps, fc.constantFrom(900, 2_500, 1_000_000), async (what, maxBytes) => {
        rmSync(join(dir, 'conversations'), { recursive: true, force: true });
        const written = journal('worker', maxBytes).open();
        const follower = new Follower();
        let turns = 0;
        for (const step of [...what, 'read']) {
          if (step === 'life') written.open('c1', 'loaded');
          else if (step === 'turn') {
            turns += 1;
            written.turn(turns);
          } else await follower.read(step === 'read' ? undefined : 1);
        }
        const missed = follower.entries.flatMap((entry) => (entry.kind === 'missed' ? [entry.count] : []));
        const all = Array.from({ length: turns }, (_, n) => [`do ${n + 1}`, `done ${n + 1}`]).flat();
        const words = follower.words.filter((one) => !one.startsWith('missed'));
        expect(follower.restarts).toBe(0);
        expect(words).toEqual(all.filter((one) => words.includes(one)));
        // Only what was rotated away twice before anybody looked is missing, and that is said.
        if (missed.length === 0) expect(words).toEqual(all);
        if (maxBytes === 1_000_000) expect(missed).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });

  it('EVT-01 leaves the last line until it is whole, and passes over what a killed writer left', async () => {
    const written = journal().open().turn(1);
    const whole = readFileSync(written.path);
    const follower = new Follower();
    truncateSync(written.path, whole.length - 30);
    await follower.read();
    expect(follower.words).toEqual(['do 1', 'done 1']);
    expect(follower.entries.at(-1)?.kind).toBe('answer');
    // The next life ends the cut line and begins its own with the same number.
    journal().open('c1', 'loaded').turn(2).close();
    await follower.read();
    expect(follower.words).toEqual(['do 1', 'done 1', 'do 2', 'done 2']);
    const reader = new AcpTranscriptReader(dir);
    expect((await reader.read(await located(), { tail: 0 })).badLines).toBe(1);
  });

  it('is read from its start when it is not what was read, with entries that are no earlier ones', async () => {
    const follower = new Follower();
    const written = journal().open().turn(1).turn(2);
    const lines = readFileSync(written.path, 'utf8').split('\n');
    await follower.read();
    const ids = new Set(follower.entries.map(({ id }) => id));
    writeFileSync(written.path, `${lines.slice(0, 3).join('\n')}\n`);
    await clock.advance(60_000);
    journal().open('c1', 'loaded').turn(3).close();
    await follower.read();
    expect(follower.restarts).toBe(1);
    const fresh = follower.entries.slice(ids.size).filter(({ id }) => !ids.has(id));
    expect(fresh.flatMap((entry) => (entry.kind === 'prompt' ? [entry.text] : []))).toEqual(['do 3']);
    expect(follower.words).not.toContain(expect.stringContaining('missed'));
  });

  it('says how much was rotated away before it was read', async () => {
    const written = journal('worker', 600).open();
    for (let n = 1; n <= 12; n += 1) written.turn(n);
    const follower = new Follower();
    await follower.read();
    const [missed] = follower.words;
    expect(missed).toMatch(/^missed \d+$/);
    expect(follower.words.at(-1)).toBe('done 12');
    const reader = new AcpTranscriptReader(dir);
    expect((await reader.read(await located(), { tail: 0 })).hasOlder).toBe(true);
  });

  it('in another form is refused with one message that names file, form and what to do', async () => {
    const written = journal().open();
    const file = await located();
    appendFileSync(written.path, `${JSON.stringify({ v: 9, seq: 2 })}\n`);
    const refused = expect.objectContaining({
      code: 'journal-version',
      message: expect.stringContaining(`${written.path}: the conversation is written in form 9`),
    });
    const reader = new AcpTranscriptReader(dir);
    await expect(reader.observe(file, undefined)).rejects.toEqual(refused);
    await expect(reader.read(file, { tail: 0 })).rejects.toEqual(refused);
    writeFileSync(written.path, `${JSON.stringify({ v: 9, seq: 1 })}\n`);
    await expect(reader.locate(place)).rejects.toEqual(refused);
  });

  it('is read once when it is rotated while its files are opened', async () => {
    const written = journal().open().turn(1);
    linkSync(written.path, `${written.path}.1`);
    const follower = new Follower();
    await follower.read();
    expect(follower.words).toEqual(['do 1', 'done 1']);
  });

  it('is its owner’s only, the one set aside too', async () => {
    const [one, two] = [journal().open('c1').turn(1).close(), journal().open('c2')];
    for (const file of [two.path, `${one.path}.earlier`]) expect(statSync(file).mode & 0o777).toBe(0o600);
  });
});
