import type { Provenance } from '../city.ts';
import { locate, parsePathText, type ValuePath } from '../document/source-document.ts';
import type { Draft, Entry } from './draft.ts';

/** Lists of the city in the order in which `City` holds them. */
export interface ProvenanceLists {
  readonly agents: readonly Entry<unknown>[];
  readonly named_sessions: readonly Entry<unknown>[];
  readonly rigs: readonly Entry<unknown>[];
}

/** Finds the place of a value by its path in the city: `agents[0].nudge`, `daemon.patrol_interval`. */
export function provenanceOf(draft: Draft, lists: ProvenanceLists): Provenance {
  return {
    positionOf(text) {
      const path = parsePathText(text);
      const [section, index, ...rest] = path;
      if (section === 'agents' || section === 'named_sessions' || section === 'rigs') {
        const entry = typeof index === 'number' ? lists[section][index] : undefined;
        return entry && written(entry, [...entry.path, ...rest]);
      }
      const spelled = draft.spelling.get(String(section));
      if (spelled === undefined) return undefined;
      return written(draft, [spelled, ...path.slice(1)]);
    },
  };
}

function written({ document }: Pick<Entry<unknown>, 'document'>, path: ValuePath) {
  const isThere = document.spanOf(path, 'key') ?? document.spanOf(path, 'value');
  return isThere && locate(document, path);
}
