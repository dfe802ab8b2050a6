import type { Ability } from '../../../conformance/provider/abilities.ts';
import type { ProviderSubject } from '../../../conformance/provider/case.ts';
import type { CaseReport } from '../../../conformance/provider/run.ts';
import { Trial } from '../../../conformance/provider/trial.ts';
import { messageOf } from '../../../internal/platform/errors.ts';
import type { ScriptCalls } from '../../../internal/runtime/exec/script-calls.ts';
import type { LackReasons } from './provider-report.ts';

/** What goes with an operation that a script may leave out by answering exit 2. Source: Gas City exec protocol. */
const OPERATIONS: readonly (readonly [operation: string, abilities: readonly Ability[]])[] = [
  ['nudge', ['messages']],
  ['send-keys', ['keys', 'questions']],
  ['interrupt', ['interrupts']],
  [
    'peek',
    ['screen', 'unwrapped', 'scrollback', 'idle', 'dialogs', 'questions', 'exit-status', 'drains-output'],
  ],
  ['get-last-activity', ['activity']],
  ['attach', ['attach']],
];
/** Without these nothing is a session: not knowing one is a failure. Source: Gas City exec protocol. */
const NEEDED: ReadonlySet<string> = new Set(['start', 'stop', 'is-running']);
/** An `attach` without a terminal may never end. */
const PROBE_MS = 5_000;
const NO_SUCH_SESSION = 'gct-none-x';
const EXIT_UNKNOWN = 2;
/** A script that runs what it is given has started a small program by then. */
const COMMAND_PATIENCE_MS = 2_000;
/** The protocol asks for these: a case that fails for them is a failure, whatever else it needs. */
const PROMISED: ReadonlySet<Ability> = new Set<Ability>(['commands', 'messages', 'observe']);

/**
 * What a script does not offer, as far as it can be told beforehand: operations that it answers with exit 2, and, where
 * it does not run what it is given, everything that shows itself in an agent.
 */
export async function lacksOfScript(
  calls: ScriptCalls,
  subject: ProviderSubject,
  knowsPaste: boolean,
): Promise<LackReasons> {
  const lacks: Partial<Record<Ability, string>> = {
    watch: 'the exec protocol has no operation that tells of deaths',
    usage: 'the exec protocol has no operation that measures',
  };
  for (const [operation, abilities] of OPERATIONS) {
    if (operation === 'nudge' && knowsPaste) continue;
    const result = await calls.run([operation, NO_SUCH_SESSION, '1'], { stdin: '', timeoutMs: PROBE_MS });
    if (result.kind !== 'ended' || result.code !== EXIT_UNKNOWN) continue;
    for (const ability of abilities) lacks[ability] = `the script does not know "${operation}" (exit 2)`;
  }
  const idle = await whyNoCommands(subject);
  if (idle !== '') lacks.commands = idle;
  return lacks;
}

/** `''`: a program that it was told to run did run. */
async function whyNoCommands(subject: ProviderSubject): Promise<string> {
  const trial = new Trial(subject, COMMAND_PATIENCE_MS);
  const name = trial.name('probe');
  try {
    const script = 'echo up > ran; exec sleep 300';
    await trial.start(name, trial.agent(name, { kind: 'shell', script }));
    await trial.until('the program', () => trial.readFile(name, 'ran'));
    return '';
  } catch (error) {
    return `it does not run what it is given: ${messageOf(error)}`;
  } finally {
    await trial.cleanUp().catch(() => undefined); // the cases find out and say so
  }
}

/**
 * The protocol leaves most of it to the script. A case that fails and needs such a thing says what the script does not
 * offer; with `required` it is a failure.
 */
export function judgeScript(required: ReadonlySet<Ability>): (report: CaseReport) => CaseReport {
  return (report) => {
    const { result, test } = report;
    if (result.kind !== 'failed') return report;
    // Said aloud rather than passed over: no promise is broken by a script that does not know an operation.
    const unknown = / does not support "(\S+)" \(exit 2\)/.exec(result.reason)?.[1];
    if (unknown !== undefined && !NEEDED.has(unknown) && !test.needs.some((need) => required.has(need)))
      return {
        ...report,
        result: { kind: 'not-applicable', missing: [`the script leaves out "${unknown}"`] },
      };
    const left = test.needs.filter((need) => !PROMISED.has(need));
    if (left.length === 0 || left.some((need) => required.has(need))) return report;
    return { ...report, result: { kind: 'not-applicable', missing: left, seen: result.reason } };
  };
}
