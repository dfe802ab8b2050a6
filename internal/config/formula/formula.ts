import type { SourcePosition } from '../city.ts';

/** A way to do a piece of work, as a pack or the city writes it down; `extends` is resolved. */
export interface Formula {
  readonly name: string;
  readonly description: string;
  readonly version: number;
  /** Names of the formulas that it is built on, as written. */
  readonly extends: readonly string[];
  readonly vars: readonly FormulaVar[];
  readonly steps: readonly FormulaStep[];
  /** Absolute. */
  readonly file: string;
}

export interface FormulaVar {
  readonly name: string;
  readonly description: string;
  /** `undefined`: none. */
  readonly default: string | undefined;
  readonly required: boolean;
  /** Allowed values; empty: any. */
  readonly enum: readonly string[];
  /** A regular expression that a value must match, or `''`. */
  readonly pattern: string;
}

export interface FormulaStep {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  /** Ids of steps that come first. */
  readonly needs: readonly string[];
  readonly source: SourcePosition;
}

/** `{{name}}` replaced by the values that are given; others stay as written. */
export function withVars(text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(/\{\{\s*([\w-]+)\s*\}\}/g, (whole, name: string) => values.get(name) ?? whole);
}

/** What is wrong with values for the variables of a formula; each is one sentence. */
export function varProblems(
  formula: Pick<Formula, 'vars'>,
  values: ReadonlyMap<string, string>,
): readonly string[] {
  const problems: string[] = [];
  for (const { name, required, default: preset, enum: allowed, pattern } of formula.vars) {
    const value = values.get(name);
    if (value === undefined) {
      if (required && preset === undefined) problems.push(`variable "${name}" is required`);
    } else if (allowed.length > 0 && !allowed.includes(value)) {
      problems.push(`variable "${name}" must be one of ${allowed.join(', ')}, not "${value}"`);
    } else if (pattern !== '' && !new RegExp(pattern).test(value)) {
      problems.push(`variable "${name}" must match ${pattern}, not "${value}"`);
    }
  }
  return problems;
}
