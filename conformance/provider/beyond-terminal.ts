import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  canWaitForIdle,
  canWatch,
  type NudgeOutcome,
  type RuntimeEvent,
} from '../../internal/runtime/provider.ts';
import { beyond as anyBeyond, text } from './beyond.ts';
import type { ProviderCase } from './case.ts';
import type { Trial } from './trial.ts';

/** All of these run agents of the suite's own. */
const beyond: typeof anyBeyond = (name, needs, proves, run) =>
  anyBeyond(name, ['commands', ...needs], proves, run);

const delivered = (t: Trial, outcome: NudgeOutcome) =>
  t.equal(outcome.kind, 'delivered', `outcome (${JSON.stringify(outcome)})`);
/** Names the size of a message, not its text, in a failure. */
const EVENT_LIMIT_MS = 2_000;
const IDLE_LIMIT_MS = 5_000;

async function recorder(
  t: Trial,
  options: { burstMs?: number; readyAfterMs?: number; dialog?: string; works?: boolean } = {},
): Promise<string> {
  const name = t.name('rec');
  const config = t.agent(name, { kind: 'recorder', ...options });
  await t.start(name, options.dialog ? { ...config, emitsPermissionWarning: true } : config);
  return name;
}

const message = (t: Trial, name: string, count: number) =>
  t.until(`${count} message(s) at the agent`, async () => {
    const messages = await t.readLines(name, 'messages.jsonl');
    return messages.length >= count ? messages : undefined;
  });

/** An agent that printed 150 lines and then what `end` prints, the last of it `last`. */
async function printer(t: Trial, end: string): Promise<string> {
  const name = t.name('print');
  const script = `i=0; while [ $i -lt 150 ]; do i=$((i+1)); echo line-$i; done; ${end}; exec sleep 300`;
  await t.start(name, t.agent(name, { kind: 'shell', ready: true, script }));
  await t.letGo(name);
  await t.until('the output', async () => (await t.provider.peek(name, 5)).includes('last'));
  return name;
}

const tail = async (t: Trial, name: string, lines: number) =>
  (await t.provider.peek(name, lines)).split('\n').filter((line) => line !== '');

async function endsAfter(t: Trial, name: string, script: string): Promise<void> {
  await t.start(name, t.agent(name, { kind: 'shell', ready: true, script }));
  await t.letGo(name);
}

/** What reaches the agent and what is seen of it. */
export const TERMINAL_CASES: readonly ProviderCase[] = [
  beyond(
    'Nudge_BytesInBytesOut',
    ['messages'],
    'every message arrives whole and is submitted once',
    async (t) => {
      const name = await recorder(t);
      // Each is a message by itself, since most traps are at an end of it.
      const bodies = [`-x q'uo"te $HOME \`x\` #{pane_id} é 🙂 漢字 ${'y'.repeat(20_000)} a;`, ';'];
      for (const body of bodies) delivered(t, await t.provider.nudge(name, text(body)));
      t.equal(await message(t, name, bodies.length), bodies, 'messages');
    },
  ),
  beyond(
    'Nudge_LinesStayTogether',
    ['messages', 'multi-line'],
    'a text of several lines is one message',
    async (t) => {
      const name = await recorder(t);
      const body = '\tone\ntwo\n\n\nb; c\n  four';
      delivered(t, await t.provider.nudge(name, text(body)));
      t.equal(await message(t, name, 1), [body], 'messages');
    },
  ),
  beyond('Nudge_OneMegabyte', ['messages'], 'size is no limit', async (t) => {
    const name = await recorder(t);
    const body = 'abcdefghij'.repeat(100_000);
    delivered(t, await t.provider.nudge(name, text(body)));
    const seen = await message(t, name, 1);
    t.equal(seen[0]?.length, body.length, 'length');
    t.ok(seen[0] === body, 'the same bytes');
  }),
  beyond(
    'Nudge_SubmitSurvivesPasteBurst',
    ['messages', 'terminal'],
    'the submit key is not taken as part of the paste',
    async (t) => {
      const name = await recorder(t, { burstMs: 300 });
      delivered(t, await t.provider.nudge(name, text('x'.repeat(365))));
      t.equal(await message(t, name, 1), ['x'.repeat(365)], 'messages');
    },
  ),
  beyond('Nudge_ConcurrentOnesStayWhole', ['messages'], 'two senders never weave', async (t) => {
    const name = await recorder(t);
    const bodies = Array.from({ length: 2 }, (_, i) => `msg-${i} ${String(i).repeat(2_000)}`);
    for (const outcome of await Promise.all(bodies.map((body) => t.provider.nudge(name, text(body)))))
      delivered(t, outcome);
    t.equal([...(await message(t, name, bodies.length))].sort(), bodies, 'messages');
  }),
  beyond(
    'Nudge_LeftoverDraftIsNotMixedIn',
    ['messages', 'keys', 'screen'],
    'a draft never becomes part of the message',
    async (t) => {
      const name = await recorder(t);
      await t.provider.sendKeys(name, ['d', 'r', 'a', 'f', 't']);
      await t.until('the draft on the screen', async () =>
        (await t.provider.peek(name, 5)).includes('draft'),
      );
      delivered(t, await t.provider.nudge(name, text('hello')));
      t.equal(await message(t, name, 1), ['hello'], 'messages');
    },
  ),
  beyond('Nudge_AfterDeathSaysSo', ['messages'], 'text to a dead agent is no success', async (t) => {
    const name = t.name();
    await t.start(name, t.agent(name, { kind: 'shell', ready: true, script: 'exit 0' }));
    await t.letGo(name);
    await t.until('death', async () => (await t.provider.isRunning(name)) === 'no');
    const outcome = await t.provider.nudge(name, text('hello'));
    t.ok(outcome.kind === 'no-session', `no-session, got ${JSON.stringify(outcome)}`);
  }),
  beyond(
    'Start_NothingTypedBeforeReady',
    ['messages'],
    'the first prompt never lands in a shell',
    async (t) => {
      const name = t.name('slow');
      const config = { ...t.agent(name, { kind: 'recorder', readyAfterMs: 700 }), nudge: '[beacon] hello' };
      await t.start(name, config);
      t.equal(await message(t, name, 1), ['[beacon] hello'], 'messages');
      t.equal(await t.readLines(name, 'early.jsonl'), [], 'bytes before it was ready');
    },
  ),
  beyond(
    'Start_KnownDialogIsAnswered',
    ['dialogs'],
    'a start does not hang on a known question',
    async (t) => {
      const dialog =
        ' Accessing workspace:|| /tmp/x|| Quick safety check: Is this a project you created or one you trust?|| ❯ 1. Yes, I trust this folder|   2. No, exit|| Enter to confirm · Esc to cancel';
      const name = t.name('dialog');
      const config = t.agent(name, { kind: 'recorder', dialog });
      const result = await t.start(name, { ...config, emitsPermissionWarning: true });
      t.equal(result.kind, 'ready', 'result of the start');
      t.equal(result.answered.length, 1, 'questions answered');
    },
  ),
  beyond('SendKeys_ReachTheAgent', ['keys'], 'keys arrive as a terminal sends them', async (t) => {
    const name = await recorder(t);
    await t.provider.sendKeys(name, ['Up', 'h', 'i', 'Enter']);
    t.equal(await message(t, name, 1), ['hi'], 'messages');
    t.ok(
      (await t.readLines(name, 'keys.jsonl')).some((k) => k === '\x1b[A' || k === '\x1bOA'),
      'an arrow key',
    );
  }),
  beyond('Interrupt_ReachesTheAgent', ['messages', 'interrupts'], 'work can be stopped', async (t) => {
    const name = await recorder(t, { works: true });
    await t.provider.nudge(name, text('work'));
    await message(t, name, 1);
    await t.provider.interrupt(name);
    await t.until('the interrupt', async () =>
      (await t.readLines(name, 'keys.jsonl')).some((k) => ['\x03', 'SIGINT', 'cancel'].includes(k)),
    );
    t.equal(await t.provider.isRunning(name), 'yes', 'isRunning');
  }),
  beyond('Peek_ShowsTheLastLines', ['screen'], 'what is peeked is what was printed', async (t) => {
    const name = await printer(t, 'echo last');
    t.equal(await tail(t, name, 2), ['line-150', 'last'], 'the last two lines');
  }),
  beyond('Peek_JoinsWrappedLines', ['screen', 'unwrapped'], 'a long line is read as one', async (t) => {
    const long = 'w'.repeat(200);
    const name = await printer(t, `echo ${long}; echo last`);
    t.equal(await tail(t, name, 3), ['line-150', long, 'last'], 'the last three lines');
  }),
  beyond('Peek_OfEverythingHasTheScrollback', ['scrollback'], 'what scrolled away is not lost', async (t) => {
    const name = await printer(t, 'echo last');
    const all = (await t.provider.peek(name, 0)).split('\n');
    t.ok(all.includes('line-2') && all.includes('line-75'), 'an early and a middle line');
  }),
  beyond(
    'Output_NothingLostAtExit',
    ['scrollback', 'drains-output'],
    'the last words of a fast program are kept',
    async (t) => {
      const name = t.name();
      const script =
        'sleep 0.3; i=0; while [ $i -lt 400 ]; do i=$((i+1)); printf "%s\\n" "row-$i-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"; done';
      await t.start(name, t.agent(name, { kind: 'shell', ready: true, script }));
      await t.letGo(name);
      await t.until('death', async () => (await t.provider.isRunning(name)) === 'no');
      const seen = await t.provider.peek(name, 0);
      t.ok(
        seen.includes('row-400-') && seen.includes('row-1-'),
        `the first and the last row, got ${seen.length} characters`,
      );
    },
  ),
  beyond(
    'Watch_ReportsExitsAsTheyHappen',
    ['watch', 'exit-status'],
    'a death is known at once, with its reason',
    async (t) => {
      if (!canWatch(t.provider)) return;
      const stop = new AbortController();
      const events: RuntimeEvent[] = [];
      const watching = (async () => {
        if (!canWatch(t.provider)) return;
        for await (const event of t.provider.watch(stop.signal)) events.push(event);
      })();
      try {
        const [coded, signalled] = [t.name('code'), t.name('signal')];
        const script = 'echo why; sleep 0.1; exit 5';
        // A container's first process cannot be killed from inside: there the shell says it with a code.
        const killed = 'kill -KILL $$; exit 137';
        await Promise.all([endsAfter(t, coded, script), endsAfter(t, signalled, killed)]);
        const exit = (name: string) => events.find((e) => e.kind === 'exited' && e.name === name);
        const byCode = await t.until('the exit by code', () => exit(coded), EVENT_LIMIT_MS);
        const bySignal = await t.until('the exit by signal', () => exit(signalled), EVENT_LIMIT_MS);
        t.equal(byCode.kind === 'exited' && byCode.exit.code, 5, 'exit code');
        t.ok(byCode.kind === 'exited' && byCode.lastLines.includes('why'), 'last lines');
        const end = bySignal.kind === 'exited' ? bySignal.exit : undefined;
        const asCode = !t.subject.offers.has('local') && end?.code === 137;
        t.ok(end?.signal === 'SIGKILL' || asCode, `an end by SIGKILL, got ${JSON.stringify(end)}`);
      } finally {
        stop.abort();
        await watching;
      }
    },
  ),
  beyond(
    'WaitForIdle_TellsIdleFromBusy',
    ['messages', 'idle'],
    'a message can wait for its moment',
    async (t) => {
      if (!canWaitForIdle(t.provider)) return;
      const name = await recorder(t, { works: true });
      t.equal(await t.provider.waitForIdle(name, IDLE_LIMIT_MS), true, 'an agent at its prompt');
      await t.provider.nudge(name, text('work'));
      await message(t, name, 1);
      t.equal(await t.provider.waitForIdle(name, 700), false, 'a working agent');
    },
  ),
  beyond(
    'Activity_AdvancesWithOutput',
    ['messages', 'activity'],
    'a busy agent does not look idle',
    async (t) => {
      // Where activity is known to the second, it shows something in the next one too.
      const name = await recorder(t, { works: true });
      const before = await t.until('a first activity', () => t.provider.getLastActivity(name));
      await t.provider.nudge(name, text('wake up'));
      await t.until('later activity', async () => ((await t.provider.getLastActivity(name)) ?? 0) > before);
    },
  ),
  beyond('CopyTo_PutsTheFileIntoTheWorkDir', ['copy'], 'a file can be handed to an agent', async (t) => {
    const name = await recorder(t);
    const source = join(t.folder(t.name('src')), 'plan.md');
    writeFileSync(source, '# plan\n');
    await t.provider.copyTo(name, source, 'in/plan.md');
    t.equal(await t.readFile(name, 'in/plan.md'), '# plan\n', 'the copy');
  }),
  beyond(
    'Attach_TellsHowToEnterAndLeave',
    ['attach'],
    'a person can sit down and get up again',
    async (t) => {
      const name = await recorder(t);
      const plan = await t.provider.attach(name);
      t.ok(plan.leave.length > 0, 'a way to leave');
      if (plan.kind === 'spawn') {
        t.ok(plan.argv.length > 0, 'a program to run');
        return;
      }
      const stream = await plan.open({ columns: 100, rows: 30 });
      let seen = '';
      const reading = (async () => {
        for await (const bytes of stream.output) seen += Buffer.from(bytes).toString('utf8');
      })();
      await t.until('a first picture', () => seen.includes('READY>'));
      const tells = t.provider.capabilities().canReportAttachment;
      if (tells) t.equal(await t.provider.isAttached(name), 'yes', 'isAttached');
      stream.write(Buffer.from('typed by hand\r'));
      t.equal(await message(t, name, 1), ['typed by hand'], 'messages');
      stream.close();
      await reading;
      if (tells) await t.until('detached', async () => (await t.provider.isAttached(name)) === 'no');
      t.equal(await t.provider.isRunning(name), 'yes', 'isRunning after leaving');
    },
  ),
  beyond(
    'Second_ProviderSeesTheSameSessions',
    ['shared'],
    'a command in another process sees every agent',
    async (t) => {
      const name = t.name();
      await t.start(name);
      const other = await t.second();
      t.ok((await other.listRunning('')).includes(name), 'the session in the other’s list');
      await other.setMeta(name, 'k', 'v');
      // What one sees of a cluster is as old as its last word.
      const seen = async () => (await t.provider.getMeta(name, 'k')) === 'v';
      await t.until('metadata set by the other', seen, EVENT_LIMIT_MS);
      const error = await t.rejects(
        other.start(name, t.config(name), { signal: AbortSignal.timeout(10_000) }),
        'start by the other',
      );
      t.equal(error.code, 'session-exists', 'code');
      await other.stop(name);
      t.equal(await t.provider.isRunning(name), 'no', 'isRunning after the other stopped it');
    },
  ),
  beyond(
    'Second_ProviderReachesTheAgent',
    ['shared', 'messages'],
    'a command in another process can talk to every agent',
    async (t) => {
      const name = await recorder(t);
      delivered(t, await (await t.second()).nudge(name, text('from elsewhere')));
      t.equal(await message(t, name, 1), ['from elsewhere'], 'messages');
    },
  ),
];
