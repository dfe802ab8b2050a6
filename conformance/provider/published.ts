import type { ProviderCase } from './case.ts';
import type { Trial } from './trial.ts';

type Run = (trial: Trial) => Promise<void>;
const lifecycle = (name: string, proves: string, run: Run): ProviderCase => ({
  name,
  group: 'lifecycle',
  needs: [],
  proves,
  run,
});
const session = (
  name: string,
  proves: string,
  run: (t: Trial, name: string) => Promise<void>,
): ProviderCase => ({
  name,
  group: 'session',
  needs: [],
  proves,
  run: async (t) => {
    const running = t.name('session');
    await t.start(running);
    await run(t, running);
  },
});

/** One of the cases about a session that is not there: nothing is started. */
const missing = (name: string, proves: string, run: Run): ProviderCase => ({
  name,
  group: 'session',
  needs: [],
  proves,
  run,
});

/** Starts two sessions at once. */
async function two(t: Trial): Promise<readonly string[]> {
  const names = [t.name('c1'), t.name('c2')];
  await Promise.all(names.map((name) => t.start(name)));
  return names;
}

/** Gas City's 33 provider cases, by their public names. */
export const PUBLISHED_CASES: readonly ProviderCase[] = [
  lifecycle('Start_CreatesRunningSession', 'a started agent runs', async (t) => {
    const name = t.name();
    await t.start(name);
    t.equal(await t.provider.isRunning(name), 'yes', 'isRunning after start');
  }),
  lifecycle('Start_DuplicateReturnsError', 'a second copy never runs under one name', async (t) => {
    const name = t.name();
    await t.start(name);
    const error = await t.rejects(t.start(name), 'second start');
    t.equal(error.code, 'session-exists', 'code of the error');
  }),
  lifecycle('Start_ConcurrentDistinctSessions', 'agents start side by side', async (t) => {
    for (const name of await two(t)) t.equal(await t.provider.isRunning(name), 'yes', `isRunning ${name}`);
  }),
  lifecycle('Stop_MakesSessionNotRunning', 'stopped means stopped, at once', async (t) => {
    const name = t.name();
    await t.start(name);
    await t.provider.stop(name);
    t.equal(await t.provider.isRunning(name), 'no', 'isRunning right after stop');
  }),
  lifecycle('Stop_Idempotent_NotRunning', 'stopping nothing is fine', async (t) => {
    await t.provider.stop(t.name());
  }),
  lifecycle('Stop_Idempotent_AlreadyStopped', 'stopping twice is fine', async (t) => {
    const name = t.name();
    await t.start(name);
    await t.provider.stop(name);
    await t.provider.stop(name);
    t.equal(await t.provider.isRunning(name), 'no', 'isRunning after the second stop');
  }),
  lifecycle('Stop_ConcurrentDistinctSessions', 'a city stops side by side', async (t) => {
    const names = await two(t);
    await Promise.all(names.map((name) => t.provider.stop(name)));
    for (const name of names) t.equal(await t.provider.isRunning(name), 'no', `isRunning ${name}`);
  }),
  lifecycle('Interrupt_ConcurrentDistinctSessions', 'everybody can be interrupted at once', async (t) => {
    const names = await two(t);
    await Promise.all(names.map((name) => t.provider.interrupt(name)));
  }),
  lifecycle('IsRunning_UnknownSession', 'an unknown name does not run', async (t) => {
    t.equal(await t.provider.isRunning(t.name()), 'no', 'isRunning of an unknown name');
  }),
  lifecycle('IsRunning_ConcurrentDistinctSessions', 'answers do not mix', async (t) => {
    const names = await two(t);
    const answers = await Promise.all(names.map((name) => t.provider.isRunning(name)));
    t.equal(answers, ['yes', 'yes'], 'answers');
  }),
  lifecycle('ListRunning_FindsSessions', 'what runs is listed', async (t) => {
    const [a = '', b = ''] = await two(t);
    const listed = await t.provider.listRunning('');
    t.ok(listed.includes(a) && listed.includes(b), `both sessions in ${listed.join(', ')}`);
  }),
  lifecycle('ListRunning_PrefixFiltering', 'a prefix selects', async (t) => {
    const [a = ''] = await two(t);
    t.equal(await t.provider.listRunning(a), [a], 'names with the first name as prefix');
  }),
  lifecycle('ListRunning_ExcludesStopped', 'what was stopped is not listed', async (t) => {
    const name = t.name();
    await t.start(name);
    await t.provider.stop(name);
    t.ok(!(await t.provider.listRunning('')).includes(name), 'no stopped session in the list');
  }),
  lifecycle('ListRunning_EmptyPrefix', 'no prefix means all', async (t) => {
    const name = t.name();
    await t.start(name);
    t.ok((await t.provider.listRunning('')).includes(name), 'the session in the list');
  }),
  lifecycle('ListRunning_ConcurrentDistinctPrefixes', 'lists do not mix', async (t) => {
    const names = await two(t);
    const lists = await Promise.all(names.map((name) => t.provider.listRunning(name)));
    t.equal(
      lists,
      names.map((name) => [name]),
      'lists',
    );
  }),
  lifecycle('ProcessAlive_EmptyNamesReturnsTrue', 'no expectation is always met', async (t) => {
    const name = t.name();
    await t.start(name);
    t.equal(await t.provider.processAlive(name, []), 'yes', 'processAlive without names');
  }),
  lifecycle('ProcessAlive_FalseAfterStop', 'a stopped agent is not alive', async (t) => {
    const name = t.name();
    await t.start(name);
    await t.provider.stop(name);
    t.equal(await t.provider.processAlive(name, ['some-process']), 'no', 'processAlive after stop');
  }),
  lifecycle('ProcessAlive_ConcurrentDistinctSessions', 'answers do not mix', async (t) => {
    const names = await two(t);
    const answers = await Promise.all(names.map((name) => t.provider.processAlive(name, [])));
    t.equal(answers, ['yes', 'yes'], 'answers');
  }),
  session('SetGetMeta_RoundTrip', 'drain flags arrive', async (t, name) => {
    await t.provider.setMeta(name, 'test-key', 'test-value');
    t.equal(await t.provider.getMeta(name, 'test-key'), 'test-value', 'the value read back');
  }),
  session('GetMeta_UnsetKey', 'nothing set reads as nothing', async (t, name) => {
    t.equal(await t.provider.getMeta(name, 'never-set'), '', 'an unset key');
  }),
  session('RemoveMeta_ThenGetReturnsEmpty', 'a removed flag is gone', async (t, name) => {
    await t.provider.setMeta(name, 'gone', 'v');
    await t.provider.removeMeta(name, 'gone');
    t.equal(await t.provider.getMeta(name, 'gone'), '', 'a removed key');
  }),
  session('SetMeta_OverwritesPrevious', 'the last word counts', async (t, name) => {
    await t.provider.setMeta(name, 'k', 'v1');
    await t.provider.setMeta(name, 'k', 'v2');
    t.equal(await t.provider.getMeta(name, 'k'), 'v2', 'the second value');
  }),
  session('Meta_MultipleKeys', 'keys are independent', async (t, name) => {
    await t.provider.setMeta(name, 'a', '1');
    await t.provider.setMeta(name, 'b', '2');
    t.equal(
      [await t.provider.getMeta(name, 'a'), await t.provider.getMeta(name, 'b')],
      ['1', '2'],
      'both values',
    );
  }),
  session('Peek_NoError', 'a running session can be looked at', async (t, name) => {
    t.equal(typeof (await t.provider.peek(name, 10)), 'string', 'type of the answer');
  }),
  session('GetLastActivity_NoError', 'activity can be asked for', async (t, name) => {
    const at = await t.provider.getLastActivity(name);
    t.ok(at === undefined || Number.isFinite(at), 'a time or undefined');
  }),
  session('ClearScrollback_NoError', 'scrollback can be cleared', async (t, name) =>
    t.provider.clearScrollback(name),
  ),
  session('CopyTo_NoError', 'a missing source is fine', async (t, name) =>
    t.provider.copyTo(name, '/nonexistent/file', 'x'),
  ),
  session('SendKeys_RunningSession', 'keys can be sent', async (t, name) =>
    t.provider.sendKeys(name, ['Enter']),
  ),
  missing('SendKeys_MissingSession', 'keys to nobody are fine', async (t) =>
    t.provider.sendKeys(t.name('none'), ['Enter']),
  ),
  session('Interrupt_RunningSession', 'an agent can be interrupted', async (t, name) =>
    t.provider.interrupt(name),
  ),
  missing('Interrupt_MissingSession', 'interrupting nobody is fine', async (t) =>
    t.provider.interrupt(t.name('none')),
  ),
  session(
    'Nudge_RunningSession',
    'text to an agent that was just interrupted is no error',
    async (t, name) => {
      await t.provider.interrupt(name);
      const outcome = await t.provider.nudge(name, [{ type: 'text', text: 'hello' }]);
      t.ok(outcome.kind !== 'failed', `an outcome other than failed, got ${JSON.stringify(outcome)}`);
    },
  ),
  missing('Nudge_MissingSession', 'text to nobody says so', async (t) => {
    const outcome = await t.provider.nudge(t.name('none'), [{ type: 'text', text: 'hello' }]);
    t.equal(outcome.kind, 'no-session', 'the outcome');
  }),
];
