import { GcError } from '../../../internal/platform/errors.ts';
import { type Input, UsageError } from '../cli/input.ts';

const MERGE_WAYS: readonly string[] = ['direct', 'mr', 'local'];

export interface SlingRequest {
  /** As written; `undefined`: the default target of the bead's rig. */
  readonly target: string | undefined;
  /** A bead or a text. */
  readonly what:
    | { readonly kind: 'word'; readonly word: string }
    /** All of stdin is the text. */
    | { readonly kind: 'stdin' };
  /** Of the bead that is made; `''`: the first line of the text. */
  readonly title: string;
  /** `''`: not said. */
  readonly merge: string;
  readonly force: boolean;
  readonly nudge: boolean;
  readonly dryRun: boolean;
}

/** Source of the messages: Gas City `gc sling`; scripts match them. @throws UsageError, GcError `formula-unsupported`, `convoy-unsupported` */
export function readSlingRequest(input: Input): SlingRequest {
  const words = input.rest('words');
  const isStdin = input.flag('stdin');
  if (isStdin && words.length !== 1) {
    throw new UsageError('--stdin requires exactly 1 argument (target)', 'gc sling <target> --stdin < text');
  }
  if (words.length < 1 || words.length > 2) {
    throw new UsageError(
      'requires 1 or 2 arguments',
      'gc sling <target> <bead>, or gc sling <target> "<text>"',
    );
  }
  const merge = input.text('merge') ?? '';
  if (merge !== '' && !MERGE_WAYS.includes(merge)) {
    throw new UsageError(`--merge must be direct, mr, or local, not "${merge}"`);
  }
  refuseFormulas(input, words);
  refuseConvoys(input);
  const [first = '', second] = words;
  return {
    target: isStdin || second !== undefined ? first : undefined,
    what: isStdin ? { kind: 'stdin' } : { kind: 'word', word: second ?? first },
    title: (input.text('title') ?? '').trim(),
    merge,
    force: input.flag('force'),
    nudge: input.flag('nudge'),
    dryRun: input.flag('dry-run'),
  };
}

function refuseFormulas(input: Input, words: readonly string[]): void {
  const on = input.text('on');
  if (input.flag('formula')) {
    if (words.length < 2) throw new UsageError('--formula requires explicit target');
    throw new FormulaUnsupportedError(words[1] ?? '');
  }
  if (on !== undefined) throw new FormulaUnsupportedError(on);
  const stray = ['var', 'scope-kind', 'scope-ref'].find(
    (name) => input.text(name) !== undefined || input.texts(name).length > 0,
  );
  if (stray !== undefined) throw new UsageError(`--${stray} goes with --formula or --on`);
}

function refuseConvoys(input: Input): void {
  if (!input.flag('owned')) return;
  if (input.flag('no-convoy')) {
    throw new UsageError('--owned requires a convoy (cannot use with --no-convoy)');
  }
  throw new GcError('convoy-unsupported', '--owned wants a convoy, and convoys are not made yet', {
    next: 'the same without --owned',
  });
}

export class FormulaUnsupportedError extends GcError {
  constructor(formula: string) {
    super(
      'formula-unsupported',
      `formula "${formula}" can be read, but formulas cannot be run yet; nothing was done`,
      {
        next: `gc formula show ${formula}, then hand out its steps as beads`,
      },
    );
  }
}

/** A text that can be no id: it has a blank or a slash, or no digit. Source: Gas City. */
export function isInlineText(word: string): boolean {
  return /[\s/]/.test(word) || !/\d/.test(word);
}
