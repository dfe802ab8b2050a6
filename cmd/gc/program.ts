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

export type BaseContext = Omit<Context, 'cityOption' | 'json' | 'commands'>;

/** One run of the program: the words after `gc` to an exit code. Everything that is printed goes through `base`. */
export async function runProgram(argv: readonly string[], base: BaseContext): Promise<number> {
  const parsed = parse(groups, argv, {
    columns: Math.min(base.out.columns, 100),
    title: base.out.style.bold,
  });
  switch (parsed.kind) {
    case 'print':
      base.out.write(parsed.text);
      return 0;
    case 'usage':
      await report(new UsageError(parsed.message, parsed.next), parsed.path, asksForJson(argv), base);
      return EXIT_FAILURE;
    case 'run':
      return runCommand(parsed, base);
  }
}

async function runCommand(parsed: Parsed & { kind: 'run' }, base: BaseContext): Promise<number> {
  const { spec, input, city, json } = parsed;
  const context: Context = { ...base, cityOption: city, json, commands: groups };
  const serves = spec.serves?.(input) ?? false;
  try {
    const run = await spec.load();
    const running = run(context, input);
    return serves ? await running : await untilInterrupted(running, context);
  } catch (error) {
    if (context.signal.aborted && !serves) return context.out.gone ? 0 : EXIT_INTERRUPTED;
    await report(error, spec.path, json, base);
    return exitCodeOf(error);
  }
}

/** The command's own exit code; after Ctrl-C a command that does not end soon is left behind. */
async function untilInterrupted(running: Promise<number>, context: Context): Promise<number> {
  const { signal } = context;
  const settled = new AbortController();
  const interrupted = new Promise<number>((resolve) => {
    const begin = () => {
      const grace = context.clock.sleep(INTERRUPT_GRACE_MS, settled.signal);
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
