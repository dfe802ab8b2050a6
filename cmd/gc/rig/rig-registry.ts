import { sep } from 'node:path';
import { type Registry, readRegistry } from '../../../internal/controller/registry.ts';
import { editRegistry } from '../../../internal/controller/registry-file.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import { gcHome } from '../../../internal/platform/paths.ts';
import type { Context } from '../context.ts';

/** A rig of this user and the city that commands in its folder mean. Kept beside the cities, in `cities.toml`. */
export interface KnownRig {
  /** Absolute, symlinks resolved. */
  readonly path: string;
  readonly name: string;
  readonly defaultCity: string;
}

export function knownRigs(home: string): readonly KnownRig[] {
  return readRegistry(home).registry.tables.flatMap(({ kind, fields }) => {
    const { path, name, default_city: defaultCity = '' } = fields;
    return kind === 'rigs' && path !== undefined && name !== undefined ? [{ path, name, defaultCity }] : [];
  });
}

/** The default city of the rig that holds a folder, the innermost rig when several do. */
export function defaultCityOf(rigs: readonly KnownRig[], dir: string): string | undefined {
  const around = rigs.filter(
    ({ path }) => dir === path || dir.startsWith(path.endsWith(sep) ? path : path + sep),
  );
  const [nearest] = around.sort((a, b) => b.path.length - a.path.length);
  return nearest?.defaultCity || undefined;
}

/** Remembers a rig; its default city only when it has none yet, unless `anew`. */
export async function rememberRig(context: Context, rig: KnownRig, anew: boolean): Promise<void> {
  await edit(context, (registry) => {
    const old = registry.tables.find((table) => isRig(table, rig.path));
    const city = anew || !old?.fields['default_city'] ? rig.defaultCity : old.fields['default_city'];
    const fields = { ...old?.fields, path: rig.path, name: rig.name, default_city: city };
    if (old && old.fields['name'] === rig.name && old.fields['default_city'] === city) return registry;
    const others = registry.tables.filter((table) => table !== old);
    return { tables: [...others, { kind: 'rigs', fields }] };
  });
}

/** Forgets a rig whose default city is this one. */
export async function forgetRig(context: Context, path: string, city: string): Promise<void> {
  await edit(context, (registry) => {
    const tables = registry.tables.filter(
      (table) => !(isRig(table, path) && (table.fields['default_city'] ?? city) === city),
    );
    return tables.length === registry.tables.length ? registry : { tables };
  });
}

function isRig(table: Registry['tables'][number], path: string): boolean {
  return table.kind === 'rigs' && table.fields['path'] === path;
}

async function edit(context: Context, change: (registry: Registry) => Registry): Promise<void> {
  const place = { home: gcHome(context.env), clock: context.clock, ids: systemIds };
  await editRegistry(place, (registry) => ({ next: change(registry), answer: undefined }));
}
