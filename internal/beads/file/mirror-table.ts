import type { Bead } from '../store.ts';
import { FileBeadTable } from './bead-table.ts';
import type { RawBead } from './document.ts';

export type MirroredBead = Pick<
  Bead,
  'id' | 'title' | 'status' | 'issue_type' | 'created_at' | 'labels' | 'metadata'
>;

/** Tells a copy of one of our records from a bead that somebody made. */
const MIRROR_KEY = 'gc.mirror_of';
const MIRROR_VALUE = 'city.db';

/** What proves to us that a process is the session: for nobody who reads the file. */
const SECRETS: ReadonlySet<string> = new Set(['instance_token']);

/** Copies of the city's records among the beads of the file. */
export class MirrorTable extends FileBeadTable {
  /** What is copied becomes exactly this; a bead of somebody else is left alone, whatever its id. Answers how many changed. */
  mirror(beads: readonly MirroredBead[]): number {
    const wanted = new Map(beads.map((bead) => [bead.id, mirrored(bead)]));
    const present = new Map([...this.document.beads].filter(([, raw]) => isMirror(raw)));
    let changed = 0;
    for (const id of present.keys()) {
      if (wanted.has(id)) continue;
      this.remove(id);
      changed += 1;
    }
    for (const [id, raw] of wanted) {
      const before = this.document.beads.get(id);
      if (before && (!present.has(id) || JSON.stringify(before) === JSON.stringify(raw))) continue;
      this.put(id, raw);
      changed += 1;
    }
    return changed;
  }
}

function mirrored({ id, title, status, issue_type, created_at, labels, metadata }: MirroredBead): RawBead {
  const told = Object.entries(metadata).filter(([key, value]) => value !== '' && !SECRETS.has(key));
  return {
    id,
    title,
    status,
    issue_type,
    created_at,
    ...(labels.length === 0 ? {} : { labels }),
    metadata: { ...Object.fromEntries(told), [MIRROR_KEY]: MIRROR_VALUE },
  };
}

function isMirror(raw: RawBead): boolean {
  const { metadata } = raw;
  if (typeof metadata !== 'object' || metadata === null) return false;
  return (metadata as Readonly<Record<string, unknown>>)[MIRROR_KEY] === MIRROR_VALUE;
}
