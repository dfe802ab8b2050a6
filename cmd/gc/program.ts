import { nearest } from '../../internal/config/document/nearest.ts';
import { type Called, firstWord, isCoreWord } from './cli/first-word.ts';
import { UsageError } from './cli/input.ts';
import { type Parsed, parse } from './cli/parser.ts';
import type { Context } from './context.ts';
import { groups } from './table/table.ts';

export const EXIT_FAILURE = 1;
/** Another controller or supervisor holds the lock. */
export const EXIT_ALREADY_RUNNING = 3;
const ALREADY_RUNNING_CODES: ReadonlySet<unknown> = new Set(['already-running', 'controller-running']);
/** 128 + SIGINT, as shells report it. */
const EXIT_INTERRUPTED = 130;

/** How long a command may take to end after Ctrl-C. */
const INTERRUPT_GRACE_MS = 1_000;
/** How long one may take that first ends what it started: a start that hangs is given up after half of it. */
const TIDY_GRACE_MS = 60_000;

export type BaseContext = Omit<Context, 'cityOption' | 'json' | 'commands'>;

/** One run of the program: the words after `gc` to an exit code. Everything that is printed goes through `base`. */
export async function runProgram(argv: readonly string[], base: BaseContext): Promise<number> {
  const called = firstWord(argv);
  const unknown = called && !isCoreWord(groups, called.word) ? await runUnknown(called, base) : undefined;
  if (typeof unknown === 'number') return unknown;
  const parsed = parse(groups, argv, {
    columns: Math.min(base.out.columns, 100),
    title: base.out.style.bold,
  });
  switch (parsed.kind) {
    case 'print':
      base.out.write(parsed.text);
      return 0;
    case 'usage':
      await report(usageError(parsed, unknown), parsed.path, asksForJson(argv), base);
      return EXIT_FAILURE;
    case 'run':
      return runCommand(parsed, base);
  }
}

interface UnknownWord {
  /** A pack's name that could have been meant. */
  readonly meant: string | undefined;
  readonly next: string | undefined;
}

/** A word that is no command of the program may be a pack's: only then the city is read. Its exit code, when it is one. */
async function runUnknown(called: Called, base: BaseContext): Promise<number | UnknownWord> {
  try {
    const { runPackCommand } = await import('./commands/pack-command.ts');
    const context: Context = { ...base, cityOption: called.city, json: false, commands: groups };
    const outcome = await runPackCommand(context, called);
    if (outcome.kind === 'ended') return outcome.code;
    return { meant: nearest(called.word, outcome.bindings), next: outcome.why };
  } catch (error) {
    await report(error, called.word, false, base);
    return EXIT_FAILURE;
  }
}

function usageError(parsed: Parsed & { kind: 'usage' }, unknown: UnknownWord | undefined): UsageError {
  const suggests = parsed.message.includes('did you mean');
  const meant = unknown?.meant !== undefined && !suggests ? `; did you mean "${unknown.meant}"?` : '';
  return new UsageError(parsed.message + meant, unknown?.next ?? parsed.next);
}

async function runCommand(parsed: Parsed & { kind: 'run' }, base: BaseContext): Promise<number> {
  const { spec, input, city, json } = parsed;
  const context: Context = { ...base, cityOption: city, json, commands: groups };
  const serves = spec.serves?.(input) ?? false;
  try {
    const run = await spec.load();
    const running = run(context, input);
    const graceMs = spec.tidies ? TIDY_GRACE_MS : INTERRUPT_GRACE_MS;
    return serves ? await running : await untilInterrupted(running, context, graceMs);
  } catch (error) {
    if (context.signal.aborted && !serves) return context.out.gone ? 0 : EXIT_INTERRUPTED;
    await report(error, spec.path, json, base);
    return exitCodeOf(error);
  }
}

/** The command's own exit code; after Ctrl-C a command that does not end soon is left behind. */
async function untilInterrupted(
  running: Promise<number>,
  context: Context,
  graceMs: number,
): Promise<number> {
  const { signal } = context;
  const settled = new AbortController();
  const interrupted = new Promise<number>((resolve) => {
    const begin = () => {
      const grace = context.clock.sleep(graceMs, settled.signal);
      grace.then(
        () => resolve(context.out.gone ? 0 : EXIT_INTERRUPTED),
        () => undefined, // the command ended first
      );
    };
    signal.addEventListener('abort', begin, { once: true, signal: settled.signal });
  });
  try {
    return await Promise.race([running, interrupted]);
  } finally {
    settled.abort();
  }
}

function exitCodeOf(error: unknown): number {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return ALREADY_RUNNING_CODES.has(code) ? EXIT_ALREADY_RUNNING : EXIT_FAILURE;
}

async function report(error: unknown, path: string, json: boolean, base: BaseContext): Promise<void> {
  const { renderError } = await import('./output/errors.ts');
  base.err.write(
    renderError(error, {
      path,
      json,
      gc: base.gc,
      bold: base.err.style.bold,
      debug: Boolean(base.env['GC_DEBUG']),
    }),
  );
}

/** Whether `--json` was asked for, decided without a parser: for command lines that could not be parsed. */
function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return (end < 0 ? argv : argv.slice(0, end)).includes('--json');
}
