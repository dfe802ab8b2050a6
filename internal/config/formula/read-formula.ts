import type { ConfigProblem } from '../city.ts';
import { didYouMean } from '../document/nearest.ts';
import { ProblemList } from '../document/problems.ts';
import { readDocument } from '../document/read-source.ts';
import { locate, type SourceDocument } from '../document/source-document.ts';
import { checkSchema } from '../schema/check-schema.ts';
import type { Formula, FormulaStep, FormulaVar } from './formula.ts';
import { formulaSchema, type RawFormula } from './schema-formula.ts';

export type FormulaResult =
  | { readonly kind: 'ok'; readonly formula: Formula; readonly warnings: readonly ConfigProblem[] }
  | { readonly kind: 'unknown' }
  | {
      readonly kind: 'invalid';
      readonly problems: readonly ConfigProblem[];
      /** Texts that were read, by file: for code frames. */
      readonly texts: ReadonlyMap<string, string>;
    };

/** The first version that only the graph engine understands. Source: Gas City. */
const FIRST_GRAPH_VERSION = 2;

/**
 * Reads a formula and those that it extends. `files`: of all layers that are in force, by name. `formulaV2`: what
 * `daemon.formula_v2` says. Never throws for what a person wrote.
 */
export async function readFormula(
  name: string,
  files: ReadonlyMap<string, string>,
  { formulaV2 }: { readonly formulaV2: boolean },
): Promise<FormulaResult> {
  const file = files.get(name);
  if (file === undefined) return { kind: 'unknown' };
  const reading: Reading = { files, problems: new ProblemList(), texts: new Map() };
  const read = await resolveFormula(reading, name, file, []);
  if (read) {
    checkVersion(read, formulaV2, reading.problems);
    checkSteps(read.formula, reading.problems);
  }
  const { problems, texts } = reading;
  if (!read || problems.hasErrors) return { kind: 'invalid', problems: problems.sorted(), texts };
  return { kind: 'ok', formula: read.formula, warnings: problems.warnings };
}

interface Reading {
  readonly files: ReadonlyMap<string, string>;
  readonly problems: ProblemList;
  readonly texts: Map<string, string>;
}

interface ReadFormula {
  readonly formula: Formula;
  readonly document: SourceDocument;
}

async function resolveFormula(
  reading: Reading,
  name: string,
  file: string,
  above: readonly string[],
): Promise<ReadFormula | undefined> {
  const { problems, texts, files } = reading;
  const { parsed, text } = await readDocument(file);
  texts.set(file, text);
  if (parsed.kind === 'unreadable') {
    problems.add(parsed.problems);
    return undefined;
  }
  problems.add(parsed.warnings);
  const { document } = parsed;
  const place = { document, path: [], rootLabel: `formula "${name}"`, unknownKeys: 'warning' as const };
  const raw = checkSchema(formulaSchema, document.data ?? {}, place, problems);
  if (!raw) return undefined;
  if (raw.formula !== undefined && raw.formula !== name) {
    const message = `formula "${name}" calls itself "${raw.formula}"; it is known by the name of its file`;
    problems.warning('formula-name', message, locate(document, ['formula'], 'value'));
  }
  let formula = ownFormula(name, raw, document);
  const stack = [...above, name];
  for (const [index, parent] of (raw.extends ?? []).toReversed().entries()) {
    const at = locate(document, ['extends', (raw.extends?.length ?? 0) - 1 - index], 'value');
    const parentFile = files.get(parent);
    if (parentFile === undefined) {
      const meant = didYouMean(parent, files.keys());
      problems.error(
        'formula-not-found',
        `formula "${name}" extends "${parent}", which is not there${meant}`,
        at,
      );
    } else if (stack.includes(parent)) {
      const way = [...stack.slice(stack.indexOf(parent)), parent].join(' -> ');
      problems.error('formula-cycle', `formula "${parent}" extends itself: ${way}`, at);
    } else {
      const base = await resolveFormula(reading, parent, parentFile, stack);
      if (base) formula = extended(base.formula, formula);
    }
  }
  return { formula, document };
}

function ownFormula(name: string, raw: RawFormula, document: SourceDocument): Formula {
  return {
    name,
    description: raw.description ?? '',
    version: raw.version ?? 1,
    extends: raw.extends ?? [],
    vars: Object.entries(raw.vars ?? {}).map(([key, value]) => ownVar(key, value)),
    steps: (raw.steps ?? []).map((step, index) => ({
      id: step.id,
      title: step.title ?? '',
      description: step.description ?? '',
      needs: [...new Set([...(step.needs ?? []), ...(step.depends_on ?? [])])],
      source: locate(document, ['steps', index, 'id'], 'value'),
    })),
    file: document.file,
  };
}

type RawVar = NonNullable<RawFormula['vars']>[string];

function ownVar(name: string, raw: RawVar): FormulaVar {
  const value = typeof raw === 'object' ? raw : { default: raw };
  return {
    name,
    description: value.description ?? '',
    default: value.default === undefined ? undefined : String(value.default),
    required: value.required ?? false,
    enum: (value.enum ?? []).map(String),
    pattern: value.pattern ?? '',
  };
}

/** A step of an id that is there takes its place, others follow; variables likewise. Pure. Source: Gas City `extends`. */
export function extended(base: Formula, over: Formula): Formula {
  return {
    ...over,
    description: over.description || base.description,
    vars: replaced(base.vars, over.vars, ({ name }) => name),
    steps: replaced(base.steps, over.steps, ({ id }) => id),
  };
}

function replaced<T>(base: readonly T[], over: readonly T[], keyOf: (item: T) => string): readonly T[] {
  const own = new Map(over.map((item) => [keyOf(item), item]));
  const there = new Set(base.map(keyOf));
  return [
    ...base.map((item) => own.get(keyOf(item)) ?? item),
    ...over.filter((item) => !there.has(keyOf(item))),
  ];
}

function checkVersion({ formula, document }: ReadFormula, formulaV2: boolean, problems: ProblemList): void {
  const { name, version } = formula;
  if (version < FIRST_GRAPH_VERSION || formulaV2) return;
  problems.error(
    'formula-v2',
    `formula "${name}" has version ${version}, which needs formula_v2`,
    locate(document, ['version'], 'value'),
    'set formula_v2: true under daemon in the city file',
  );
}

function checkSteps({ name, steps }: Formula, problems: ProblemList): void {
  const known = new Map<string, FormulaStep>();
  for (const step of steps) {
    if (known.has(step.id)) {
      problems.error('duplicate-step', `formula "${name}": there are two steps "${step.id}"`, step.source);
    }
    known.set(step.id, step);
  }
  for (const { id, needs, source } of steps) {
    for (const need of needs.filter((each) => !known.has(each))) {
      const message = `formula "${name}": step "${id}" needs "${need}", which is not there`;
      problems.error('unknown-step', message + didYouMean(need, known.keys()), source);
    }
  }
  const cycle = cycleIn(known);
  const [first] = cycle;
  if (first) {
    const way = [...cycle, first].map(({ id }) => id).join(' -> ');
    problems.error('step-cycle', `formula "${name}": steps wait for each other: ${way}`, first.source);
  }
}

/** Steps that need each other in a circle, none when there is no such circle. */
function cycleIn(steps: ReadonlyMap<string, FormulaStep>): readonly FormulaStep[] {
  const done = new Set<string>();
  const visit = (step: FormulaStep, above: readonly FormulaStep[]): readonly FormulaStep[] => {
    const at = above.indexOf(step);
    if (at >= 0) return above.slice(at);
    if (done.has(step.id)) return [];
    done.add(step.id);
    for (const id of step.needs) {
      const need = steps.get(id);
      const found = need ? visit(need, [...above, step]) : [];
      if (found.length > 0) return found;
    }
    return [];
  };
  for (const step of steps.values()) {
    const found = visit(step, []);
    if (found.length > 0) return found;
  }
  return [];
}
