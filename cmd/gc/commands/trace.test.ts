import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { aTraceRecord, TraceDouble } from '../../../internal/api/http/testing/trace-double.ts';
import { type FakeCity, fakeCity } from '../testing/fake-city.ts';

let city: FakeCity;
beforeAll(async () => {
  city = await fakeCity();
});
afterAll(() => city.close());
beforeEach(() => {
  const fresh = new TraceDouble();
  city.api.trace.arms = fresh.arms;
  city.api.trace.written = fresh.written;
  city.api.trace.asked.length = 0;
});

describe('gc trace start, stop', () => {
  it('say what is watched', async () => {
    expect(await city.run(['trace', 'start', '--template', 'mayor'])).toMatchObject({
      code: 0,
      out: 'armed manual mayor for 15m\nactive trace arms: 1\n',
    });
    expect(
      await city.run(['trace', 'start', '--template', 'worker', '--for', '90m', '--auto']),
    ).toMatchObject({
      out: 'armed auto worker for 1h30m\nactive trace arms: 2\n',
    });
    expect(await city.run(['trace', 'stop', '--template', 'mayor'])).toMatchObject({
      out: 'cleared manual trace arm for mayor\nactive trace arms: 1\n',
    });
    expect(await city.run(['trace', 'stop', '--template', 'worker', '--all'])).toMatchObject({
      out: 'cleared trace arms for worker\nactive trace arms: 0\n',
    });
  });

  it.each([
    [['trace', 'start'], 'missing --template'],
    [['trace', 'stop'], 'missing --template'],
    [['trace', 'start', '--template', 'mayor', '--for', 'soon'], 'must be a duration'],
    [['trace', 'start', '--template', 'mayor', '--level', 'all'], '--level is detail or baseline'],
    [['trace', 'start', '--template', 'mayr'], 'agent "mayr" not found'],
    [['trace', 'bogus'], 'unknown subcommand "bogus"'],
  ])('refuse %j', async (argv, text) => {
    const { code, err, out } = await city.run(argv);
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain(text);
    expect(city.api.trace.arms).toEqual([]);
  });

  it('are bare with help', async () => {
    expect(await city.run(['trace'])).toMatchObject({ code: 0, err: '' });
  });
});

describe('gc trace status, show, cycle, reasons', () => {
  it('are JSON in a pipe', async () => {
    await city.run(['trace', 'start', '--template', 'mayor', '--level', 'detail']);
    const read = async (...words: string[]): Promise<unknown> =>
      JSON.parse((await city.run(['trace', ...words])).out);
    expect(await read('status')).toMatchObject({
      arms: [{ template: 'mayor', level: 'detail' }],
      records: 2,
    });
    expect(await read('show')).toMatchObject([{ seq: 1 }, { seq: 2 }]);
    expect(await read('show', '--json')).toHaveLength(2);
    expect(await read('cycle', '--tick', '1')).toMatchObject({
      trace_id: 'abcd-1',
      tick: 1,
      records: [{ type: 'cycle' }, { type: 'decision' }],
    });
    expect(await read('reasons')).toEqual({ 'named-always': 2, 'nothing to do': 1 });
  });

  it('are words at a terminal, and for who wants them', async () => {
    const line = /^\d\d:\d\d:\d\d {2}#1 {2}mayor {2}cycle: nothing to do {2}\(round=1\)\n/;
    expect((await city.run(['trace', 'show', '--json=false'])).out).toMatch(line);
    expect((await city.run(['trace', 'show'], { isTTY: true })).out).toMatch(line);
    expect((await city.run(['trace', 'cycle'], { isTTY: true })).out).toMatch(line);
    const { out } = await city.run(['trace', 'reasons'], { isTTY: true });
    expect(out).toBe('COUNT  REASON\n2      named-always\n1      nothing to do\n');
    expect((await city.run(['trace', 'status'], { isTTY: true })).out).toContain('Nothing is watched');
  });

  it('no line is longer than the terminal', async () => {
    city.api.trace.written = [aTraceRecord(1, { inputs: { screen: '字'.repeat(200), text: 'two\nlines' } })];
    const { out } = await city.run(['trace', 'show'], { isTTY: true });
    expect(out.split('\n')).toHaveLength(2);
    expect(out.length).toBeLessThanOrEqual(81);
  });

  it('pass on what is looked for', async () => {
    await city.run([
      'trace',
      'show',
      '--template',
      'mayor',
      '--type',
      'action',
      '--tick',
      '7',
      '--reason',
      'a b',
    ]);
    await city.run(['trace', 'show', '--trace-id', 'abcd-1', '--since', '1m']);
    expect(city.api.trace.asked).toMatchObject([
      { template: 'mayor', type: 'action', tick: 7, reason: 'a b' },
      { trace_id: 'abcd-1', since_ms: expect.any(Number) },
    ]);
  });

  it.each([
    [['trace', 'show', '--json=perhaps'], '--json is true or false'],
    [['trace', 'show', '--tick', 'x'], 'must be a whole number'],
  ])('refuse %j', async (argv, text) => {
    const { code, err } = await city.run(argv);
    expect(code).toBe(1);
    expect(err).toContain(text);
  });

  it('say that a pass was not traced', async () => {
    city.api.trace.written = [];
    const { code, err } = await city.run(['trace', 'cycle', '--tick', '9']);
    expect(code).toBe(1);
    expect(err).toContain('no pass with tick 9 was traced');
  });
});

describe('gc trace tail', () => {
  it('prints the last 20 and all that come, each once, until nobody reads', async () => {
    city.api.trace.written = Array.from({ length: 1_100 }, (_, i) => aTraceRecord(i + 1));
    const records = city.api.trace.records.bind(city.api.trace);
    let asked = 0;
    city.api.trace.records = (filter) => {
      asked += 1;
      // Many come between two looks: more than one page.
      if (asked === 2) {
        const more = Array.from({ length: 1_200 }, (_, i) => aTraceRecord(1_101 + i));
        city.api.trace.written = [...city.api.trace.written, ...more];
      }
      return records(filter);
    };
    const { code, out } = await city.run(['trace', 'tail'], { readerLeavesAfter: 1_220 });
    const seen = out
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { seq: number }).seq);
    expect(code).toBe(0);
    expect(seen).toEqual(Array.from({ length: 1_220 }, (_, i) => 1_081 + i));
  });

  it('ends with Ctrl-C', async () => {
    const stop = new AbortController();
    const running = city.run(['trace', 'tail', '--template', 'mayor'], { signal: stop.signal });
    while (city.api.trace.asked.length < 2) await new Promise((resolve) => setImmediate(resolve));
    stop.abort();
    expect(await running).toMatchObject({ code: 0, err: '' });
  });
});
