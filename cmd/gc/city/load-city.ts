import type { City, ConfigProblem } from '../../../internal/config/city.ts';
import {
  problemCount,
  problemFrame,
  problemJson,
  problemLine,
} from '../../../internal/config/document/format-problems.ts';
import { type LoadResult, loadCity } from '../../../internal/config/load-city.ts';
import type { Context, Sink } from '../context.ts';
import { ProblemsError } from '../output/errors.ts';

/** The city of a folder; its warnings go to stderr. @throws ProblemsError `config-invalid` with every error and its place */
export async function loadChecked(context: Context, root: string): Promise<City> {
  const loaded = await loadCity(root, { env: context.env });
  if (loaded.kind === 'invalid') throw problemsError(context, root, loaded);
  if (!context.json) context.err.write(problemText(context.err, root, loaded.city.warnings, loaded.texts));
  return loaded.city;
}

/** All problems of a city file as one error; notes are for those who inspect a config. */
export function problemsError(
  context: Context,
  root: string,
  { problems: all, texts }: Extract<LoadResult, { kind: 'invalid' }>,
): ProblemsError {
  const problems = all.filter(({ severity }) => severity !== 'note');
  const message = `${problemCount(problems)} Nothing was changed; what runs keeps its last good config.`;
  return new ProblemsError('config-invalid', message, {
    text: problemText(context.err, root, problems, texts),
    data: problems.map(problemJson),
  });
}

/** With the lines of the file around each at a terminal; one line each in a pipe. */
export function problemText(
  sink: Sink,
  root: string,
  problems: readonly ConfigProblem[],
  texts: ReadonlyMap<string, string>,
): string {
  if (!sink.isTTY) return problems.map((problem) => `${problemLine(problem, root)}\n`).join('');
  const { bold, bad, warn, dim } = sink.style;
  const paint = { place: bold, error: bad, warning: warn, quiet: dim };
  const options = { baseDir: root, texts, paint, columns: sink.columns };
  return problems.map((problem) => `${problemFrame(problem, options)}\n`).join('');
}
