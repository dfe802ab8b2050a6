import { expect, it } from 'vitest';
import { textContent } from '../content-blocks.ts';
import { claudeConfig, startOptions, TEST_SESSION, type TestBench, testBench } from './testing.ts';

async function started(): Promise<TestBench> {
  const bench = testBench();
  await bench.run(bench.provider.start(TEST_SESSION, claudeConfig(), startOptions()));
  return bench;
}

it('a nudge is announced before its text is typed, and not typed when the announcement fails', async () => {
  const bench = await started();
  const before = bench.agent.messages.length;
  const announced: number[] = [];
  const nudge = (text: string, beforeTyping: () => Promise<void>) =>
    bench.run(bench.provider.nudge(TEST_SESSION, textContent(text), { beforeTyping }));
  const refused = await nudge('one', () => Promise.reject(new Error('in other hands')));
  expect(refused).toEqual({ kind: 'failed', detail: 'in other hands' });
  const outcome = await nudge('two', async () => {
    announced.push(bench.agent.messages.length);
  });
  expect(outcome).toMatchObject({ kind: 'delivered', verified: true });
  expect(announced).toEqual([before]);
  expect(bench.agent.messages.slice(before)).toEqual(['two']);
});

it('one that cannot be typed is not announced', async () => {
  const bench = await started();
  let announced = 0;
  const beforeTyping = async () => {
    announced += 1;
  };
  const gone = await bench.run(bench.provider.nudge('nobody', textContent('hi'), { beforeTyping }));
  expect(gone).toEqual({ kind: 'no-session' });
  expect(announced).toBe(0);
});
