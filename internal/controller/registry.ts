import { readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { codeOf, GcError } from '../platform/errors.ts';

/** One table of the file: its kind (`cities`, `rigs`) and its keys, in order. */
interface RegistryTable {
  readonly kind: string;
  readonly fields: Readonly<Record<string, string>>;
}

export interface RegisteredCity {
  /** Absolute, symlinks resolved. */
  readonly path: string;
  readonly name: string;
}

/** The cities of this user. Tables that are not cities are kept as they are. */
export interface Registry {
  readonly tables: readonly RegistryTable[];
}

export type RegisterOutcome = 'added' | 'renamed' | 'unchanged';

const NAME = /^[a-zA-Z0-9][a-zA-Z0-9._-]*$/;

export function registryFile(home: string): string {
  return join(home, 'cities.toml');
}

/** The registered cities in file order; none when there is no file. @throws GcError `registry-invalid` */
export function readRegisteredCities(home: string): readonly RegisteredCity[] {
  return citiesOf(readRegistry(home).registry);
}

/** The registry and the text it was read from. */
export function readRegistry(home: string): { readonly registry: Registry; readonly text: string } {
  const file = registryFile(home);
  try {
    const text = readFileSync(file, 'utf8');
    return { registry: parseRegistry(text, file), text };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { registry: { tables: [] }, text: '' };
    throw error;
  }
}

export function citiesOf(registry: Registry): readonly RegisteredCity[] {
  return registry.tables.flatMap(({ kind, fields }) => {
    const { path, name } = fields;
    return kind === 'cities' && path !== undefined && name !== undefined ? [{ path, name }] : [];
  });
}

/**
 * Adds a city. The same path and name again changes nothing, the same path with another name renames.
 * Source: Gas City's registry rules. @throws GcError `registry-name-invalid`, `registry-name-taken`
 */
export function register(
  registry: Registry,
  city: RegisteredCity,
): { readonly registry: Registry; readonly outcome: RegisterOutcome } {
  if (!NAME.test(city.name)) {
    throw new GcError(
      'registry-name-invalid',
      `city name ${JSON.stringify(city.name)} cannot be registered`,
      {
        next: 'start it with a letter or digit and use only letters, digits, ".", "_" and "-": gc register --name <name>',
      },
    );
  }
  const known = citiesOf(registry);
  const other = known.find(({ name, path }) => name === city.name && path !== city.path);
  if (other) {
    throw new GcError(
      'registry-name-taken',
      `city name "${city.name}" is already registered for ${other.path}`,
      { next: `gc register ${city.path} --name <another name>, or gc unregister ${other.path}` },
    );
  }
  const same = known.find(({ path }) => path === city.path);
  if (same?.name === city.name) return { registry, outcome: 'unchanged' };
  if (same) {
    const tables = registry.tables.map((table) =>
      isCity(table, city.path) ? { ...table, fields: { ...table.fields, name: city.name } } : table,
    );
    return { registry: { tables }, outcome: 'renamed' };
  }
  const table: RegistryTable = { kind: 'cities', fields: { path: city.path, name: city.name } };
  return { registry: { tables: [...registry.tables, table] }, outcome: 'added' };
}

/** Takes a city out; `removed` is what stood there. */
export function unregister(
  registry: Registry,
  path: string,
): { readonly registry: Registry; readonly removed: RegisteredCity | undefined } {
  const removed = citiesOf(registry).find((city) => city.path === path);
  if (!removed) return { registry, removed };
  return { registry: { tables: registry.tables.filter((table) => !isCity(table, path)) }, removed };
}

/** Absolute, with symlinks resolved as far as the path exists: a removed city can still be named. */
export function resolveCityPath(path: string): string {
  const absolute = resolve(path);
  try {
    return realpathSync(absolute);
  } catch (error) {
    const parent = dirname(absolute);
    if (codeOf(error) !== 'ENOENT' || parent === absolute) return absolute;
    return join(resolveCityPath(parent), basename(absolute));
  }
}

function isCity(table: RegistryTable, path: string): boolean {
  return table.kind === 'cities' && table.fields['path'] === path;
}

export function renderRegistry(registry: Registry): string {
  const tables = registry.tables.map(({ kind, fields }) => {
    const lines = Object.entries(fields).map(([key, value]) => `${key} = ${quote(value)}`);
    return `[[${kind}]]\n${lines.join('\n')}\n`;
  });
  return tables.join('\n');
}

/** A TOML basic string: JSON's, except that TOML wants DEL escaped too. */
function quote(value: string): string {
  return JSON.stringify(value).replaceAll('\u007f', '\\u007F');
}

/**
 * Reads the subset of TOML that this file consists of: arrays of tables with string values. It stands alone so that
 * `gc cities` need not load a TOML library. A dot means any character here: U+2028 and U+2029 end no line in TOML.
 */
export function parseRegistry(text: string, file: string): Registry {
  const tables: { kind: string; fields: Record<string, string> }[] = [];
  text.split(/\r?\n/).forEach((raw, index) => {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) return;
    const header = /^\[\[\s*([A-Za-z0-9_-]+)\s*\]\]\s*(?:#.*)?$/s.exec(line);
    if (header?.[1]) {
      tables.push({ kind: header[1], fields: {} });
      return;
    }
    const pair = /^([A-Za-z0-9_-]+)\s*=\s*(.*)$/s.exec(line);
    const value = pair?.[2] === undefined ? undefined : readString(pair[2]);
    const table = tables.at(-1);
    if (pair?.[1] === undefined || value === undefined || !table) {
      throw new GcError(
        'registry-invalid',
        `${file}:${index + 1} is not a line of a city registry: ${line}`,
        {
          next: `correct that line, or move ${file} away and register your cities again`,
        },
      );
    }
    table.fields[pair[1]] = value;
  });
  return { tables };
}

function readString(source: string): string | undefined {
  const literal = /^'([^']*)'\s*(?:#.*)?$/s.exec(source);
  if (literal) return literal[1];
  const basic = /^("(?:[^"\\]|\\.)*")\s*(?:#.*)?$/s.exec(source)?.[1];
  if (basic === undefined) return undefined;
  try {
    // TOML's one escape that JSON lacks.
    const wide = basic.replace(/\\U([0-9A-Fa-f]{8})/g, (_, hex: string) =>
      JSON.stringify(String.fromCodePoint(Number.parseInt(hex, 16))).slice(1, -1),
    );
    const value: unknown = JSON.parse(wide);
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined; // not a string of either language
  }
}
