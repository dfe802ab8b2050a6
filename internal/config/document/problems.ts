import type { ConfigProblem, SourcePosition } from '../city.ts';

const SEVERITIES: readonly ConfigProblem['severity'][] = ['error', 'warning', 'note'];

/** Everything found wrong so far. Nothing stops at the first problem. */
export class ProblemList {
  readonly #all: ConfigProblem[] = [];

  error(code: string, message: string, position: SourcePosition | undefined, hint?: string): void {
    this.#all.push({ severity: 'error', code, message, position, hint });
  }

  warning(code: string, message: string, position: SourcePosition | undefined, hint?: string): void {
    this.#all.push({ severity: 'warning', code, message, position, hint });
  }

  note(code: string, message: string, position: SourcePosition | undefined, hint?: string): void {
    this.#all.push({ severity: 'note', code, message, position, hint });
  }

  add(problems: readonly ConfigProblem[]): void {
    this.#all.push(...problems);
  }

  get hasErrors(): boolean {
    return this.#all.some((problem) => problem.severity === 'error');
  }

  get warnings(): readonly ConfigProblem[] {
    return this.sorted().filter((problem) => problem.severity === 'warning');
  }

  get notes(): readonly ConfigProblem[] {
    return this.sorted().filter((problem) => problem.severity === 'note');
  }

  /** Errors before warnings before notes, each in the order of files as first met, then of lines. */
  sorted(): readonly ConfigProblem[] {
    const files = new Map<string, number>();
    for (const { position } of this.#all) {
      if (position && !files.has(position.file)) files.set(position.file, files.size);
    }
    const rank = (problem: ConfigProblem): readonly number[] => [
      SEVERITIES.indexOf(problem.severity),
      problem.position ? (files.get(problem.position.file) ?? 0) : -1,
      problem.position?.line ?? 0,
      problem.position?.column ?? 0,
    ];
    return this.#all
      .map((problem) => ({ problem, key: rank(problem) }))
      .sort((a, b) => compare(a.key, b.key))
      .map(({ problem }) => problem);
  }
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (let index = 0; index < a.length; index += 1) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
