import { basename } from 'node:path';
import type { Provenance } from '../city.ts';
import { parsePathText, type ValuePath } from '../document/source-document.ts';
import type { Draft } from './draft.ts';
import { type Entry, originOf, writtenPlace } from './entry.ts';

/**
 * Finds who wrote a value, and where, by its path in the city: `agents[0].nudge`, `daemon.patrol_interval`,
 * `providers.claude.env.PORT`. The lists must be in the order in which `City` holds them.
 */
export function provenanceOf(draft: Draft): Provenance {
  const find = (text: string): { readonly entry: Entry<unknown>; readonly keys: ValuePath } | undefined => {
    const [section, index, ...rest] = parsePathText(text);
    const lists: Readonly<Record<string, readonly Entry<unknown>[]>> = {
      agents: draft.agents,
      named_sessions: draft.namedSessions,
      rigs: draft.rigs,
      services: draft.services,
    };
    const list = lists[String(section)];
    const maps: Readonly<Record<string, ReadonlyMap<string, Entry<unknown>>>> = {
      providers: draft.providers,
      imports: draft.imports,
      packs: draft.packSources,
    };
    const table: Readonly<Record<string, Entry<unknown>>> = draft.sections;
    const entry = list
      ? typeof index === 'number'
        ? list[index]
        : undefined
      : (maps[String(section)]?.get(String(index)) ?? table[String(section)]);
    if (!entry) return undefined;
    const isTable = !list && !maps[String(section)];
    return { entry, keys: isTable && index !== undefined ? [index, ...rest] : rest };
  };
  return {
    positionOf(text) {
      const found = find(text);
      return found && writtenPlace(found.entry, found.keys);
    },
    layerOf(text) {
      const found = find(text);
      if (!found || !writtenPlace(found.entry, found.keys)) return undefined;
      const { layer, document } = originOf(found.entry, found.keys);
      return layer === 'agents' ? basename(document.file) : layer;
    },
  };
}
