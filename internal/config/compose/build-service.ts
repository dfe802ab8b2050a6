import type { Service } from '../city.ts';
import type { ServiceEntry } from './draft.ts';
import { placeOf } from './entry.ts';

/** A service with the defaults of the format. Source: Gas City workspace services. */
export function buildService(entry: ServiceEntry): Service {
  const {
    name,
    kind,
    publish_mode: mode,
    state_root: stateRoot,
    publication,
    workflow,
    process,
  } = entry.value;
  const publishMode = mode || 'private';
  return {
    name,
    kind: kind || 'workflow',
    publishMode,
    stateRoot: stateRoot || `.gc/services/${name}`,
    publication: {
      visibility: publication?.visibility || (publishMode === 'direct' ? 'public' : 'private'),
      hostname: publication?.hostname ?? '',
      allowWebsockets: publication?.allow_websockets ?? false,
    },
    workflow: { contract: workflow?.contract ?? '' },
    process: { command: process?.command ?? [], healthPath: process?.health_path ?? '' },
    sourceDir: entry.sourceDir,
    source: placeOf(entry, ['name'], 'value'),
  };
}
