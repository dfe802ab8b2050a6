import { GcError, messageOf } from '../../../internal/platform/errors.ts';
import { typed } from '../city/invocation.ts';
import { plainText } from './plain.ts';

export interface ErrorStyle {
  /** The words of the command that failed; `''` for the program itself. */
  readonly path: string;
  readonly json: boolean;
  /** `gc` or `npx gc`. */
  readonly gc: string;
  readonly bold: (text: string) => string;
  readonly debug: boolean;
}

/** What can be said about a failure beyond its message, one entry per problem. */
export interface ProblemList {
  /** The problems as text, ready to print, with line ends. */
  readonly text: string;
  readonly data: readonly unknown[];
}

/** An error that stands for several problems, each with its place. */
export class ProblemsError extends GcError {
  readonly problems: ProblemList;

  constructor(
    code: string,
    message: string,
    problems: ProblemList,
    options: { cause?: unknown; next?: string } = {},
  ) {
    super(code, message, options);
    this.problems = problems;
  }
}

/** What is written to stderr about a failed command. */
export function renderError(error: unknown, style: ErrorStyle): string {
  return style.json ? errorJson(error, style) : errorText(error, style);
}

function errorText(error: unknown, style: ErrorStyle): string {
  const problems = error instanceof ProblemsError ? error.problems.text : '';
  const prefix = style.path === '' ? 'gc' : `gc ${style.path}`;
  const message = plainText(typed(messageOf(error), style.gc));
  const next = nextOf(error, style.gc);
  const stack = style.debug && error instanceof Error && error.stack ? `${error.stack}\n` : '';
  return `${problems}${prefix}: ${style.bold(message)}\n${next ? `  next: ${next}\n` : ''}${stack}`;
}

function errorJson(error: unknown, style: ErrorStyle): string {
  const body = {
    code: error instanceof GcError ? error.code : 'internal',
    command: style.path,
    message: messageOf(error),
    ...(error instanceof GcError && error.next ? { next: typed(error.next, style.gc) } : {}),
    ...(error instanceof ProblemsError ? { problems: error.problems.data } : {}),
  };
  return `${JSON.stringify({ error: body })}\n`;
}

function nextOf(error: unknown, gc: string): string | undefined {
  return error instanceof GcError && error.next ? typed(error.next, gc) : undefined;
}
