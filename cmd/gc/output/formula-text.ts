import { shownPath } from '../../../internal/config/document/source-document.ts';
import type { Formula, FormulaStep, FormulaVar } from '../../../internal/config/formula/formula.ts';
import { plainText } from './plain.ts';

export interface FormulaTextOptions {
  /** With what each step says. */
  readonly verbose: boolean;
  /** Paths inside of it are shown relative. */
  readonly baseDir: string;
}

/** Source of the headings: Gas City `gc formula show`. */
export function formulaText(formula: Formula, { verbose, baseDir }: FormulaTextOptions): string {
  const { name, description, version, extends: parents, vars, steps, file } = formula;
  return plainText(
    [
      `Formula: ${name}`,
      ...(description.trim() === '' ? [] : [`Description: ${description.trim().replace(/\n/g, '\n  ')}`]),
      `Version: ${version}`,
      ...(parents.length === 0 ? [] : [`Extends: ${parents.join(', ')}`]),
      `Source: ${shownPath(baseDir, file)}`,
      ...(vars.length === 0 ? [] : ['Variables:', ...varLines(vars)]),
      `Steps (${steps.length}):`,
      ...steps.flatMap((step, index) => stepLines(step, index, verbose)),
      '',
    ].join('\n'),
  );
}

function varLines(vars: readonly FormulaVar[]): readonly string[] {
  const width = Math.max(...vars.map(({ name }) => name.length));
  return vars.map((each) => {
    const { name, description, required, enum: allowed } = each;
    const facts = [
      ...(required ? ['required'] : []),
      ...(each.default === undefined ? [] : [`default ${JSON.stringify(each.default)}`]),
      ...(allowed.length === 0 ? [] : [`one of ${allowed.join(', ')}`]),
    ];
    const tail = facts.length === 0 ? '' : `  (${facts.join('; ')})`;
    return `  ${name.padEnd(width)}  ${description}${tail}`.trimEnd();
  });
}

function stepLines(
  { id, title, description, needs }: FormulaStep,
  index: number,
  verbose: boolean,
): readonly string[] {
  const after = needs.length === 0 ? '' : `  (after ${needs.join(', ')})`;
  const line = `  ${index + 1}. ${id}${title === '' ? '' : `: ${title}`}${after}`;
  if (!verbose || description.trim() === '') return [line];
  return [
    line,
    ...description
      .trimEnd()
      .split('\n')
      .map((each) => `     ${each}`.trimEnd()),
    '',
  ];
}
