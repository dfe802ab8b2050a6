import { typed } from '../city/invocation.ts';
import type { CheckLevel, CheckReport } from '../doctor/check.ts';
import { onePlainLine } from './plain.ts';
import type { Style } from './style.ts';

const MARKS: Readonly<Record<CheckLevel, string>> = { ok: '✓', warn: '⚠', fail: '✗' };

export interface DoctorOptions {
  readonly verbose: boolean;
  readonly style: Style;
  readonly gc: string;
}

/** One line per check, what to do under those that are not well, and a summary. */
export function renderDoctor(reports: readonly CheckReport[], { verbose, style, gc }: DoctorOptions): string {
  const tint = { ok: style.good, warn: style.warn, fail: style.bad };
  const lines = reports.flatMap((report) => [
    `  ${tint[report.level](MARKS[report.level])} ${report.name} — ${onePlainLine(report.message)}`,
    ...(verbose ? (report.details ?? []).map((detail) => `      ${onePlainLine(detail)}`) : []),
    ...(report.hint ? [`    hint: ${typed(report.hint, gc)}`] : []),
  ]);
  const count = (level: CheckLevel) => reports.filter((report) => report.level === level).length;
  const summary = `${count('ok')} passed, ${count('warn')} warnings, ${count('fail')} failed`;
  return `${[...lines, '', summary].join('\n')}\n`;
}
