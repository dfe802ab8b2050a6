import type { ProviderCase } from '../../../conformance/provider/case.ts';
import { PROVIDER_CASES } from '../../../conformance/provider/suite.ts';
import { type CaseResult, runCase } from '../../../conformance/provider/trial.ts';
import { UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import { CHECKED_PROVIDERS, openSubject } from '../conformance/subjects.ts';
import type { Context } from '../context.ts';
import { onePlainLine } from '../output/plain.ts';

interface CaseReport {
  readonly name: string;
  readonly group: ProviderCase['group'];
  readonly proves: string;
  readonly result: CaseResult;
}

export const runConformanceProvider: CommandRun = async (context, input) => {
  const asked = input.arg('provider');
  const name = CHECKED_PROVIDERS.find((each) => each === asked);
  if (!name) {
    throw new UsageError(
      `no provider "${asked}" to check (expected one of: ${CHECKED_PROVIDERS.join(', ')})`,
    );
  }
  const only = input.text('only') ?? '';
  const cases = PROVIDER_CASES.filter((each) => each.name.toLowerCase().includes(only.toLowerCase()));
  if (cases.length === 0)
    throw new UsageError(`no case has "${only}" in its name`, 'gc conformance provider tmux --list');
  if (input.flag('list')) return printList(context, cases);
  const opened = openSubject(name, context);
  const reports: CaseReport[] = [];
  try {
    for (const each of cases) {
      context.signal.throwIfAborted();
      const result = await runCase(each, opened.subject);
      const report = { name: each.name, group: each.group, proves: each.proves, result };
      reports.push(report);
      if (!context.json) context.out.write(caseLine(report));
    }
  } finally {
    await opened.close();
  }
  const count = (kind: CaseResult['kind']) => reports.filter(({ result }) => result.kind === kind).length;
  const [passed, failed, skipped] = [count('passed'), count('failed'), count('not-applicable')];
  if (context.json)
    context.out.write(`${JSON.stringify({ provider: name, passed, failed, cases: reports }, null, 2)}\n`);
  else context.out.write(`\n${passed} passed, ${failed} failed, ${skipped} not applicable\n`);
  return failed > 0 ? 1 : 0;
};

function printList(context: Context, cases: readonly ProviderCase[]): number {
  const data = cases.map(({ name, group, needs, proves }) => ({ name, group, needs, proves }));
  context.out.write(
    context.json
      ? `${JSON.stringify(data, null, 2)}\n`
      : data.map(({ name, proves }) => `${name}\n    ${proves}\n`).join(''),
  );
  return 0;
}

function caseLine({ name, proves, result }: CaseReport): string {
  switch (result.kind) {
    case 'passed':
      return `  ✓ ${name}\n`;
    case 'failed':
      return `  ✗ ${name}\n      ${onePlainLine(result.reason)}\n      not proven: ${proves}\n`;
    case 'not-applicable':
      return `  - ${name} (does not offer ${result.missing.join(', ')})\n`;
  }
}
