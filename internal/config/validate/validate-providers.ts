import type { City, SourcePosition } from '../city.ts';
import { type BuiltAgent, type CheckedCity, place } from '../compose/built-agent.ts';
import type { Draft } from '../compose/draft.ts';
import { placeOf } from '../compose/entry.ts';
import { didYouMean } from '../document/nearest.ts';
import type { ProblemList } from '../document/problems.ts';
import type { ValuePath } from '../document/source-document.ts';
import { checkChoices, OptionError } from '../preset/options.ts';
import { layeredSpec, type NamedSpec, presetNames } from '../preset/resolve-preset.ts';

/** The provider that an agent names: known, able to do what is asked, with the options that are set. */
export function validateProviderOf(
  built: BuiltAgent,
  label: string,
  draft: Draft,
  city: CheckedCity,
  problems: ProblemList,
): void {
  const { agent } = built;
  const name = agent.startCommand === '' ? agent.provider || city.workspace.provider : '';
  if (draft.broken.providers.has(name)) return;
  const spec = name === '' ? undefined : layeredSpec(city.providers, name);
  if (name !== '' && !spec) {
    // A workspace provider that does not exist is reported once, where it is written.
    if (agent.provider !== '') unknownProvider(label, name, place(built, 'provider'), city, problems);
    return;
  }
  const mode = agent.promptMode || spec?.spec.promptMode;
  if (mode === 'flag' && !agent.promptFlag && !spec?.spec.promptFlag) {
    problems.error(
      'prompt-flag-missing',
      `${label}: prompt_mode "flag" needs prompt_flag`,
      place(built, agent.promptMode === '' ? 'provider' : 'prompt_mode'),
    );
  }
  if (agent.session === 'acp' && (agent.startCommand !== '' || spec) && !spec?.spec.supportsAcp) {
    const what = name === '' ? 'start_command' : `provider "${name}"`;
    problems.error(
      'no-acp',
      `${label}: session = "acp" but ${what} does not support ACP`,
      place(built, 'session'),
      'describe the program under providers, with supports_acp',
    );
  }
  if (spec && city.workspace.startCommand === '') reportOptions(built, label, spec, problems);
}

function unknownProvider(
  label: string,
  name: string,
  position: SourcePosition,
  city: Pick<City, 'providers'>,
  problems: ProblemList,
): void {
  const names = presetNames(city.providers);
  problems.error(
    'unknown-provider',
    `${label}: unknown provider: "${name}"${didYouMean(name, names)}`,
    position,
    `known: ${names.join(', ')}`,
  );
}

function reportOptions(
  built: BuiltAgent,
  label: string,
  { spec, name }: NamedSpec,
  problems: ProblemList,
): void {
  for (const [key, value] of Object.entries(built.agent.optionDefaults)) {
    try {
      checkChoices(spec.optionsSchema ?? [], { [key]: value });
    } catch (error) {
      if (!(error instanceof OptionError)) throw error;
      const at = place(built, 'option_defaults', key);
      problems.error(error.code, `${label}: ${error.message} (provider "${name}")`, at, error.next);
    }
  }
}

/** Providers of the file and of the workspace. */
export function validateProviders(draft: Draft, city: CheckedCity, problems: ProblemList): void {
  const { workspace } = city;
  const isKnown = layeredSpec(city.providers, workspace.provider) !== undefined;
  if (workspace.provider !== '' && !isKnown && !draft.broken.providers.has(workspace.provider)) {
    const at = placeOf(draft.sections.workspace, ['provider'], 'value');
    unknownProvider('workspace', workspace.provider, at, city, problems);
  }
  for (const [name, entry] of draft.providers) {
    const layered = layeredSpec(city.providers, name);
    const at = (...keys: ValuePath) => placeOf(entry, keys, 'value');
    if (!layered) continue;
    const { spec, written } = layered;
    if (!spec.command) {
      problems.error(
        'no-command',
        `provider "${name}" has no command`,
        placeOf(entry, []),
        'write command, or use the name of a built-in provider',
      );
    }
    if (spec.promptMode === 'flag' && !spec.promptFlag) {
      problems.error(
        'prompt-flag-missing',
        `provider "${name}": prompt_mode "flag" needs prompt_flag`,
        at('prompt_mode'),
      );
    } else if (written.promptFlag && spec.promptMode !== 'flag') {
      problems.warning(
        'prompt-flag-unused',
        `provider "${name}": prompt_flag is used with prompt_mode "flag" only`,
        at('prompt_flag'),
      );
    }
    validateSchema(name, layered, at, problems);
  }
}

function validateSchema(
  name: string,
  { spec, written }: NamedSpec,
  at: (...keys: ValuePath) => SourcePosition,
  problems: ProblemList,
): void {
  const schema = spec.optionsSchema ?? [];
  schema.forEach((option, index) => {
    const isKnown = option.default === '' || option.choices.some(({ value }) => value === option.default);
    if (!isKnown) {
      problems.error(
        'bad-option-value',
        `provider "${name}": option "${option.key}": default "${option.default}" is not a valid choice`,
        at('options_schema', index, 'default'),
      );
    }
    if (schema.findIndex(({ key }) => key === option.key) !== index) {
      problems.error(
        'duplicate-option',
        `provider "${name}": option "${option.key}" is there twice`,
        at('options_schema', index, 'key'),
      );
    }
  });
  for (const [key, value] of Object.entries(written.optionDefaults ?? {})) {
    const option = schema.find((candidate) => candidate.key === key);
    if (!option) {
      const suggestion = didYouMean(
        key,
        schema.map((candidate) => candidate.key),
      );
      problems.error(
        'unknown-option',
        `provider "${name}": option_defaults key "${key}" is not in the options schema${suggestion}`,
        at('option_defaults', key),
      );
    } else if (value !== '' && !option.choices.some((choice) => choice.value === value)) {
      const suggestion = didYouMean(
        value,
        option.choices.map((choice) => choice.value),
      );
      problems.error(
        'bad-option-value',
        `provider "${name}": option "${key}": default "${value}" is not a valid choice${suggestion}`,
        at('option_defaults', key),
      );
    }
  }
}
