import { accessSync, constants, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { GcError } from '../../../internal/platform/errors.ts';

/** How a case of any suite ended. */
type CaseOutcome =
  | { readonly kind: 'passed' | 'not-applicable' }
  | { readonly kind: 'failed'; readonly reason: string };

export interface JunitCase {
  readonly name: string;
  readonly outcome: CaseOutcome;
  /** Milliseconds. */
  readonly took: number;
  /** Of one that is not applicable. */
  readonly why: string;
}

export type JunitTarget = { readonly kind: 'stdout' } | { readonly kind: 'file'; readonly file: string };

/**
 * Where a report is to go, before anything runs for minutes. `-`: stdout.
 * @throws GcError `report-folder` when no file can be written there
 */
export function junitTarget(cwd: string, asked: string | undefined): JunitTarget | undefined {
  if (asked === undefined) return undefined;
  if (asked === '-') return { kind: 'stdout' };
  const file = resolve(cwd, asked);
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory())
    throw new GcError('report-folder', `--junit ${asked}: that is a folder, not a file`);
  const folder = dirname(file);
  try {
    if (!statSync(folder).isDirectory()) throw new Error('no folder');
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new GcError('report-folder', `--junit ${asked}: no file can be written in ${folder}`, {
      cause: error,
      next: `mkdir -p ${folder}`,
    });
  }
  return { kind: 'file', file };
}

/** A run as the XML that build servers read. Source: the JUnit report format, as far as it is common to its readers. */
export function junitReport(suite: string, cases: readonly JunitCase[]): string {
  const count = (kind: CaseOutcome['kind']) => cases.filter(({ outcome }) => outcome.kind === kind).length;
  const time = cases.reduce((sum, { took }) => sum + took, 0);
  const numbers = `tests="${cases.length}" failures="${count('failed')}" skipped="${count('not-applicable')}"`;
  const head = `name="${escaped(suite)}" ${numbers} time="${seconds(time)}"`;
  const body = cases.map((each) => caseXml(suite, each)).join('');
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n<testsuite ${head}>\n${body}</testsuite>\n</testsuites>\n`;
}

function caseXml(suite: string, { name, outcome, took, why }: JunitCase): string {
  const head = `<testcase classname="${escaped(suite)}" name="${escaped(name)}" time="${seconds(took)}"`;
  switch (outcome.kind) {
    case 'passed':
      return `${head}/>\n`;
    case 'failed':
      return `${head}><failure message="${escaped(outcome.reason)}"/></testcase>\n`;
    case 'not-applicable':
      return `${head}><skipped message="${escaped(why)}"/></testcase>\n`;
  }
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(3);

/** What XML 1.0 cannot hold is left out. */
function escaped(text: string): string {
  return text
    .replace(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('"', '&quot;')
    .replace(/[\t\n\r]/g, (each) => `&#${each.charCodeAt(0)};`);
}
