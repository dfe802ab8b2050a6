import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { canObserve, type Observation } from '../../internal/runtime/provider.ts';
import { beyond } from './beyond.ts';
import type { ProviderCase } from './case.ts';
import { processLives } from './probe.ts';
import type { Trial } from './trial.ts';

/** An agent that dies must be known within this. */
const DEATH_LIMIT_MS = 5_000;

async function observation(t: Trial, name: string): Promise<Observation | undefined> {
  if (!canObserve(t.provider)) return undefined;
  const survey = await t.provider.observe();
  return survey.kind === 'seen' ? survey.sessions.get(name) : undefined;
}

async function promptArrives(t: Trial, prompt: string): Promise<void> {
  const name = t.name();
  const promptSuffix = `'${prompt.replaceAll("'", "'\\''")}'`;
  await t.start(name, { ...t.agent(name, { kind: 'facts' }), promptFlag: '--prompt', promptSuffix });
  const facts = await t.until('facts', () => t.readFacts(name));
  t.equal(facts.argv, ['--prompt', prompt], 'arguments of the agent');
  t.equal(await t.readFile(name, '.gc/tmp/prompt'), undefined, 'a prompt file left behind');
}

/** Starts an agent that ends at once; answers the last lines that the failed start tells. */
async function deathAtStart(t: Trial, wait: string): Promise<string> {
  const name = t.name();
  const agent = { kind: 'shell', script: `${wait}echo no such key >&2; exit 7` } as const;
  const config = t.agent(name, agent, { readyPromptPrefix: 'never>' });
  const error = await t.rejects(t.start(name, config), 'start of a dying agent');
  t.equal(error.code, 'died-during-startup', 'code');
  const { exit, lastLines } = error as Error & { exit?: { code?: number }; lastLines?: string };
  t.equal(exit?.code, 7, 'exit code');
  t.equal(await t.provider.isRunning(name), 'no', 'isRunning afterwards');
  return lastLines ?? '';
}

/** Start, stop and death: what Gas City's published cases leave open. */
export const LIFECYCLE_CASES: readonly ProviderCase[] = [
  beyond(
    'Start_DuplicateLeavesLiveSessionAlone',
    ['commands'],
    'a retried start never ends the healthy agent',
    async (t) => {
      const name = t.name();
      const config = { ...t.agent(name, { kind: 'facts' }), env: { GC_INSTANCE_TOKEN: 'same' } };
      await t.start(name, config);
      const before = await t.until('facts', () => t.readFacts(name));
      const error = await t.rejects(t.start(name, config), 'second start with the same token');
      t.equal(error.code, 'session-exists', 'code');
      t.equal(await t.provider.isRunning(name), 'yes', 'isRunning of the first');
      t.equal(await t.readFacts(name), before, 'the first agent’s facts');
    },
  ),
  beyond('Stop_TouchesOnlyTheExactName', [], 'a command for w-1 never hits w-10', async (t) => {
    const short = t.name('w');
    const long = `${short}0`;
    await t.start(long);
    await t.provider.stop(short);
    await t.provider.setMeta(long, 'k', 'v');
    t.equal(await t.provider.isRunning(short), 'no', 'isRunning of the short name');
    t.equal(await t.provider.isRunning(long), 'yes', 'isRunning of the long name');
    t.equal(await t.provider.getMeta(short, 'k'), '', 'metadata of the short name');
  }),
  beyond('Start_InvalidNamesRefused', [], 'a name that a back end would mangle is refused', async (t) => {
    for (const name of ['', 'a.b', 'a:b', 'a b', 'a/b', '=a', 'é', '🙂', "a'b", 'x'.repeat(300)]) {
      const error = await t.rejects(t.start(name, t.config('invalid')), `start of ${JSON.stringify(name)}`);
      t.equal(error.code, 'invalid-session-name', `code for ${JSON.stringify(name.slice(0, 20))}`);
    }
  }),
  beyond('Start_NameIsFreeAfterDeath', ['commands'], 'a dead session does not keep its name', async (t) => {
    const name = t.name();
    await t.start(name, t.agent(name, { kind: 'shell', ready: true, script: 'exit 3' }));
    await t.letGo(name);
    await t.until('death', async () => (await t.provider.isRunning(name)) === 'no', DEATH_LIMIT_MS);
    await t.start(name, t.config(name));
    t.equal(await t.provider.isRunning(name), 'yes', 'isRunning of the second life');
  }),
  beyond(
    'Start_DeathAtOnceTellsWhy',
    ['commands', 'exit-status'],
    'a failed start carries exit code and last lines',
    async (t) => {
      // A terminal that drops the last words now and then must keep them most of the time.
      const drains = t.subject.offers.has('drains-output');
      const waits = drains ? ['', 'sleep 0.05; '] : ['', 'sleep 0.05; ', '', 'sleep 0.05; ', 'sleep 0.05; '];
      const ends = await Promise.all(waits.map((wait) => deathAtStart(t, wait)));
      const told = ends.filter((lastLines) => lastLines.includes('no such key')).length;
      t.ok(
        drains ? told === waits.length : told > 1,
        `last lines with the message, got ${told} of ${waits.length}`,
      );
    },
  ),
  beyond(
    'Start_MissingProgramTellsWhich',
    ['commands', 'exit-status'],
    'a misspelt program is named',
    async (t) => {
      const name = t.name();
      const config = {
        ...t.agent(name, { kind: 'shell', script: '' }),
        command: 'no-such-program-of-ours --x',
        readyPromptPrefix: 'never>',
      };
      const error = await t.rejects(t.start(name, config), 'start of a missing program');
      t.equal(error.code, 'died-during-startup', 'code');
      const { exit, lastLines } = error as Error & { exit?: { code?: number }; lastLines?: string };
      t.equal(exit?.code, 127, 'exit code');
      t.ok(
        lastLines?.includes('no-such-program-of-ours') === true,
        `last lines with the name, got ${JSON.stringify(lastLines)}`,
      );
    },
  ),
  beyond(
    'Start_PreStartFailureCreatesNothing',
    ['commands', 'set-up'],
    'an agent never runs in the wrong place',
    async (t) => {
      const name = t.name();
      const config = { ...t.agent(name, { kind: 'facts' }), preStart: ['echo broken worktree >&2; exit 4'] };
      const error = await t.rejects(t.start(name, config), 'start with a failing pre_start');
      t.ok(
        error.message.includes('pre_start') && error.message.includes('broken worktree'),
        `step and output in ${JSON.stringify(error.message)}`,
      );
      t.equal(await t.provider.isRunning(name), 'no', 'isRunning');
      t.ok(!(await t.provider.listRunning('')).includes(name), 'nothing listed');
      t.equal(await t.readFacts(name), undefined, 'facts of an agent that must not run');
    },
  ),
  beyond('Start_AbortedLeavesNothing', ['commands'], 'a cancelled start leaks no session', async (t) => {
    const name = t.name();
    const cancel = new AbortController();
    const starting = t.start(name, t.agent(name, { kind: 'facts', neverReady: true }), cancel.signal);
    const failed = t.rejects(starting, 'cancelled start');
    await t.until('the agent', () => t.readFacts(name));
    cancel.abort(new Error('cancelled by the test'));
    await failed;
    t.equal(await t.provider.isRunning(name), 'no', 'isRunning after the cancel');
    t.ok(!(await t.provider.listRunning('')).includes(name), 'nothing listed');
  }),
  beyond(
    'Start_StepsInOrder',
    ['commands', 'set-up'],
    'set-up runs before and after the agent, as packs rely on',
    async (t) => {
      const name = t.name();
      const folder = t.agentFolder(name);
      const note = (what: string) => `printf '%s\\n' '"${what}"' >> '${folder}/order.jsonl'`;
      const config = {
        ...t.agent(name, { kind: 'facts' }),
        preStart: [`[ ! -e '${folder}/facts.json' ] && ${note('pre_start')}`],
        sessionSetup: [`[ "$GC_SESSION" = '${name}' ] && [ -e '${folder}/facts.json' ] && ${note('setup')}`],
        sessionLive: [note('live')],
      };
      await t.start(name, config);
      t.equal(await t.readLines(name, 'order.jsonl'), ['pre_start', 'setup', 'live'], 'order of the steps');
      t.equal(await t.provider.runLive(name, config), [], 'warnings of runLive');
      const after = ['pre_start', 'setup', 'live', 'live'];
      t.equal(await t.readLines(name, 'order.jsonl'), after, 'steps after the live ones ran again');
      t.equal(await t.readLines(name, 'starts.jsonl'), ['started'], 'starts of the agent');
    },
  ),
  beyond(
    'Start_OverlayTwiceIsTheSame',
    ['commands', 'overlay'],
    'a restart does not pile up hooks',
    async (t) => {
      const overlay = t.folder(t.name('overlay'));
      writeFileSync(join(overlay, 'notes.txt'), 'from the overlay\n');
      const name = t.name();
      const config = { ...t.config(name), overlayDir: overlay };
      await t.start(name, config);
      const first = await t.readFile(name, 'notes.txt');
      t.equal(first, 'from the overlay\n', 'the staged file');
      await t.provider.stop(name);
      await t.start(name, config);
      t.equal(await t.readFile(name, 'notes.txt'), first, 'the file, staged again');
    },
  ),
  beyond(
    'Stop_EndsTheWholeTree',
    ['commands', 'local'],
    'no helper of an agent survives, whatever it ignores',
    async (t) => {
      const name = t.name();
      await t.start(name, t.agent(name, { kind: 'forker' }));
      const pids = ((await t.readFile(name, 'pids')) ?? '').trim().split('\n').map(Number);
      t.equal(pids.length, 3, 'processes of the agent');
      await t.provider.stop(name, { graceMs: 200 });
      t.equal(pids.filter(processLives), [], 'processes left');
    },
  ),
  beyond(
    'Stop_RefusesAnotherIncarnation',
    ['env-as-meta', 'commands'],
    'a late stop never ends the successor',
    async (t) => {
      const name = t.name();
      await t.start(name, { ...t.config(name), env: { GC_INSTANCE_TOKEN: 'second' } });
      await t.provider.stop(name, { instanceToken: 'first' });
      t.equal(await t.provider.isRunning(name), 'yes', 'isRunning after a stop meant for another');
      await t.provider.stop(name, { instanceToken: 'second' });
      t.equal(await t.provider.isRunning(name), 'no', 'isRunning after its own stop');
    },
  ),
  beyond('Meta_DoesNotOutliveTheSession', [], 'drain flags of a former life are gone', async (t) => {
    const name = t.name();
    await t.start(name);
    await t.provider.setMeta(name, 'GC_DRAIN', '1');
    await t.provider.stop(name);
    await t.start(name);
    t.equal(await t.provider.getMeta(name, 'GC_DRAIN'), '', 'metadata of the second life');
  }),
  beyond('Meta_AnyText', [], 'a value comes back byte for byte', async (t) => {
    const name = t.name();
    await t.start(name);
    for (const value of [
      'trailing  ',
      'two\nlines\n',
      'é 🙂',
      '$HOME `x` "q" \'s\'',
      '-x',
      ';',
      'a=b',
      '#{pane_id} %1',
    ]) {
      await t.provider.setMeta(name, 'k', value);
      t.equal(await t.provider.getMeta(name, 'k'), value, 'the value');
    }
  }),
  beyond('Meta_FromStartEnvironment', ['env-as-meta'], 'a living session proves whose it is', async (t) => {
    const name = t.name();
    await t.start(name, { ...t.config(name), env: { GC_SESSION_ID: 'gc-7', GC_INSTANCE_TOKEN: 'abc' } });
    t.equal(await t.provider.getMeta(name, 'GC_SESSION_ID'), 'gc-7', 'GC_SESSION_ID');
    t.equal(await t.provider.getMeta(name, 'GC_INSTANCE_TOKEN'), 'abc', 'GC_INSTANCE_TOKEN');
  }),
  beyond(
    'Environment_ExactlyWhatWasGiven',
    ['commands', 'exact-env'],
    'nothing leaks in, an empty value means unset',
    async (t) => {
      const name = t.name();
      const env = { PATH: process.env['PATH'] ?? '', GIVEN: 'a "b" $c \'d\'', HOME: '', GC_RIG: '' };
      await t.start(name, { ...t.agent(name, { kind: 'facts' }), env });
      const facts = await t.until('facts', () => t.readFacts(name));
      t.ok(!('HOME' in facts.env) && !('GC_RIG' in facts.env), 'variables with empty values to be unset');
      const leaked = Object.keys(facts.env).filter(
        (k) => k.startsWith('GC_CONFORMANCE_LEAK') || k.startsWith('VITEST'),
      );
      t.equal(leaked, [], 'variables of the host');
    },
  ),
  beyond(
    'Environment_GivenValuesAndWorkDir',
    ['commands'],
    'an agent knows who it is and works where it should',
    async (t) => {
      const name = t.name();
      const env = { PATH: process.env['PATH'] ?? '', GIVEN: 'a "b" $c \'d\'\n# e' };
      await t.start(name, { ...t.agent(name, { kind: 'facts' }), env });
      const facts = await t.until('facts', () => t.readFacts(name));
      t.equal(facts.env['GIVEN'], env.GIVEN, 'the given value');
      t.equal(facts.cwd, t.agentFolder(name), 'working directory');
    },
  ),
  beyond('Descriptors_NoneOfOurs', ['commands', 'local'], 'no agent holds another’s terminal', async (t) => {
    const first = t.name('fd1');
    const second = t.name('fd2');
    await t.start(first);
    await t.start(second, t.agent(second, { kind: 'facts' }));
    const facts = await t.until('facts', () => t.readFacts(second));
    const foreign = facts.descriptors.filter(
      ([fd, target]) => Number(fd) > 2 && /^\/dev\/(pts|ptmx)|socket:/.test(target),
    );
    t.equal(foreign, [], 'terminals and sockets above descriptor 2');
  }),
  beyond(
    'Prompt_ArrivesAsOneArgument',
    ['commands', 'arguments'],
    'the first prompt is whole, however long or quoted',
    async (t) => {
      const prompts = [`it's "quoted" $HOME \`x\`\nsecond line; -x`, `${'long words '.repeat(2_000)}end`];
      await Promise.all(prompts.map((prompt) => promptArrives(t, prompt)));
    },
  ),
  beyond('Observe_TellsAllInOneCall', ['observe'], 'one look shows who runs', async (t) => {
    const [a, b] = [t.name('o1'), t.name('o2')];
    await Promise.all([t.start(a), t.start(b)]);
    const first = await observation(t, a);
    t.equal(first?.liveness.kind, 'running', 'the first');
    t.equal(first?.note, undefined, 'what keeps a healthy one from working');
    t.equal((await observation(t, b))?.liveness.kind, 'running', 'the second');
    await t.provider.stop(a);
    t.equal(await observation(t, a), undefined, 'the stopped one');
  }),
  beyond(
    'Observe_DeadPaneKeepsItsExit',
    ['observe', 'commands', 'exit-status'],
    'a death that nobody watched still says why',
    async (t) => {
      const name = t.name();
      await t.start(
        name,
        t.agent(name, { kind: 'shell', ready: true, script: 'echo last words; sleep 0.1; exit 9' }),
      );
      await t.letGo(name);
      const liveness = await t.until('death', async () => {
        const seen = (await observation(t, name))?.liveness;
        return seen?.kind === 'exited' ? seen : undefined;
      });
      const { code, signal, reason } = liveness.exit;
      t.equal({ code, signal }, { code: 9, signal: undefined }, 'exit');
      t.ok(reason === undefined || /[A-Za-z]/.test(reason), `a reason in words, got ${reason}`);
      t.ok(
        liveness.lastLines.includes('last words'),
        `last words, got ${JSON.stringify(liveness.lastLines)}`,
      );
    },
  ),
];
