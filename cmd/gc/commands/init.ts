import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { chooseWork } from '../../../internal/beads/work-choice.ts';
import { didYouMean } from '../../../internal/config/document/nearest.ts';
import { isToml, readDocument } from '../../../internal/config/document/read-source.ts';
import { BUILTIN_PRESET_NAMES, BUILTIN_PRESETS } from '../../../internal/config/preset/presets.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { CITY_FILES } from '../city/find-city.ts';
import { findProgram } from '../city/find-program.ts';
import { typed } from '../city/invocation.ts';
import { problemsError } from '../city/load-city.ts';
import { makeFiles, type NewEntry } from '../city/make-files.ts';
import { type CityTemplate, cityFiles, DEMO_AGENT_FILE } from '../city/new-city.ts';
import { loadWithPacks, providePacks } from '../city/provide-packs.ts';
import { cityAround, copyOf, examplesFolder, findSource } from '../city/source-city.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { shellWord } from '../output/words.ts';

const NAME = /^[a-zA-Z0-9][a-zA-Z0-9._-]*$/;

export const runInit: CommandRun = async (context, input) => {
  refuseConflicts(input);
  refuseUnknownBeads(context);
  const root = resolve(context.cwd, input.optionalArg('path') ?? '.');
  const present = CITY_FILES.find((name) => existsSync(join(root, name)));
  if (present) {
    throw new GcError(
      'already-initialized',
      `already initialized: ${join(root, present)} exists; nothing was changed`,
      {
        next: `gc start ${shellWord(relative(context.cwd, root) || '.')}`,
      },
    );
  }
  const name = cityName(root, input);
  const from = input.text('from') ?? input.text('file');
  if (from === undefined) {
    initNew(context, input, root, name);
    await providePacks(context, root);
    await settleBeads(context, root);
    startHint(context, root);
    return 0;
  }
  const entries =
    input.text('from') === undefined
      ? await fromFile(context, root, from, name)
      : await copyOf(findSource(context, from), root, name);
  await makeChecked(context, root, entries);
  await settleBeads(context, root);
  context.out.write(`Initialized city "${name}" from ${basename(resolve(context.cwd, from))}.\n`);
  startHint(context, root);
  return 0;
};

/** Before anything is made. @throws GcError `unknown-bead-provider` */
function refuseUnknownBeads({ env }: Context): void {
  chooseWork({ env: env['GC_BEADS'], config: undefined, recorded: undefined });
}

/** Where its work is stays so, also for commands without `GC_BEADS`. */
async function settleBeads(context: Context, root: string): Promise<void> {
  if (!context.env['GC_BEADS']) return;
  const { withCityStore } = await import('../city/city-store.ts');
  await withCityStore({ ...context, cityOption: root }, async () => undefined);
}

const CONFLICTS = [
  ['file', 'from'],
  ['file', 'provider'],
  ['from', 'provider'],
  ['file', 'template'],
  ['from', 'template'],
] as const;

function refuseConflicts(input: Input): void {
  const pair = CONFLICTS.find((names) => names.every((option) => input.text(option) !== undefined));
  if (pair) throw new UsageError(`--${pair[0]} and --${pair[1]} cannot be used together`);
}

function initNew(context: Context, input: Input, root: string, name: string): void {
  const template = templateOf(input);
  const provider = chooseProvider(context, input, template);
  const files = cityFiles({ name, provider: provider.name, template });
  const entries = new Map<string, NewEntry>();
  if (provider.name === 'demo') {
    entries.set(DEMO_AGENT_FILE, { kind: 'file', content: demoAgent(context), keep: true });
  }
  for (const [path, content] of files) {
    entries.set(path, { kind: 'file', content, keep: path !== 'city.yaml' });
  }
  makeFiles(root, entries, failed(root));
  report(context, name, provider);
}

/** A city file alone. @throws ProblemsError `config-invalid`, GcError `source-unreadable` */
async function fromFile(
  context: Context,
  root: string,
  from: string,
  name: string,
): Promise<ReadonlyMap<string, NewEntry>> {
  const file = resolve(context.cwd, from);
  const { parsed, text } = await readDocument(file);
  if (parsed.kind === 'unreadable') {
    const problems = { kind: 'invalid', file, problems: parsed.problems, watch: [] } as const;
    throw problemsError(context, dirname(file), { ...problems, texts: new Map([[file, text]]) });
  }
  return cityAround(root, { text, name, file: isToml(file) ? 'city.toml' : 'city.yaml' });
}

const failed = (root: string) => ({ code: 'init-failed', what: `cannot create the city in ${root}` });

/** Makes the city and loads it; a wrong one is taken away again. @throws ProblemsError `config-invalid` */
async function makeChecked(
  context: Context,
  root: string,
  entries: ReadonlyMap<string, NewEntry>,
): Promise<void> {
  const made = makeFiles(root, entries, failed(root));
  try {
    await loadWithPacks(context, root);
  } catch (error) {
    made.undo();
    throw error;
  }
}

function cityName(root: string, input: Input): string {
  const given = input.text('name');
  if (given !== undefined) {
    if (NAME.test(given)) return given;
    throw new UsageError(
      `"${given}" cannot be the name of a city: start with a letter or digit and use letters, digits, ".", "_" and "-"`,
    );
  }
  const cleaned = basename(root)
    .replace(/[^a-zA-Z0-9._-]+/g, '-')
    .replace(/^[._-]+|-+$/g, '');
  return cleaned || 'city';
}

function templateOf(input: Input): CityTemplate {
  const template = input.text('template') ?? 'mayor';
  if (template === 'mayor' || template === 'team') return template;
  if (CLUSTER_NAMES.includes(template)) return 'k8s';
  const known = ['mayor', 'team', 'k8s'];
  throw new UsageError(
    `unknown template "${template}"${didYouMean(template, known)} (expected one of: ${known.join(', ')})`,
  );
}

/** Source of the longer ones: Gas City's names of its cluster profile. */
const CLUSTER_NAMES: readonly string[] = ['k8s', 'k8s-cell', 'kubernetes', 'kubernetes-cell'];

/** What the image that comes with the program has; the PATH of this machine says nothing about it. */
const IMAGE_PROVIDER = 'claude';

interface ChosenProvider {
  readonly name: string;
  readonly how: 'asked' | 'found' | 'in-the-image' | 'nothing-found';
}

/** The one that was asked for, else the first known program on the PATH, else the demo agent. */
function chooseProvider(context: Context, input: Input, template: CityTemplate): ChosenProvider {
  const known = [...BUILTIN_PRESET_NAMES, 'demo'];
  const asked = input.text('provider');
  if (asked !== undefined) {
    if (known.includes(asked)) return { name: asked, how: 'asked' };
    throw new UsageError(
      `unknown provider "${asked}"${didYouMean(asked, known)} (expected one of: ${known.join(', ')})`,
    );
  }
  if (template === 'k8s') return { name: IMAGE_PROVIDER, how: 'in-the-image' };
  const found = Object.entries(BUILTIN_PRESETS).find(
    ([name, spec]) => findProgram(context.env, spec.pathCheck ?? spec.command ?? name) !== undefined,
  );
  return found ? { name: found[0], how: 'found' } : { name: 'demo', how: 'nothing-found' };
}

/** The scripted agent, as it lies beside the installed program. */
function demoAgent(context: Context): string {
  const examples = examplesFolder(context);
  const file = examples && join(examples, 'quickstart', DEMO_AGENT_FILE);
  if (file !== undefined && existsSync(file)) return readFileSync(file, 'utf8');
  throw new GcError(
    'demo-agent-missing',
    'this installation has no demo agent (examples/quickstart is missing)',
    {
      next: `gc init --provider <${BUILTIN_PRESET_NAMES.join('|')}>`,
    },
  );
}

function report(context: Context, name: string, provider: ChosenProvider): void {
  const { out } = context;
  out.write(`Initialized city "${name}" with default provider "${provider.name}".\n`);
  if (provider.how === 'nothing-found') {
    out.write(
      'No agent program was found on the PATH, so its agents are a scripted demo: it needs no key and no network.\n' +
        'Install one (claude, codex, gemini ...) and change `provider` in city.yaml when you are ready.\n',
    );
  }
}

function startHint(context: Context, root: string): void {
  const target = relative(context.cwd, root);
  const start = target === '' ? 'gc start' : `gc start ${shellWord(target)}`;
  context.out.write(`\n  ${typed(start, context.gc)}\n`);
}
