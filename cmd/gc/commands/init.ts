import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { didYouMean } from '../../../internal/config/document/nearest.ts';
import { BUILTIN_PRESET_NAMES, BUILTIN_PRESETS } from '../../../internal/config/preset/presets.ts';
import { GcError, messageOf } from '../../../internal/platform/errors.ts';
import { CITY_FILES } from '../city/find-city.ts';
import { findProgram } from '../city/find-program.ts';
import { typed } from '../city/invocation.ts';
import { type CityTemplate, cityFiles, DEMO_AGENT_FILE } from '../city/new-city.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { shellWord } from '../output/words.ts';

const NAME = /^[a-zA-Z0-9][a-zA-Z0-9._-]*$/;

export const runInit: CommandRun = async (context, input) => {
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
  const provider = chooseProvider(context, input);
  const files = new Map(cityFiles({ name, provider: provider.name, template: templateOf(input) }));
  const all = provider.name === 'demo' ? new Map([[DEMO_AGENT_FILE, demoAgent(context)], ...files]) : files;
  writeAll(root, all);
  report(context, root, name, provider);
  return 0;
};

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
  throw new UsageError(`unknown template "${template}" (expected one of: mayor, team)`);
}

interface ChosenProvider {
  readonly name: string;
  readonly how: 'asked' | 'found' | 'nothing-found';
}

/** The one that was asked for, else the first known program on the PATH, else the demo agent. */
function chooseProvider(context: Context, input: Input): ChosenProvider {
  const known = [...BUILTIN_PRESET_NAMES, 'demo'];
  const asked = input.text('provider');
  if (asked !== undefined) {
    if (known.includes(asked)) return { name: asked, how: 'asked' };
    throw new UsageError(
      `unknown provider "${asked}"${didYouMean(asked, known)} (expected one of: ${known.join(', ')})`,
    );
  }
  const found = Object.entries(BUILTIN_PRESETS).find(
    ([name, spec]) => findProgram(context.env, spec.pathCheck ?? spec.command ?? name) !== undefined,
  );
  return found ? { name: found[0], how: 'found' } : { name: 'demo', how: 'nothing-found' };
}

/** The scripted agent, as it lies beside the installed program. */
function demoAgent(context: Context): string {
  for (let dir = dirname(context.self.at(-1) ?? '.'); ; dir = dirname(dir)) {
    const file = join(dir, 'examples', 'quickstart', DEMO_AGENT_FILE);
    if (existsSync(file)) return readFileSync(file, 'utf8');
    if (dirname(dir) === dir) break;
  }
  throw new GcError(
    'demo-agent-missing',
    'this installation has no demo agent (examples/quickstart is missing)',
    {
      next: `gc init --provider <${BUILTIN_PRESET_NAMES.join('|')}>`,
    },
  );
}

/** All files or none: what was written is taken away again when one cannot be. Existing files are kept. */
function writeAll(root: string, files: ReadonlyMap<string, string>): void {
  const written: string[] = [];
  const made: string[] = [];
  try {
    for (const [path, text] of files) {
      const file = join(root, path);
      const firstMade = mkdirSync(dirname(file), { recursive: true });
      if (firstMade) made.push(...foldersBetween(firstMade, dirname(file)));
      if (path !== 'city.yaml' && existsSync(file)) continue;
      writeFileSync(file, text, { flag: 'wx' });
      written.push(file);
    }
  } catch (error) {
    for (const file of written) rmSync(file, { force: true });
    for (const folder of made.reverse()) removeIfEmpty(folder);
    throw new GcError(
      'init-failed',
      `cannot create the city in ${root}: ${messageOf(error)}; nothing was left behind`,
      {
        cause: error,
        next: 'check the permissions of that folder and the space on its disk',
      },
    );
  }
}

/** `first` and the folders below it down to `last`, outermost first. */
function foldersBetween(first: string, last: string): readonly string[] {
  const folders: string[] = [];
  for (let dir = last; dir.length >= first.length; dir = dirname(dir)) folders.unshift(dir);
  return folders;
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // somebody put something into it meanwhile: theirs to keep
  }
}

function report(context: Context, root: string, name: string, provider: ChosenProvider): void {
  const { out } = context;
  out.write(`Initialized city "${name}" with default provider "${provider.name}".\n`);
  if (provider.how === 'nothing-found') {
    out.write(
      'No agent program was found on the PATH, so its agents are a scripted demo: it needs no key and no network.\n' +
        'Install one (claude, codex, gemini ...) and change `provider` in city.yaml when you are ready.\n',
    );
  }
  const target = relative(context.cwd, root);
  const start = target === '' ? 'gc start' : `gc start ${shellWord(target)}`;
  out.write(`\n  ${typed(start, context.gc)}\n`);
}
