import type { Context } from '../context.ts';
import type { Input } from './input.ts';

/** What a value names: completion offers live names for the first four. */
export type Completes = 'session' | 'agent' | 'template' | 'city' | 'path' | 'command' | readonly string[];

export interface ArgSpec {
  readonly name: string;
  readonly summary: string;
  readonly optional?: boolean;
  /** Takes all that follows; only the last one. */
  readonly variadic?: boolean;
  readonly completes?: Completes;
}

export interface OptionSpec {
  /** Long name without dashes. */
  readonly name: string;
  readonly short?: string;
  /** The name of its value in help; absent: a switch. */
  readonly value?: string;
  /** Its value may be left out: then it is a switch. */
  readonly valueOptional?: boolean;
  readonly summary: string;
  readonly default?: string;
  readonly repeatable?: boolean;
  readonly completes?: Completes;
  /** Accepted, but left out of help and docs. */
  readonly hidden?: boolean;
}

export interface Example {
  readonly command: string;
  readonly explains: string;
}

/** Exit code of the command; 0 is success. */
export type CommandRun = (context: Context, input: Input) => Promise<number>;

/** One command as data: help, docs, completion and the parser are all made from it. */
export interface CommandSpec {
  /** The words after `gc`: `session list`. */
  readonly path: string;
  readonly summary: string;
  /** Further paragraphs of its help. */
  readonly details?: string;
  readonly args?: readonly ArgSpec[];
  readonly options?: readonly OptionSpec[];
  readonly examples: readonly Example[];
  /** Exit codes beyond "0 success, 1 failure". */
  readonly exits?: readonly { readonly code: number; readonly when: string }[];
  /** It works on one city: `--city` is offered. */
  readonly city?: boolean;
  /** It serves until it is told to end and then needs time: its signals are its own and never cut it short. */
  readonly serves?: (input: Input) => boolean;
  /** What it started is its own to end: after Ctrl-C it has the time for that. */
  readonly tidies?: boolean;
  readonly hidden?: boolean;
  /** Loads the module that does the work: nothing of it is loaded before. */
  readonly load: () => Promise<CommandRun>;
}

/** Commands that share their first word, or the top-level ones under one heading of the help. */
export interface GroupSpec {
  /** The first word; `''` for top-level commands. */
  readonly word: string;
  /** Heading in `gc help`. */
  readonly heading: string;
  readonly summary: string;
  /** Bare or with a wrong word: an error with the list of words, or its help. */
  readonly bare: 'error' | 'help';
  readonly commands: readonly CommandSpec[];
}

export const JSON_OPTION: OptionSpec = {
  name: 'json',
  summary: 'print data as JSON; errors are JSON on stderr too',
};
