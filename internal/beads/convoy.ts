import type { NewEvent } from '../events/event.ts';
import { GcError } from '../platform/errors.ts';
import type { Bead } from './store.ts';
import type { WorkTransaction, WorkView } from './work.ts';

/** Grouped work: a bead of this type is the parent of the beads in it. Source: Gas City's convoys, names and texts too. */
export const CONVOY_TYPE = 'convoy';
/** Ended by `land`, never by itself. */
const OWNED_LABEL = 'owned';
const ROUTE_KEY = 'gc.routed_to';
const MERGES = ['direct', 'mr', 'local'] as const;

export type ConvoyMerge = (typeof MERGES)[number];

export interface NewConvoy {
  readonly name: string;
  readonly issues: readonly string[];
  /** What its id begins with. */
  readonly prefix: string;
  readonly owner?: string | undefined;
  /** Who is told when it is done. */
  readonly notify?: string | undefined;
  readonly merge?: ConvoyMerge | undefined;
  /** A branch. */
  readonly target?: string | undefined;
  readonly owned: boolean;
}

export interface Convoy {
  readonly bead: Bead;
  readonly children: readonly Bead[];
  readonly closed: number;
  readonly owned: boolean;
}

export function isMerge(text: string): text is ConvoyMerge {
  return MERGES.some((merge) => merge === text);
}

/** @throws BeadNotFoundError; GcError `not-a-convoy` */
export function convoyOf(view: WorkView, id: string): Convoy {
  const bead = view.get(id);
  if (bead.issue_type !== CONVOY_TYPE) {
    throw new GcError('not-a-convoy', `bead ${id} is a ${bead.issue_type}, not a convoy`, {
      next: 'gc convoy list',
    });
  }
  const children = view.list({ parent: id, includeClosed: true });
  const closed = children.filter(({ status }) => status === 'closed').length;
  return { bead, children, closed, owned: bead.labels.includes(OWNED_LABEL) };
}

/** Oldest first. */
export function openConvoys(view: WorkView): readonly Convoy[] {
  return view.list({ type: CONVOY_TYPE }).map(({ id }) => convoyOf(view, id));
}

/** Nothing in it is left to do; one without anything in it is not done. */
export const isDone = ({ children, closed }: Convoy): boolean =>
  children.length > 0 && closed === children.length;

/** `1/2 closed` */
export const progressText = ({ children, closed }: Convoy): string => `${closed}/${children.length} closed`;

/** Ready work of open convoys that nobody has and that nobody was told of. */
export function strandedWork(view: WorkView): readonly { readonly convoy: Bead; readonly issue: Bead }[] {
  return openConvoys(view).flatMap(({ bead }) =>
    view
      .ready({ parent: bead.id, assignee: '' })
      .filter((issue) => !issue.metadata[ROUTE_KEY])
      .map((issue) => ({ convoy: bead, issue })),
  );
}

/** @throws BeadNotFoundError; GcError `convoy-item` for what cannot be in one */
export function createConvoy(tx: WorkTransaction, convoy: NewConvoy, actor: string): Convoy {
  const { owner = '', notify = '', merge = '', target = '' } = convoy;
  const { id } = tx.createBead({
    title: convoy.name,
    prefix: convoy.prefix,
    issue_type: CONVOY_TYPE,
    from: actor,
    labels: convoy.owned ? [OWNED_LABEL] : [],
    metadata: filled({
      'convoy.owner': owner,
      'convoy.notify': notify,
      'convoy.merge': merge,
      target,
    }),
  });
  for (const issue of new Set(convoy.issues)) addToConvoy(tx, id, issue, actor);
  const created = convoyOf(tx.beads, id);
  tx.recordEvent(told('convoy.created', created.bead, actor));
  return created;
}

/** What is in it already stays in it. @throws BeadNotFoundError; GcError `not-a-convoy`, `convoy-closed`, `convoy-item` */
export function addToConvoy(tx: WorkTransaction, id: string, issue: string, actor: string): void {
  const { bead: convoy } = convoyOf(tx.beads, id);
  if (convoy.status === 'closed') throw new GcError('convoy-closed', `convoy ${id} is closed`);
  const item = tx.beads.get(issue);
  if (item.parent === id) return;
  if (item.issue_type === CONVOY_TYPE || item.issue_type === 'session') {
    throw new GcError('convoy-item', `bead ${issue} is a ${item.issue_type}: it cannot be in a convoy`);
  }
  const parent = item.parent === '' ? undefined : tx.beads.find(item.parent);
  if (parent && parent.status !== 'closed') {
    throw new GcError('convoy-item', `bead ${issue} belongs to ${parent.id} (${parent.title})`, {
      next: `gc bd show ${parent.id}`,
    });
  }
  tx.recordEvent(told('bead.updated', tx.beads.update(issue, { parent: id }), actor));
}

/** @throws BeadNotFoundError; GcError `not-a-convoy`, `invalid-branch` */
export function setConvoyTarget(tx: WorkTransaction, id: string, target: string, actor: string): void {
  if (!isBranchName(target)) {
    throw new GcError('invalid-branch', `${JSON.stringify(target)} cannot be the name of a branch`, {
      next: `gc convoy target ${id} <branch>`,
    });
  }
  const { bead } = convoyOf(tx.beads, id);
  const after = tx.beads.update(id, { metadata: { target } });
  if (after.revision !== bead.revision) tx.recordEvent(told('bead.updated', after, actor));
}

/** What git takes as a branch. Source: git-check-ref-format. */
function isBranchName(name: string): boolean {
  if (name === '@' || name.startsWith('-') || name.endsWith('.') || /\.\.|@\{/.test(name)) return false;
  if (/[\s\p{Cc}~^:?*[\\]/u.test(name)) return false;
  return name.split('/').every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.lock'));
}

/** One that is closed already stays as it is. @throws BeadNotFoundError; GcError `not-a-convoy` */
export function closeConvoy(tx: WorkTransaction, id: string, actor: string, reason = ''): Convoy {
  const convoy = convoyOf(tx.beads, id);
  if (convoy.bead.status === 'closed') return convoy;
  const bead = tx.beads.close(id, reason === '' ? undefined : { close_reason: reason });
  tx.recordEvent(told('convoy.closed', bead, actor));
  return { ...convoy, bead };
}

/** Closes those of which all is done, the owned ones excepted. Answers what was closed. */
export function closeDoneConvoys(
  tx: WorkTransaction,
  actor: string,
  among: readonly Convoy[] = openConvoys(tx.beads),
): readonly Convoy[] {
  return among
    .filter((convoy) => isDone(convoy) && !convoy.owned && convoy.bead.status !== 'closed')
    .map(({ bead }) => closeConvoy(tx, bead.id, actor, 'all its work is closed'));
}

/** The convoys that these beads are in. */
export function convoysOf(view: WorkView, ids: readonly string[]): readonly Convoy[] {
  const parents = new Set(ids.map((id) => view.find(id)?.parent ?? '').filter((id) => id !== ''));
  return [...parents].flatMap((id) =>
    view.find(id)?.issue_type === CONVOY_TYPE ? [convoyOf(view, id)] : [],
  );
}

export type Landing =
  | { readonly kind: 'landed' | 'would-land'; readonly convoy: Convoy }
  | { readonly kind: 'open-work'; readonly convoy: Convoy; readonly open: readonly Bead[] };

/** Ends an owned convoy. @throws BeadNotFoundError; GcError `not-a-convoy`, `not-owned`, `convoy-closed` */
export function landConvoy(
  tx: WorkTransaction,
  id: string,
  options: { readonly force: boolean; readonly dryRun: boolean; readonly actor: string },
): Landing {
  const convoy = convoyOf(tx.beads, id);
  if (!convoy.owned) {
    throw new GcError('not-owned', `convoy ${id} is not owned: it ends by itself when its work is closed`, {
      next: `gc convoy close ${id}`,
    });
  }
  if (convoy.bead.status === 'closed') throw new GcError('convoy-closed', `convoy ${id} has landed already`);
  const open = convoy.children.filter(({ status }) => status !== 'closed');
  if (open.length > 0 && !options.force) return { kind: 'open-work', convoy, open };
  if (options.dryRun) return { kind: 'would-land', convoy };
  return { kind: 'landed', convoy: closeConvoy(tx, id, options.actor, 'landed') };
}

function told(type: string, bead: Bead, actor: string): NewEvent {
  return { type, actor, subject: bead.id, message: bead.title };
}

function filled(fields: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));
}
