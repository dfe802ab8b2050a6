import type { City } from '../../../internal/config/city.ts';
import { problemCount, problemJson } from '../../../internal/config/document/format-problems.ts';
import { didYouMean } from '../../../internal/config/document/nearest.ts';
import { type Formula, varProblems, withVars } from '../../../internal/config/formula/formula.ts';
import { formulaFiles } from '../../../internal/config/formula/formula-files.ts';
import { readFormula } from '../../../internal/config/formula/read-formula.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { cityRoot } from '../city/access.ts';
import { loadChecked, problemText } from '../city/load-city.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { ProblemsError } from '../output/errors.ts';
import { formulaText } from '../output/formula-text.ts';

export const runFormulaList: CommandRun = async (context, input) => {
  const { files } = await formulasHere(context, input);
  const names = [...files.keys()];
  if (context.json) {
    const data = names.map((name) => ({ name, path: files.get(name) }));
    context.out.write(`${JSON.stringify(data, null, 2)}\n`);
  } else if (names.length === 0) {
    context.out.write(
      'No formulas found. A formula is a file formulas/<name>.toml of the city or of a pack.\n',
    );
  } else context.out.write(names.map((name) => `${name}\n`).join(''));
  return 0;
};

export const runFormulaShow: CommandRun = async (context, input) => {
  const { city, files } = await formulasHere(context, input);
  const name = input.arg('name');
  const read = await readFormula(name, files, { formulaV2: city.daemon.formulaV2 });
  switch (read.kind) {
    case 'unknown':
      throw new GcError('unknown-formula', `formula "${name}" not found${didYouMean(name, files.keys())}`, {
        next: 'gc formula list',
      });
    case 'invalid': {
      const text = problemText(context.err, city.root, read.problems, read.texts);
      const data = read.problems.map(problemJson);
      throw new ProblemsError('formula-invalid', problemCount(read.problems), { text, data });
    }
    case 'ok': {
      if (!context.json) context.err.write(problemText(context.err, city.root, read.warnings, new Map()));
      const formula = filledIn(read.formula, input.texts('var'));
      context.out.write(
        context.json
          ? `${JSON.stringify(formulaJson(formula), null, 2)}\n`
          : formulaText(formula, { verbose: input.flag('verbose'), baseDir: city.root }),
      );
      return 0;
    }
  }
};

/** The formulas that are in force for the city, or for the rig that is meant. @throws UsageError for an unknown rig */
async function formulasHere(
  context: Context,
  input: Input,
): Promise<{ readonly city: City; readonly files: ReadonlyMap<string, string> }> {
  const city = await loadChecked(context, await cityRoot(context));
  const asked = input.text('rig');
  const names = city.rigs.map((rig) => rig.name);
  if (asked !== undefined && !names.includes(asked)) {
    throw new UsageError(
      `rig "${asked}" not found in the city file${didYouMean(asked, names)}`,
      'gc rig list',
    );
  }
  const rig = asked ?? context.env['GC_RIG'] ?? '';
  const { formulas } = city.layers;
  return { city, files: await formulaFiles(formulas.rigs[rig] ?? formulas.city) };
}

/** @throws UsageError for a variable that the formula does not have, or a value that it does not take */
function filledIn(formula: Formula, given: readonly string[]): Formula {
  if (given.length === 0) return formula;
  const values = new Map<string, string>();
  const known = formula.vars.map((each) => each.name);
  for (const text of given) {
    const at = text.indexOf('=');
    if (at < 1) throw new UsageError(`--var must be name=value, not "${text}"`);
    const name = text.slice(0, at);
    if (!known.includes(name)) {
      throw new UsageError(`formula "${formula.name}" has no variable "${name}"${didYouMean(name, known)}`);
    }
    values.set(name, text.slice(at + 1));
  }
  const [problem] = varProblems(formula, values);
  if (problem !== undefined) throw new UsageError(`formula "${formula.name}": ${problem}`);
  for (const { name, default: preset } of formula.vars) {
    if (preset !== undefined && !values.has(name)) values.set(name, preset);
  }
  const steps = formula.steps.map((step) => ({
    ...step,
    title: withVars(step.title, values),
    description: withVars(step.description, values),
  }));
  return { ...formula, description: withVars(formula.description, values), steps };
}

function formulaJson({ name, description, version, extends: parents, vars, steps, file }: Formula) {
  return {
    name,
    description,
    version,
    extends: parents,
    vars,
    steps: steps.map(({ source, ...step }) => ({ ...step, line: source.line, path: source.file })),
    path: file,
  };
}
