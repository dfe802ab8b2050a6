import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { FakeClock } from '../../platform/fake-clock.ts';
import type { Observation } from '../provider.ts';
import { NameBook } from './name-book.ts';
import { ScriptCalls } from './script-calls.ts';
import { PROBES_PER_LOOK, ScriptSurvey, STALE_MS } from './script-survey.ts';
import { FILE_BACKED, scriptBench } from './testing/script-bench.ts';

const bench = scriptBench();
afterAll(() => bench.close());

const SESSIONS = Array.from({ length: 20 }, (_, i) => `s${String(i).padStart(2, '0')}`);
for (const name of SESSIONS) {
  writeFileSync(join(bench.dir, `${name}.running`), '');
  writeFileSync(join(bench.dir, `${name}.meta.GC_SESSION_ID`), `id-${name}`);
}

function survey(text: string, clock = systemClock as FakeClock | typeof systemClock) {
  const calls = new ScriptCalls({
    script: bench.script(text),
    env: { PATH: process.env['PATH'] ?? '' },
    cwd: bench.dir,
    timeouts: { startMs: 10_000, otherMs: 10_000 },
  });
  const book = new NameBook(join(bench.dir, 'book'));
  return { survey: new ScriptSurvey(calls, book, clock), book };
}

async function look(of: ScriptSurvey): Promise<{ seen: readonly Observation[]; runs: number }> {
  const before = bench.calls().length;
  const result = await of.look();
  if (result.kind !== 'seen') throw new Error(JSON.stringify(result));
  return { seen: [...result.sessions.values()], runs: bench.calls().length - before };
}

describe('looking at sessions by single questions', () => {
  it('never answers with a look that began before it was asked, and shares one among all who wait', async () => {
    const slow = FILE_BACKED.replace('list-running)', 'list-running) sleep 0.3;');
    const { survey: of } = survey(slow);
    const lists = () => bench.calls().filter((call) => call.startsWith('list-running')).length;
    const before = lists();
    const first = of.look();
    const [second, third] = [of.look(), of.look()];
    const answers = await Promise.all([first, second, third]);
    expect(lists() - before).toBe(2);
    expect(answers[0]).not.toBe(answers[1]);
    expect(answers[1]).toBe(answers[2]);
  });

  it('runs the script a bounded number of times per look and comes round to everybody', async () => {
    const { survey: of } = survey(FILE_BACKED);
    const known = (seen: readonly Observation[]) =>
      seen.filter((o) => o.meta['GC_SESSION_ID'] !== undefined).length;
    const counts: number[] = [];
    for (let i = 0; i < 4; i += 1) {
      const { seen, runs } = await look(of);
      expect(runs).toBeLessThanOrEqual(PROBES_PER_LOOK + 1);
      expect(seen.map((o) => o.liveness.kind)).toEqual(SESSIONS.map(() => 'running'));
      counts.push(known(seen));
    }
    expect(counts.at(-1)).toBe(SESSIONS.length);
    expect(counts[0]).toBeLessThan(SESSIONS.length);
  });

  it('costs one run where the script can list its sessions and nothing else', async () => {
    const { survey: of } = survey(`case $1 in list-running) ;; *) exit 2 ;; esac\n${FILE_BACKED}`);
    await look(of);
    expect((await look(of)).runs).toBe(1);
  });

  it('has no answer where a question failed, and keeps the last one only for a while', async () => {
    const clock = new FakeClock();
    const text = `[ "$1" = is-running ] || exit 2\n[ ! -e "$d/broken" ] || exit 1\n${FILE_BACKED}`;
    const { survey: of, book } = survey(text, clock);
    await book.add('s00');
    expect((await look(of)).seen.map((o) => o.liveness.kind)).toEqual(['running']);
    writeFileSync(join(bench.dir, 'broken'), '');
    expect((await look(of)).seen.map((o) => o.liveness.kind)).toEqual(['unknown']);
    await clock.advance(STALE_MS + 1);
    expect((await look(of)).seen.map((o) => o.liveness.kind)).toEqual(['unknown']);
  });
});
