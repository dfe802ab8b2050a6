import { GcError } from '../../platform/errors.ts';
import { didYouMean } from '../document/nearest.ts';
import type { ProviderOption } from './provider-spec.ts';
import { joinWords, splitWords } from './shell-words.ts';

type Choices = Readonly<Record<string, string>>;

/** The key of a session's template overrides that is no option. Source: Gas City. */
const INITIAL_MESSAGE_KEY = 'initial_message';

/** An option or a choice that the preset does not have. */
export class OptionError extends GcError {}

export interface ResolvedOptions {
  /** In the order of the schema. */
  readonly args: readonly string[];
  /** `opt_<key>` of each choice that was made explicitly. */
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * Command-line words of explicit choices over the preset's effective defaults.
 * @throws OptionError (`unknown-option`, `bad-option-value`)
 */
export function resolveOptions(
  schema: readonly ProviderOption[],
  chosen: Choices,
  defaults: Choices,
): ResolvedOptions {
  checkChoices(schema, chosen);
  const metadata = Object.fromEntries(
    schema
      .filter(({ key }) => own(chosen, key) !== undefined)
      .map(({ key }) => [`opt_${key}`, own(chosen, key) ?? '']),
  );
  return { args: argsOf(schema, { ...defaults, ...chosen }), metadata };
}

/** Command-line words of the given choices alone. @throws OptionError */
export function resolveExplicitOptions(
  schema: readonly ProviderOption[],
  chosen: Choices,
): readonly string[] {
  checkChoices(schema, chosen);
  return argsOf(schema, chosen);
}

/** The default of every option of the schema, then what `optionDefaults` says instead. */
export function effectiveDefaults(
  schema: readonly ProviderOption[],
  ...optionDefaults: readonly Choices[]
): Choices {
  const fromSchema = Object.fromEntries(
    schema.filter((option) => option.default !== '').map((option) => [option.key, option.default]),
  );
  return Object.assign(fromSchema, ...optionDefaults);
}

/** A session's own choices laid over the defaults: the whole command line with every known flag replaced. */
export function commandWithOverrides(
  schema: readonly ProviderOption[],
  command: string,
  defaults: Choices,
  overrides: Choices,
): string {
  const { [INITIAL_MESSAGE_KEY]: _message, ...chosen } = overrides;
  return replaceSchemaFlags(schema, command, resolveOptions(schema, chosen, defaults).args);
}

/** Takes every flag group that the schema knows out of a command line and appends `args`. */
export function replaceSchemaFlags(
  schema: readonly ProviderOption[],
  command: string,
  args: readonly string[],
): string {
  const rest = stripSchemaFlags(schema, splitWords(command)).rest;
  return joinWords([...rest, ...args]);
}

export interface StrippedFlags {
  readonly rest: readonly string[];
  /** Option key -> the choice whose flags all stood there. */
  readonly inferred: Choices;
}

/** Greedily removes the flag groups of a schema from words. */
export function stripSchemaFlags(schema: readonly ProviderOption[], words: readonly string[]): StrippedFlags {
  const groups = schema
    .flatMap((option) => option.choices.flatMap((choice) => flagGroups(choice.flagArgs)))
    .sort((a, b) => b.length - a.length);
  const rest: string[] = [];
  const removed: string[] = [];
  for (let at = 0; at < words.length; ) {
    const group = groups.find((candidate) => startsWith(words, at, candidate));
    if (group) {
      removed.push(groupId(group));
      at += group.length;
    } else {
      rest.push(words[at] ?? '');
      at += 1;
    }
  }
  return { rest, inferred: inferChoices(schema, removed) };
}

/** A choice is inferred where all its groups were removed; among several the one with most groups, then the last written. */
function inferChoices(schema: readonly ProviderOption[], removed: readonly string[]): Choices {
  const inferred: Record<string, string> = {};
  const claimed = new Set<string>();
  for (const option of schema) {
    const candidates = option.choices
      .map((choice) => ({ value: choice.value, groups: flagGroups(choice.flagArgs).map(groupId) }))
      .filter(
        ({ groups }) => groups.length > 0 && groups.every((id) => removed.includes(id) && !claimed.has(id)),
      )
      .sort(
        (a, b) => b.groups.length - a.groups.length || lastOf(removed, b.groups) - lastOf(removed, a.groups),
      );
    const [best] = candidates;
    if (!best) continue;
    inferred[option.key] = best.value;
    for (const id of best.groups) claimed.add(id);
  }
  return inferred;
}

function lastOf(removed: readonly string[], groups: readonly string[]): number {
  return Math.max(...groups.map((id) => removed.lastIndexOf(id)));
}

const groupId = (group: readonly string[]): string => JSON.stringify(group);

function startsWith(words: readonly string[], at: number, group: readonly string[]): boolean {
  return group.every((word, index) => words[at + index] === word);
}

/** Splits at words that begin with `--`: `-c k=v` is one group. Source: Gas City ReplaceSchemaFlags. */
function flagGroups(flagArgs: readonly string[]): readonly (readonly string[])[] {
  const groups: string[][] = [];
  for (const word of flagArgs) {
    const current = groups.at(-1);
    if (!current || word.startsWith('--')) groups.push([word]);
    else current.push(word);
  }
  return groups;
}

/** Whether each key is an option and each value one of its choices. @throws OptionError */
export function checkChoices(schema: readonly ProviderOption[], chosen: Choices): void {
  for (const [key, value] of Object.entries(chosen)) {
    const option = schema.find((candidate) => candidate.key === key);
    if (!option) {
      const keys = schema.map((candidate) => candidate.key);
      throw new OptionError('unknown-option', `unknown option: ${key}${didYouMean(key, keys)}`, {
        next: keys.length === 0 ? 'this agent program has no options' : `options: ${keys.join(', ')}`,
      });
    }
    if (value === '' || option.choices.some((choice) => choice.value === value)) continue;
    const values = option.choices.map((choice) => choice.value);
    throw new OptionError(
      'bad-option-value',
      `invalid value for ${key}: ${value}${didYouMean(value, values)}`,
      {
        next: `choices: ${values.join(', ')}`,
      },
    );
  }
}

function argsOf(schema: readonly ProviderOption[], chosen: Choices): readonly string[] {
  return schema.flatMap((option) => {
    const value = own(chosen, option.key);
    return option.choices.find((choice) => choice.value === value)?.flagArgs ?? [];
  });
}

function own(choices: Choices, key: string): string | undefined {
  return Object.hasOwn(choices, key) ? choices[key] : undefined;
}
