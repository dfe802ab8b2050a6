import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ContentBlock,
  canWaitForIdle,
  canWatch,
  type NudgeOutcome,
  type RuntimeEvent,
} from '../../internal/runtime/provider.ts';
import { letGo, readLines } from './agents.ts';
import type { Ability, ProviderCase } from './case.ts';
import type { Trial } from './trial.ts';

const beyond = (
  name: string,
  needs: readonly Ability[],
  proves: string,
  run: (trial: Trial) => Promise<void>,
): ProviderCase => ({ name, group: 'beyond', needs: ['commands', ...needs], proves, run });

const text = (value: string): readonly ContentBlock[] => [{ type: 'text', text: value }];
const delivered = (t: Trial, outcome: NudgeOutcome) =>
  t.equal(outcome.kind, 'delivered', `outcome (${JSON.stringify(outcome)})`);
/** Names the size of a message, not its text, in a failure. */
const EVENT_LIMIT_MS = 2_000;
const IDLE_LIMIT_MS = 5_000;

async function recorder(
  t: Trial,
  options: { burstMs?: number; readyAfterMs?: number; dialog?: string } = {},
): Promise<string> {
  const name = t.name('rec');
  const config = t.agent(name, { kind: 'recorder', ...options });
  await t.start(name, options.dialog ? { ...config, emitsPermissionWarning: true } : config);
  return name;
}

const messages = (t: Trial, name: string) => readLines(t.folder(name), 'messages.jsonl');
const message = (t: Trial, name: string, count: number) =>
  t.until(`${count} message(s) at the agent`, () =>
    messages(t, name).length >= count ? messages(t, name) : undefined,
  );

/** What reaches the agent and what is seen of it. */
export const TERMINAL_CASES: readonly ProviderCase[] = [
  beyond(
    'Nudge_BytesInBytesOut',
    ['terminal'],
    'every message arrives whole and is submitted once',
    async (t) => {
      const name = await recorder(t);
      const bodies = [
        'plain',
        '-x',
        '--help',
        'a;',
        ';',
        'one\ntwo\nthree',
        'q\'uo"te $HOME `x` #{pane_id}',
        'é 🙂 漢字',
        'y'.repeat(20_000),
      ];
      for (const body of bodies) delivered(t, await t.provider.nudge(name, text(body)));
      t.equal(await message(t, name, bodies.length), bodies, 'messages');
    },
  ),
  beyond('Nudge_OneMegabyte', ['terminal'], 'size is no limit', async (t) => {
    const name = await recorder(t);
    const body = 'abcdefghij'.repeat(100_000);
    delivered(t, await t.provider.nudge(name, text(body)));
    const seen = await message(t, name, 1);
    t.equal(seen[0]?.length, body.length, 'length');
    t.ok(seen[0] === body, 'the same bytes');
  }),
  beyond(
    'Nudge_SubmitSurvivesPasteBurst',
    ['terminal'],
    'the submit key is not taken as part of the paste',
    async (t) => {
      const name = await recorder(t, { burstMs: 300 });
      delivered(t, await t.provider.nudge(name, text('x'.repeat(365))));
      t.equal(await message(t, name, 1), ['x'.repeat(365)], 'messages');
    },
  ),
  beyond('Nudge_ConcurrentOnesStayWhole', ['terminal'], 'two senders never weave', async (t) => {
    const name = await recorder(t);
    const bodies = Array.from({ length: 6 }, (_, i) => `msg-${i} ${String(i).repeat(2_000)}`);
    for (const outcome of await Promise.all(bodies.map((body) => t.provider.nudge(name, text(body)))))
      delivered(t, outcome);
    t.equal([...(await message(t, name, bodies.length))].sort(), bodies, 'messages');
  }),
  beyond(
    'Nudge_LeftoverDraftIsNotMixedIn',
    ['terminal'],
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
  beyond('Nudge_AfterDeathSaysSo', ['terminal'], 'text to a dead agent is no success', async (t) => {
    const name = t.name();
    await t.start(name, t.agent(name, { kind: 'shell', ready: true, script: 'exit 0' }));
    letGo(t.folder(name));
    await t.until('death', async () => (await t.provider.isRunning(name)) === 'no');
    const outcome = await t.provider.nudge(name, text('hello'));
    t.ok(outcome.kind === 'no-session', `no-session, got ${JSON.stringify(outcome)}`);
  }),
  beyond(
    'Start_NothingTypedBeforeReady',
    ['terminal'],
    'the first prompt never lands in a shell',
    async (t) => {
      const name = t.name('slow');
      const config = { ...t.agent(name, { kind: 'recorder', readyAfterMs: 700 }), nudge: '[beacon] hello' };
      await t.start(name, config);
      t.equal(await message(t, name, 1), ['[beacon] hello'], 'messages');
      t.equal(readLines(t.folder(name), 'early.jsonl'), [], 'bytes before it was ready');
    },
  ),
  beyond(
    'Start_KnownDialogIsAnswered',
    ['terminal'],
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
  beyond('SendKeys_ReachTheAgent', ['terminal'], 'keys arrive as a terminal sends them', async (t) => {
    const name = await recorder(t);
    await t.provider.sendKeys(name, ['Up', 'h', 'i', 'Enter']);
    t.equal(await message(t, name, 1), ['hi'], 'messages');
    t.ok(
      readLines(t.folder(name), 'keys.jsonl').some((k) => k === '\x1b[A' || k === '\x1bOA'),
      'an arrow key',
    );
  }),
  beyond('Interrupt_ReachesTheAgent', ['terminal'], 'Ctrl-C is felt', async (t) => {
    const name = await recorder(t);
    await t.provider.interrupt(name);
    await t.until('the interrupt', () =>
      readLines(t.folder(name), 'keys.jsonl').some((k) => k === '\x03' || k === 'SIGINT'),
    );
    t.equal(await t.provider.isRunning(name), 'yes', 'isRunning');
  }),
  beyond('Peek_LastLinesWholeAndUnwrapped', ['terminal'], 'what is peeked is what was printed', async (t) => {
    const name = t.name();
    const long = 'w'.repeat(200);
    await t.start(
      name,
      t.agent(name, {
        kind: 'shell',
        script: `i=0; while [ $i -lt 150 ]; do i=$((i+1)); echo line-$i; done; echo ${long}; echo last; exec sleep 300`,
      }),
    );
    await t.until('the output', async () => (await t.provider.peek(name, 5)).includes('last'));
    const tail = (await t.provider.peek(name, 3)).split('\n').filter((l) => l !== '');
    t.equal(tail, ['line-150', long, 'last'], 'the last three lines');
    const all = (await t.provider.peek(name, 0)).split('\n');
    t.ok(all.includes('line-1') && all.includes('line-75'), 'scrollback in a peek of everything');
  }),
  beyond(
    'Output_NothingLostAtExit',
    ['terminal', 'drains-output'],
    'the last words of a fast program are kept',
    async (t) => {
      const name = t.name();
      const script =
        'sleep 0.3; i=0; while [ $i -lt 400 ]; do i=$((i+1)); printf "%s\\n" "row-$i-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"; done';
      await t.start(name, t.agent(name, { kind: 'shell', ready: true, script }));
      letGo(t.folder(name));
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
    ['watch'],
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
        await t.start(
          coded,
          t.agent(coded, { kind: 'shell', ready: true, script: 'echo why; sleep 0.1; exit 5' }),
        );
        letGo(t.folder(coded));
        await t.start(
          signalled,
          t.agent(signalled, { kind: 'shell', script: 'echo $$ > pid; exec sleep 300' }),
        );
        const pid = await t.until('a pid', () => {
          const file = join(t.folder(signalled), 'pid');
          return existsSync(file) && Number(readFileSync(file, 'utf8'));
        });
        process.kill(pid, 'SIGKILL');
        const exit = (name: string) => events.find((e) => e.kind === 'exited' && e.name === name);
        const byCode = await t.until('the exit by code', () => exit(coded), EVENT_LIMIT_MS);
        const bySignal = await t.until('the exit by signal', () => exit(signalled), EVENT_LIMIT_MS);
        t.equal(byCode.kind === 'exited' && byCode.exit.code, 5, 'exit code');
        t.ok(byCode.kind === 'exited' && byCode.lastLines.includes('why'), 'last lines');
        t.equal(bySignal.kind === 'exited' && bySignal.exit.signal, 'SIGKILL', 'signal');
      } finally {
        stop.abort();
        await watching;
      }
    },
  ),
  beyond(
    'WaitForIdle_TellsIdleFromBusy',
    ['terminal', 'idle'],
    'a message can wait for its moment',
    async (t) => {
      if (!canWaitForIdle(t.provider)) return;
      const name = await recorder(t);
      t.equal(await t.provider.waitForIdle(name, IDLE_LIMIT_MS), true, 'an agent at its prompt');
      const busy = t.name('busy');
      const script =
        "printf 'READY> '; sleep 0.5; printf '\\r\\033[2K'; while :; do printf '\\r* working (esc to interrupt)'; sleep 0.05; done";
      await t.start(busy, { ...t.agent(busy, { kind: 'shell', script }), readyPromptPrefix: 'READY> ' });
      await t.until('busy', async () => (await t.provider.peek(busy, 3)).includes('esc to interrupt'));
      t.equal(await t.provider.waitForIdle(busy, 700), false, 'a working agent');
    },
  ),
  beyond('Activity_AdvancesWithOutput', ['terminal'], 'a busy agent does not look idle', async (t) => {
    const name = await recorder(t);
    const before = await t.until('a first activity', () => t.provider.getLastActivity(name));
    await t.clock.sleep(1_100);
    await t.provider.nudge(name, text('wake up'));
    await t.until('later activity', async () => ((await t.provider.getLastActivity(name)) ?? 0) > before);
  }),
  beyond('CopyTo_PutsTheFileIntoTheWorkDir', ['terminal'], 'a file can be handed to an agent', async (t) => {
    const name = await recorder(t);
    const source = join(t.folder(t.name('src')), 'plan.md');
    writeFileSync(source, '# plan\n');
    await t.provider.copyTo(name, source, 'in/plan.md');
    t.equal(readFileSync(join(t.folder(name), 'in', 'plan.md'), 'utf8'), '# plan\n', 'the copy');
  }),
  beyond(
    'Attach_TellsHowToEnterAndLeave',
    ['attach', 'terminal'],
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
      t.equal(await t.provider.isAttached(name), 'yes', 'isAttached');
      stream.write(Buffer.from('typed by hand\r'));
      t.equal(await message(t, name, 1), ['typed by hand'], 'messages');
      stream.close();
      await reading;
      await t.until('detached', async () => (await t.provider.isAttached(name)) === 'no');
      t.equal(await t.provider.isRunning(name), 'yes', 'isRunning after leaving');
    },
  ),
  beyond(
    'Second_ProviderSeesTheSameSessions',
    ['shared', 'terminal'],
    'a command in another process reaches every agent',
    async (t) => {
      const name = await recorder(t);
      const other = await t.subject.second?.();
      if (!other) return;
      t.ok((await other.listRunning('')).includes(name), 'the session in the other’s list');
      delivered(t, await other.nudge(name, text('from elsewhere')));
      t.equal(await message(t, name, 1), ['from elsewhere'], 'messages');
      await other.setMeta(name, 'k', 'v');
      t.equal(await t.provider.getMeta(name, 'k'), 'v', 'metadata set by the other');
      const error = await t.rejects(
        other.start(name, t.config(name), { signal: AbortSignal.timeout(10_000) }),
        'start by the other',
      );
      t.equal(error.code, 'session-exists', 'code');
      await other.stop(name);
      t.equal(await t.provider.isRunning(name), 'no', 'isRunning after the other stopped it');
    },
  ),
];
