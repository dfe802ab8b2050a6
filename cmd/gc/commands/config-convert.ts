import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, extname, join, relative, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { City } from '../../../internal/config/city.ts';
import { isToml, parseText, readText } from '../../../internal/config/document/read-source.ts';
import { isMap, type SourceFormat, shownPath } from '../../../internal/config/document/source-document.ts';
import { convertText } from '../../../internal/config/edit/convert.ts';
import { setValue } from '../../../internal/config/edit/document-edit.ts';
import { withEditLock } from '../../../internal/config/edit/file-edit.ts';
import { loadCity } from '../../../internal/config/load-city.ts';
import { writeFileAtomic } from '../../../internal/platform/atomic-file.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { cityRoot } from '../city/access.ts';
import { loadChecked, problemsError } from '../city/load-city.ts';
import { UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { tellController } from '../rig/rig-city.ts';

interface Conversion {
  readonly from: string;
  readonly to: string;
  readonly text: string;
  readonly notes: readonly string[];
}

export const runConfigConvert: CommandRun = async (context, input) => {
  const root = await cityRoot(context);
  const city = await loadChecked(context, root);
  const to = formatOf(input.text('to') ?? (isToml(city.file) ? 'yaml' : 'toml'));
  const files = input.flag('all') ? filesOf(city) : [city.file];
  const wanted = files.filter((file) => isToml(file) !== (to === 'toml'));
  if (wanted.length === 0) {
    context.out.write(`${files.map((file) => shownPath(root, file)).join(', ')}: ${to} already\n`);
    return 0;
  }
  const made: Conversion[] = [];
  for (const file of wanted) made.push(await convert(city, file, to, wanted));
  for (const { from, notes } of made) {
    for (const note of notes) context.err.write(`gc config convert: ${shownPath(root, from)}: ${note}\n`);
  }
  if (!input.flag('write')) {
    for (const { to: file, text } of made) {
      if (made.length > 1) context.out.write(`==> ${shownPath(root, file)} <==\n`);
      context.out.write(text);
    }
    return 0;
  }
  await replaceAll(context, city, made);
  await tellController(context, root);
  for (const { from, to: file } of made) {
    context.out.write(`${shownPath(root, from)} -> ${shownPath(root, file)}\n`);
  }
  return 0;
};

function formatOf(text: string): SourceFormat {
  if (text === 'toml' || text === 'yaml') return text;
  throw new UsageError(`unknown format "${text}" (expected one of: toml, yaml)`);
}

/** The city file, then what belongs to this city in other files: fragments and manifests, but no fetched packs. */
function filesOf(city: City): readonly string[] {
  const others = city.sources.filter((file) => {
    const inner = relative(city.root, file);
    const isOurs = !inner.startsWith('..') && !inner.startsWith('.gc/');
    return isOurs && file !== city.file && /\.(toml|ya?ml)$/i.test(file);
  });
  return [city.file, ...others];
}

const renamed = (file: string, to: SourceFormat): string =>
  join(dirname(file), `${basename(file, extname(file))}.${to}`);

/** @throws EditError `cannot-convert`, GcError `file-exists` */
async function convert(
  city: City,
  file: string,
  to: SourceFormat,
  all: readonly string[],
): Promise<Conversion> {
  const target = renamed(file, to);
  if (existsSync(target)) {
    throw new GcError('file-exists', `${target} is there already; nothing was changed`, {
      next: 'move it away first',
    });
  }
  const read = await readText(file);
  const before = read.kind === 'text' ? read.text : '';
  const text = file === city.file ? await withNewNames(before, city, to, all) : before;
  return { from: file, to: target, ...(await convertText(text, file, to, city.root)) };
}

/** Fragments are included by their file names, which change too. */
async function withNewNames(
  before: string,
  city: City,
  to: SourceFormat,
  all: readonly string[],
): Promise<string> {
  const parsed = await parseText(city.file, before);
  const data = parsed.kind === 'parsed' && isMap(parsed.document.data) ? parsed.document.data : {};
  const listed: readonly unknown[] = Array.isArray(data['include']) ? data['include'] : [];
  let text = before;
  for (const [index, item] of listed.entries()) {
    if (typeof item !== 'string') continue;
    const path = resolve(city.root, item.replace(/^\/\//, ''));
    if (all.includes(path)) {
      text = await setValue(text, city.file, ['include', index], item.replace(/\.(toml|ya?ml)$/i, `.${to}`));
    }
  }
  return text;
}

/** Writes the new files, takes the old ones away, and puts everything back when the city is not the same. */
async function replaceAll(context: Context, city: City, made: readonly Conversion[]): Promise<void> {
  await withEditLock({ gcDir: join(city.root, '.gc'), clock: context.clock }, async () => {
    const old = made.map(({ from }) => ({
      from,
      bytes: readFileSync(from),
      mode: statSync(from).mode & 0o777,
    }));
    try {
      for (const [index, { to, text }] of made.entries()) {
        await writeFileAtomic(to, text, old[index]?.mode ?? 0o644);
      }
      for (const { from } of made) rmSync(from);
      const loaded = await loadCity(city.root, { env: context.env });
      if (loaded.kind === 'invalid') {
        if (loaded.problems.some(({ code }) => code === 'unknown-key')) {
          context.err.write(
            'gc config convert: what TOML files may hold is an error in YAML: remove unknown keys first\n',
          );
        }
        throw problemsError(context, city.root, loaded);
      }
      if (!isDeepStrictEqual(factsOf(loaded.city), factsOf(city))) {
        throw new GcError('cannot-convert', 'the converted city would not be the same; nothing was changed', {
          next: 'convert the city file alone, without --all',
        });
      }
    } catch (error) {
      for (const { from, bytes, mode } of old) await writeFileAtomic(from, bytes, mode);
      for (const { to } of made) rmSync(to, { force: true });
      throw error;
    }
  });
}

/** All of a city but where it is written. */
function factsOf(city: City): unknown {
  const { file: _file, sources: _sources, revision: _revision, provenance: _provenance, ...rest } = city;
  const { warnings: _warnings, notes: _notes, ...facts } = rest;
  return JSON.parse(
    JSON.stringify(facts, (_, value: unknown) =>
      isMap(value) && 'line' in value && 'column' in value ? null : value,
    ),
  );
}
