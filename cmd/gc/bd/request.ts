import type {
  BeadFilter,
  BeadQuery,
  BeadStatus,
  Dependency,
  NewBead,
} from '../../../internal/beads/store.ts';
import type { WorkPatch } from '../../../internal/beads/work-store.ts';
import { nearest } from '../../../internal/config/document/nearest.ts';
import { type Input, UsageError } from '../cli/input.ts';
import { BD_OPTIONS, EVERYWHERE, VERBS, type Verb } from './verbs.ts';

const STATUSES: readonly BeadStatus[] = ['open', 'in_progress', 'closed'];
const MAX_PRIORITY = 4;
export const LIST_LIMIT = 50;
export const READY_LIMIT = 100;

/** Not shown in lists unless asked for by their type: the city's own, and what only holds other beads back. */
const INFRA_TYPES = ['session', 'agent', 'role', 'rig', 'message'];
const GATE_TYPE = 'gate';

/** The verb that was meant, with its options checked. @throws UsageError */
export function verbOf(input: Input, word: string): Verb {
  const verb = VERBS.find(({ name }) => name === word);
  if (!verb) {
    const names = VERBS.map(({ name }) => name);
    const meant = nearest(word, names);
    throw new UsageError(
      `"${word}" is not among the words of bd that gc understands (${names.join(', ')})${meant ? `; did you mean "${meant}"?` : ''}`,
    );
  }
  const taken = new Set([...verb.options, ...EVERYWHERE]);
  const wrong = BD_OPTIONS.find(({ name }) => !taken.has(name) && isGiven(input, name));
  if (wrong) throw new UsageError(`${word} does not take --${wrong.name}`);
  return verb;
}

const isGiven = (input: Input, name: string): boolean =>
  input.flag(name) || input.text(name) !== undefined || input.texts(name).length > 0;

export interface CreateRequest {
  readonly bead: NewBead;
  readonly needs: readonly Omit<Dependency, 'issue_id'>[];
}

/** @throws UsageError */
export function createRequest(input: Input): CreateRequest {
  const words = input.rest('words').join(' ');
  const title = (input.text('title') ?? words).trim();
  if (title === '') throw new UsageError('create needs a title');
  if (input.text('title') !== undefined && words !== '') {
    throw new UsageError(`the title is given twice: --title and "${words}"`);
  }
  const type = input.text('type');
  return {
    bead: {
      title,
      priority: priorityOf(input.text('priority')) ?? 2,
      description: input.text('description') ?? '',
      parent: input.text('parent') ?? '',
      assignee: input.text('assignee') ?? '',
      notes: input.text('notes') ?? '',
      labels: labelsOf(input).map(requireLabel),
      metadata: metadataPatch(input),
      ...(type === undefined ? {} : { issue_type: workType(type) }),
    },
    needs: input.texts('deps').flatMap(splitCommas).map(needOf),
  };
}

/** @throws UsageError */
export function updatePatch(input: Input): WorkPatch {
  const status = input.text('status');
  const type = input.text('type');
  const priority = priorityOf(input.text('priority'));
  const assignee = input.flag('no-assignee') ? '' : input.text('assignee');
  const addLabels = input.texts('add-label').flatMap(splitCommas).map(requireLabel);
  const removeLabels = input.texts('remove-label').flatMap(splitCommas);
  const metadata = metadataPatch(input);
  const title = input.text('title');
  if (title?.trim() === '') throw new UsageError('the title is empty; a bead keeps one');
  return {
    ...given('title', title?.trim()),
    ...given('description', input.text('description')),
    ...given('notes', input.text('notes')),
    ...given('appendNotes', input.text('append-notes')),
    ...given('assignee', assignee),
    ...(status === undefined ? {} : { status: statusOf(status) }),
    ...(type === undefined ? {} : { issue_type: workType(type) }),
    ...(priority === undefined ? {} : { priority }),
    ...(addLabels.length > 0 ? { addLabels } : {}),
    ...(removeLabels.length > 0 ? { removeLabels } : {}),
    ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
  };
}

/** What `list` asks for, without its scope. @throws UsageError */
export function listQuery(input: Input): BeadQuery {
  const statuses = splitCommas(input.text('status') ?? '');
  const closedAfter = timeOf(input.text('closed-after'));
  const wantsAll = input.flag('all') || statuses.includes('all');
  const hidden = [
    ...(input.flag('include-infra') ? [] : INFRA_TYPES),
    ...(input.flag('include-gates') ? [] : [GATE_TYPE]),
  ];
  return {
    ...filterOf(input, LIST_LIMIT),
    ...(input.text('type') === undefined ? { notTypes: hidden } : {}),
    ...(statuses.length > 0 && !statuses.includes('all') ? { statuses: statuses.map(statusOf) } : {}),
    ...(closedAfter === undefined ? {} : { closedAfter }),
    includeClosed: wantsAll,
    allowScan: true,
  };
}

/** What `ready` asks for, without its scope. @throws UsageError */
export function readyFilter(input: Input): BeadFilter {
  return filterOf(input, READY_LIMIT);
}

function filterOf(input: Input, defaultLimit: number): BeadFilter {
  const nobody = input.flag('unassigned') || input.flag('no-assignee');
  const assignee = input.text('assignee');
  if (nobody && assignee) throw new UsageError(`--assignee ${assignee} and --unassigned exclude each other`);
  const labels = labelsOf(input);
  const fields = input.texts('metadata-field').map((pair) => keyAndValue('metadata-field', pair));
  return {
    ...given('type', input.text('type')),
    ...given('parent', input.text('parent')),
    ...given('assignee', nobody ? '' : assignee),
    ...(labels.length > 0 ? { labels } : {}),
    ...(fields.length > 0 ? { metadata: Object.fromEntries(fields) } : {}),
    limit: input.count('limit') ?? defaultLimit,
    sort: 'priority',
  };
}

/** @throws UsageError */
export function statusOf(text: string): BeadStatus {
  const status = STATUSES.find((each) => each === text);
  if (!status) throw new UsageError(`the status is ${STATUSES.join(', ')}, not "${text}"`);
  return status;
}

/** `0` to `4`, also written `P0` to `P4`. @throws UsageError */
export function priorityOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const digits = /^[pP]?(\d)$/.exec(text)?.[1];
  if (digits !== undefined && Number(digits) <= MAX_PRIORITY) return Number(digits);
  throw new UsageError(`the priority is 0 to ${MAX_PRIORITY} (0 is most urgent), not "${text}"`);
}

/** `id` or `type:id`. @throws UsageError */
function needOf(text: string): Omit<Dependency, 'issue_id'> {
  const colon = text.indexOf(':');
  const type = colon < 0 ? 'blocks' : text.slice(0, colon).trim();
  const id = text.slice(colon + 1).trim();
  if (type === '' || id === '') throw new UsageError(`--deps wants id or type:id, not "${text}"`);
  requireWord('the type of a dependency', type);
  return { depends_on_id: id, type };
}

/** Records of the city are not made by hand. @throws UsageError */
function workType(type: string): string {
  if (type === 'session') throw new UsageError('beads of type "session" are made by the city alone');
  if (type.trim() === '') throw new UsageError('the type is empty');
  return requireWord('the type', type.trim());
}

/** What scripts read as one word. @throws UsageError */
export function requireWord(what: string, word: string): string {
  if (!/[\s\x00-\x1f\x7f-\x9f]/.test(word)) return word;
  throw new UsageError(`${what} is one word, not ${JSON.stringify(word)}`);
}

/** Scripts read one label per line. @throws UsageError */
export function requireLabel(label: string): string {
  if (!/[\x00-\x1f\x7f-\x9f]/.test(label)) return label;
  throw new UsageError(`a label has no line ends and no control characters: ${JSON.stringify(label)}`);
}

/** `--metadata`, then `--set-metadata` and `--unset-metadata`; an empty value removes its key. @throws UsageError */
function metadataPatch(input: Input): Readonly<Record<string, string>> {
  return {
    ...metadataObject(input.text('metadata')),
    ...Object.fromEntries(input.texts('set-metadata').map((pair) => keyAndValue('set-metadata', pair))),
    ...Object.fromEntries(input.texts('unset-metadata').map((key) => [key, ''])),
  };
}

/** Values that are not text become the text of their JSON: readers of the store expect text only. @throws UsageError */
export function metadataObject(json: string | undefined): Readonly<Record<string, string>> {
  if (json === undefined) return {};
  const data = parsed(json);
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw new UsageError(`--metadata wants a JSON object such as {"branch":"x"}, not ${json || 'nothing'}`);
  }
  if (Object.hasOwn(data, '')) throw new UsageError('--metadata has an empty key');
  return Object.fromEntries(
    Object.entries(data).map(([key, value]: [string, unknown]) => [
      key,
      value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined; // said by the caller, as of any other wrong value
  }
}

function keyAndValue(option: string, pair: string): readonly [string, string] {
  const equals = pair.indexOf('=');
  if (equals < 1) throw new UsageError(`--${option} wants key=value, not "${pair}"`);
  return [pair.slice(0, equals), pair.slice(equals + 1)];
}

function timeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const at = Date.parse(text);
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(at)) return at;
  throw new UsageError(`--closed-after wants a time such as 2026-01-31T12:00:00Z, not "${text}"`);
}

const labelsOf = (input: Input): readonly string[] => [
  ...new Set([...input.texts('label'), ...input.texts('labels')].flatMap(splitCommas)),
];

const splitCommas = (text: string): readonly string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

function given<K extends string>(key: K, value: string | undefined): Partial<Record<K, string>> {
  return value === undefined ? {} : ({ [key]: value } as Partial<Record<K, string>>);
}
