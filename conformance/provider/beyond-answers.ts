import {
  canContinueStart,
  canInteract,
  canMeasure,
  type InteractionProvider,
  type PendingInteraction,
  type StartResult,
} from '../../internal/runtime/provider.ts';
import type { RuntimeConfig } from '../../internal/runtime/runtime-config.ts';
import { QUESTION } from './agents.ts';
import { beyond, text } from './beyond.ts';
import type { ProviderCase } from './case.ts';
import { ConformanceFailure, type Trial } from './trial.ts';

/** How long the announcement of a message takes: what is typed meanwhile was not announced. */
const ANNOUNCEMENT_MS = 250;
/** A provider that waits for a busy agent is given up after this. */
const BUSY_MS = 300;
const CONTINUE_TIMEOUT_MS = 30_000;
/** What a person is told whose answer comes too late, or is for something else. */
const NOT_ASKED: readonly (string | undefined)[] = ['interaction-changed', 'already-answered'];

/** What an agent asks and is answered, what goes before a message, and a start that goes on. */
export const ANSWER_CASES: readonly ProviderCase[] = [
  beyond(
    'Names_ThatAreNoneTouchNothing',
    [],
    'a mangled name never ends, or deletes, the sessions of others',
    async (t) => {
      const name = t.name('bystander');
      await t.start(name);
      await t.provider.setMeta(name, 'k', 'v');
      const near = [`./${name}`, `${name}/.`, `=${name}`, `${name}:0`, name.replaceAll('-', '.')];
      for (const none of ['', '.', '..', '../x', 'a/b', '*', ...near]) {
        const shown = JSON.stringify(none);
        await t.provider.stop(none);
        await t.provider.interrupt(none);
        t.equal(await t.provider.isRunning(none), 'no', `isRunning of ${shown}`);
        t.equal(await t.provider.getMeta(none, 'k'), '', `metadata of ${shown}`);
        t.equal((await t.provider.nudge(none, text('hello'))).kind, 'no-session', `nudge to ${shown}`);
      }
      t.equal(await t.provider.isRunning(name), 'yes', 'isRunning of the bystander');
      t.equal(await t.provider.getMeta(name, 'k'), 'v', 'its metadata');
    },
  ),
  beyond(
    'Nudge_AnnouncedBeforeTheFirstByte',
    ['commands', 'messages'],
    'what is typed was written down before: a crash in between loses and doubles nothing',
    async (t) => {
      const name = t.name('rec');
      await t.start(name, t.agent(name, { kind: 'recorder', asks: 'after-message' }));
      const arrived = async () =>
        (await t.readLines(name, 'messages.jsonl')).length > 0 ||
        (await t.provider.peek(name, 5)).includes('hello');

      const refused = await t.provider.nudge(name, text('hello refused'), {
        beforeTyping: () => Promise.reject(new Error('the disk is full')),
      });
      t.equal(refused.kind, 'failed', 'outcome of a message that could not be announced');
      let early: boolean | undefined;
      const outcome = await t.provider.nudge(name, text('hello'), {
        beforeTyping: async () => {
          await t.clock.sleep(ANNOUNCEMENT_MS);
          early = await arrived();
        },
      });
      t.equal(outcome.kind, 'delivered', `outcome (${JSON.stringify(outcome)})`);
      t.equal(early, false, 'something of it at the agent while it was announced');
      await t.until('the message', async () => (await t.readLines(name, 'messages.jsonl')).length > 0);
      t.equal(await t.readLines(name, 'messages.jsonl'), ['hello'], 'messages');
      if (t.subject.offers.has('questions')) await busyIsNotAnnounced(t, name);
    },
  ),
  beyond(
    'Question_IsToldAndAnsweredOnce',
    ['commands', 'messages', 'questions'],
    'what an agent asks reaches a person, and one answer reaches the agent',
    async (t) => {
      const name = t.name('asks');
      await t.start(name, t.agent(name, { kind: 'recorder', asks: 'after-message' }));
      t.equal(await interacting(t).pending(name), undefined, 'a question before anything was asked');
      await t.provider.nudge(name, text('make it'));
      const asked = await question(t, name);
      t.ok(asked.request_id !== '', 'an id of the question');
      t.ok(asked.prompt?.includes(QUESTION.about) === true, `what it is about, got ${asked.prompt}`);
      t.equal(asked.options, [...QUESTION.options], 'options');

      const [yes, always] = QUESTION.options;
      // Whoever answers may be another process than the one that told the question.
      const other = t.subject.offers.has('shared') ? interacting(t, await t.second()) : interacting(t);
      t.equal((await other.pending(name))?.request_id, asked.request_id, 'the id told by another');
      const unknown = await t.rejects(
        other.respond(name, { request_id: 'of-nothing', action: yes }),
        'an answer to what was not asked',
      );
      t.ok(NOT_ASKED.includes(unknown.code), `a code that says so, got ${unknown.code}`);
      t.equal(await t.readLines(name, 'answers.jsonl'), [], 'answers at the agent before there was one');

      await other.respond(name, { request_id: asked.request_id, action: always });
      await t.until('the answer', async () => (await t.readLines(name, 'answers.jsonl')).length > 0);
      await t.until('no question', async () => (await interacting(t).pending(name)) === undefined);
      const late = await t.rejects(
        interacting(t).respond(name, { request_id: asked.request_id, action: yes }),
        'a second answer',
      );
      t.ok(NOT_ASKED.includes(late.code), `a code that says so, got ${late.code}`);
      t.equal(await t.readLines(name, 'answers.jsonl'), [always], 'answers at the agent');
    },
  ),
  beyond(
    'ContinueStart_GoesOnAfterTheAnswer',
    ['commands', 'messages', 'questions', 'dialogs', 'continues'],
    'a start that a person had to help comes to its end, with its prompt',
    async (t) => {
      const name = t.name('asks');
      const agent = t.agent(name, { kind: 'recorder', asks: 'at-start' });
      const config = { ...agent, nudge: '[beacon] hello' };
      t.equal((await t.start(name, config)).kind, 'waits-for-person', 'result of the start');
      const { request_id } = await question(t, name);
      await interacting(t).respond(name, { request_id, action: QUESTION.options[0] });
      t.equal((await continueStart(t, name, config)).kind, 'ready', 'result of the rest');
      await t.until('the prompt', async () => (await t.readLines(name, 'messages.jsonl')).length > 0);
      t.equal(await t.readLines(name, 'messages.jsonl'), [config.nudge], 'messages');
    },
  ),
  beyond(
    'ContinueStart_OfWhatIsDoneOrGone',
    ['commands', 'messages', 'continues'],
    'a controller that comes back says nothing twice, and knows what is gone',
    async (t) => {
      const name = t.name('done');
      const config = { ...t.agent(name, { kind: 'recorder' }), nudge: '[beacon] hello' };
      await t.start(name, config);
      await t.until('the prompt', async () => (await t.readLines(name, 'messages.jsonl')).length > 0);
      t.equal((await continueStart(t, name, config)).kind, 'ready', 'result for a session that is ready');
      t.equal(await t.readLines(name, 'messages.jsonl'), [config.nudge], 'messages');
      const gone = await t.rejects(continueStart(t, t.name('none'), config), 'going on with nothing');
      t.equal(gone.code, 'session-not-found', 'code');
    },
  ),
  beyond('Usage_TellsWhatEachSessionTakes', ['usage'], 'a heavy agent is found by its numbers', async (t) => {
    const { provider } = t;
    if (!canMeasure(provider)) throw new ConformanceFailure('expected `usage` of a provider that offers it');
    const name = t.name('used');
    await t.start(name);
    const usage = await t.until('its numbers', async () => (await provider.usage()).get(name));
    t.ok(Number.isFinite(usage.memoryBytes) && usage.memoryBytes > 0, `bytes, got ${usage.memoryBytes}`);
    const cpu = [usage.cpuMs, usage.cpuShare].filter((each) => each !== undefined);
    t.ok(cpu.length > 0 && cpu.every((each) => each >= 0), `time or share of a processor, got ${cpu}`);
    await provider.stop(name);
    t.ok(!(await provider.usage()).has(name), 'no numbers of a stopped session');
  }),
];

/** The agent asks something: nothing can be typed, so nothing is announced, whether the provider says so or waits. */
async function busyIsNotAnnounced(t: Trial, name: string): Promise<void> {
  await question(t, name);
  let announced = 0;
  const stop = new AbortController();
  const beforeTyping = async () => {
    announced += 1;
  };
  const nudging = t.provider.nudge(name, text('not now'), { beforeTyping, signal: stop.signal });
  const ended = nudging.then(
    (outcome) => outcome.kind,
    () => 'given up',
  );
  const first = await Promise.race([ended, t.clock.sleep(BUSY_MS).then(() => 'waits')]);
  stop.abort(new Error('the case waited long enough'));
  const last = await ended;
  t.ok(
    first === 'busy' || (first === 'waits' && ['busy', 'given up'].includes(last)),
    `busy, got ${first}, ${last}`,
  );
  t.equal(announced, 0, 'announcements of a message that could not be typed');
}

function interacting(t: Trial, provider = t.provider): InteractionProvider {
  if (canInteract(provider)) return provider;
  throw new ConformanceFailure('expected `pending` and `respond` of a provider that offers `questions`');
}

const question = (t: Trial, name: string): Promise<PendingInteraction> =>
  t.until('the question', () => interacting(t).pending(name));

async function continueStart(t: Trial, name: string, config: RuntimeConfig): Promise<StartResult> {
  const { provider } = t;
  if (!canContinueStart(provider)) {
    throw new ConformanceFailure('expected `continueStart` of a provider that offers `continues`');
  }
  return provider.continueStart(name, config, { signal: AbortSignal.timeout(CONTINUE_TIMEOUT_MS) });
}
