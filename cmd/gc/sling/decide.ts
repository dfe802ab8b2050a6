import { headline } from '../../../internal/beads/message.ts';
import { type Bead, type BeadPatch, DEFAULT_PRIORITY, type NewBead } from '../../../internal/beads/store.ts';
import { ROUTED_TO } from '../../../internal/controller/work-facts.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import type { Owner, SlingTarget } from './target.ts';

/** Not for an agent to do, with the reason. */
const REFUSED_TYPES: Readonly<Record<string, string>> = {
  session: 'it is a record of the city',
  message: 'a message is read, not done: gc mail read',
  gate: 'a gate is closed, not done: gc bd gate close',
  epic: 'hand out the beads below it',
  convoy: 'hand out the beads in it',
};
/** How the changes of a piece of work go back. Source: Gas City. */
const MERGE_KEY = 'merge_strategy';
const TITLE_CHARACTERS = 200;

export interface SlingWish {
  readonly target: SlingTarget;
  /** `''`: not said. */
  readonly merge: string;
  readonly force: boolean;
  /** Work of another rig is no mistake. */
  readonly anyRig: boolean;
}

export interface SlingDecision {
  /** It is that target's already; nothing is to be written. */
  readonly already: boolean;
  /** What the program writes itself: empty where only the config's own query knows. */
  readonly patch: BeadPatch;
  readonly warnings: readonly string[];
}

/**
 * What becomes of a bead that is there. Pure. Work in somebody's hands, and work of another rig, which the target would
 * not see, is moved only by force. @throws GcError `bead-closed`, `not-work`, `other-rig`, `bead-assigned`
 */
export function decideSling(bead: Bead, owner: Owner, wish: SlingWish): SlingDecision {
  const { target, merge, force } = wish;
  refuseUnfit(bead, owner, wish);
  if (target.isCustom) return mergeOnly(wish);
  const metadata = mergeMetadata(merge);
  const routed = bead.metadata[ROUTED_TO] ?? '';
  const isRouted = routed === target.agent.qualifiedName;
  const isFreeOrTheirs = bead.assignee === target.assignee || (target.assignee === '' && !force);
  const hasMerge = merge === '' || bead.metadata[MERGE_KEY] === merge;
  if (isRouted && isFreeOrTheirs) return { already: hasMerge, patch: { metadata }, warnings: [] };
  if (bead.assignee !== '' && bead.assignee !== target.assignee && !force) {
    throw new GcError(
      'bead-assigned',
      `bead ${bead.id} is in the hands of ${bead.assignee}; nothing was changed`,
      {
        next: `gc sling ${target.label} ${bead.id} --force takes it from there`,
      },
    );
  }
  const warnings = routed === '' || isRouted || force ? [] : [`${bead.id} was routed to ${routed}`];
  return {
    already: false,
    patch: {
      assignee: target.assignee,
      // Work in progress is in nobody's list of what can be begun.
      ...(bead.status === 'in_progress' ? { status: 'open' } : {}),
      metadata: { ...metadata, [ROUTED_TO]: target.agent.qualifiedName },
    },
    warnings,
  };
}

/** All that is written beside what the config's own query does. */
export function mergeOnly({ merge }: SlingWish): SlingDecision {
  return { already: false, patch: { metadata: mergeMetadata(merge) }, warnings: [] };
}

/** The bead that a text becomes: of the target's rig, and routed already unless the config has its own query. */
export function newSlungBead(text: string, title: string, { target, merge }: SlingWish): NewBead {
  const { isCustom, owner, assignee, agent } = target;
  return {
    ...titled(text.trim(), title),
    prefix: owner.prefix,
    priority: DEFAULT_PRIORITY,
    ...(isCustom ? {} : { assignee }),
    metadata: {
      ...mergeMetadata(merge),
      ...(isCustom ? {} : { [ROUTED_TO]: agent.qualifiedName }),
    },
  };
}

/** The first line is the title, unless there is one; what a title cannot hold is the description. */
function titled(text: string, title: string): Pick<NewBead, 'title' | 'description'> {
  if (title !== '') return { title, description: text };
  const [first = '', ...rest] = text.split('\n');
  const line = first.trim();
  const short = headline(line, TITLE_CHARACTERS);
  return { title: short, description: short === line ? rest.join('\n').trim() : text };
}

const mergeMetadata = (merge: string): Readonly<Record<string, string>> =>
  merge === '' ? {} : { [MERGE_KEY]: merge };

/** @throws GcError `bead-closed`, `not-work`, `other-rig` */
export function refuseUnfit(bead: Bead, owner: Owner, { target, anyRig }: SlingWish): void {
  if (bead.status === 'closed') {
    throw new GcError('bead-closed', `bead ${bead.id} is closed`, { next: `gc bd reopen ${bead.id}` });
  }
  const why = REFUSED_TYPES[bead.issue_type];
  if (why !== undefined) {
    throw new GcError('not-work', `bead ${bead.id} is a ${bead.issue_type}, which no agent can take: ${why}`);
  }
  if (anyRig || owner.rig?.name === target.owner.rig?.name) return;
  throw new GcError(
    'other-rig',
    `bead ${bead.id} belongs to ${ownerText(owner)} and ${target.label} to ${ownerText(target.owner)}, where it is not seen`,
    { next: `an agent of ${ownerText(owner)}, or --force` },
  );
}

const ownerText = ({ rig }: Owner): string => (rig ? `the rig "${rig.name}"` : 'the city');
