import { dirname, join } from 'node:path';
import { GcError } from '../../platform/errors.ts';
import type { Agent, City, SourcePosition } from '../city.ts';
import { isMap, shownPath } from '../document/source-document.ts';
import { AGENT_DEFAULT_VALUES, agentTable } from './config-document.ts';
import { isChange, isZero, type Leaf, leavesOf, nonZero, type Written, writtenAt } from './value-origins.ts';

export interface ExplainFilter {
  /** The agent's `dir`. */
  readonly rig?: string;
  /** Bare or qualified name. */
  readonly agent?: string;
}

/**
 * `written`: somebody said it. `default`: nobody did. `convention`: a file found in the agent's folder. `implicit`: the
 * agent was made for a preset. `mixed`: its parts come from several layers, see `items`.
 */
export type FieldOrigin = 'written' | 'default' | 'convention' | 'implicit' | 'mixed';

export interface ExplainedItem {
  /** `session_live[1]`, `env.PORT` */
  readonly key: string;
  readonly value: unknown;
  readonly origin: FieldOrigin;
  readonly position?: SourcePosition;
  readonly layer?: string;
}

export interface ExplainedField extends ExplainedItem {
  /** The parts of a `mixed` one. */
  readonly items?: readonly ExplainedItem[];
}

export interface ExplainedAgent {
  readonly agent: string;
  readonly source: SourcePosition;
  readonly fields: readonly ExplainedField[];
}

/** Fields that are shown even when nothing is written: they decide how many sessions there are. */
const SCALING_FIELDS: ReadonlySet<string> = new Set(['min_active_sessions', 'drain_timeout']);

/** Where every value of the matching agents comes from. @throws GcError (`no-agents-match`) */
export function explainConfig(city: City, filter: ExplainFilter = {}): readonly ExplainedAgent[] {
  const chosen = city.agents.flatMap((agent, index) => (matches(agent, filter) ? [{ agent, index }] : []));
  if (chosen.length === 0) {
    throw new GcError('no-agents-match', 'no agents match filters', { next: 'gc agent list' });
  }
  return chosen.map(({ agent, index }) => ({
    agent: agent.qualifiedName,
    source: agent.source,
    fields: explainAgent(city, agent, index),
  }));
}

function matches(agent: Agent, { rig, agent: name }: ExplainFilter): boolean {
  if (rig !== undefined && agent.dir !== rig) return false;
  // Nobody wrote them, so they are shown only when asked for.
  if (name === undefined && agent.implicit) return false;
  return name === undefined || agent.name === name || agent.qualifiedName === name;
}

/** The values of one agent; `index` is its place in `City.agents`. */
export function explainAgent(city: City, agent: Agent, index: number): readonly ExplainedField[] {
  const fields: ExplainedField[] = [];
  for (const [key, value] of Object.entries(agentTable(agent, city.root))) {
    const path = `agents[${index}].${key}`;
    const isShown =
      (!agent.implicit && writtenAt(city, path) !== undefined) ||
      SCALING_FIELDS.has(key) ||
      (!isZero(value) && value !== AGENT_DEFAULT_VALUES[key]);
    if (value === undefined || !isShown || key === 'name') continue;
    const kept = isMap(value) ? nonZero(value, {}, () => false) : value;
    fields.push(explainField(city, agent, path, key, kept));
  }
  return fields;
}

function explainField(city: City, agent: Agent, path: string, key: string, value: unknown): ExplainedField {
  const field = { key, value };
  const given = givenBy(city, agent, path, field);
  if (given) return { ...field, origin: 'written', ...given };
  if (agent.implicit) return { ...field, origin: isDefault(key, value) ? 'default' : 'implicit' };
  if (isConvention(city, agent, path, key)) return { ...field, origin: 'convention' };
  const leaves = leavesOf(city, path, value);
  const layers = new Set(leaves.map(({ written }) => written?.layer));
  if (layers.size > 1) {
    const items = leaves.map((leaf) => itemOf(leaf, key, path));
    return { ...field, origin: 'mixed', items };
  }
  const whole = writtenAt(city, path);
  const first = leaves[0]?.written;
  const written = first && whole?.layer !== first.layer ? first : (whole ?? first);
  return written ? { ...field, origin: 'written', ...written } : { ...field, origin: 'default' };
}

function itemOf({ path, value, written }: Leaf, key: string, fieldPath: string): ExplainedItem {
  const item = { key: `${key}${path.slice(fieldPath.length)}`, value };
  return written ? { ...item, origin: 'written', ...written } : { ...item, origin: 'default' };
}

function isDefault(key: string, value: unknown): boolean {
  return isZero(value) || value === AGENT_DEFAULT_VALUES[key];
}

/** What an agent has because of where it stands: its rig, its import, the defaults of the city. */
function givenBy(
  city: City,
  agent: Agent,
  path: string,
  { key, value }: Pick<ExplainedField, 'key' | 'value'>,
): Written | undefined {
  if (!agent.implicit && writtenAt(city, path)) return undefined;
  const rig = city.rigs.findIndex(({ name }) => name === agent.dir);
  const at = (path: string, layer: string) => {
    const written = writtenAt(city, path);
    return written && { ...written, layer };
  };
  if (key === 'dir' && rig !== -1) return at(`rigs[${rig}].name`, `rig ${agent.dir}`);
  if (key === 'binding') {
    const scope = rig === -1 ? 'imports' : `rigs[${rig}].imports`;
    return at(`${scope}.${agent.binding}`, `import ${agent.binding}`);
  }
  const { wakeMode, defaultSlingFormula } = city.agentDefaults;
  const defaults: Readonly<Record<string, string>> = {
    wake_mode: wakeMode,
    default_sling_formula: defaultSlingFormula,
  };
  if (defaults[key] && defaults[key] === value) return at(`agent_defaults.${key}`, 'agent_defaults');
  return undefined;
}

type FileKey = 'prompt_template' | 'overlay_dir' | 'namepool';

/** Whether a file in the agent's own folder is meant, not one that somebody named. */
function isConvention(city: City, agent: Agent, path: string, key: string): boolean {
  const files: Readonly<Record<FileKey, string>> = {
    prompt_template: agent.promptTemplate,
    overlay_dir: agent.overlayDir,
    namepool: agent.namepool,
  };
  if (!Object.hasOwn(files, key)) return false;
  const written = writtenAt(city, path);
  if (!written) return true;
  const folder = join(agent.sourceDir, 'agents', agent.name);
  const isOfFolder = agent.source.file === folder || dirname(agent.source.file) === folder;
  // In an agent's folder the file wins over the manifest, but not over a patch.
  return isOfFolder && !isChange(written.layer) && dirname(files[key as FileKey]) === folder;
}

const SHOWN_VALUE_LENGTH = 60;
const ELLIPSIS = '...';

/** `Agent: <name>`, `  source: <file>`, then `  key = value  # file:line`. Source: Gas City `config explain`. */
export function explainText(explained: readonly ExplainedAgent[], root: string): string {
  return explained
    .flatMap(({ agent, source, fields }) => [
      `Agent: ${agent}`,
      `  source: ${placeText(source, root)}`,
      ...fields.flatMap((field) => [
        `  ${lineOf(field, root)}`,
        ...(field.items ?? []).map((item) => `    ${lineOf(item, root)}`),
      ]),
      '',
    ])
    .join('\n');
}

function lineOf(item: ExplainedItem, root: string): string {
  return `${item.key} = ${valueText(item.value)}  # ${originText(item, root)}`;
}

const ORIGIN_WORDS: Readonly<Record<Exclude<FieldOrigin, 'written'>, string>> = {
  default: 'default',
  convention: "found in the agent's folder",
  implicit: 'implicit agent',
  mixed: 'from several layers',
};
/** Layers that are made here; those of files speak for themselves. */
const OF_PLACE = /^(rig |import |agent_defaults$)/;

function originText({ origin, position, layer = '' }: ExplainedItem, root: string): string {
  if (origin !== 'written') return ORIGIN_WORDS[origin];
  const place = position ? placeText(position, root) : '';
  return isChange(layer) || OF_PLACE.test(layer) ? `${place} ${layer}` : place;
}

/** `packs/gastown/pack.toml:12` */
export function placeText({ file, line }: SourcePosition, root: string): string {
  return `${shownPath(root, file)}:${line}`;
}

function valueText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const oneLine = text.replaceAll('\n', '\\n');
  const short =
    oneLine.length > SHOWN_VALUE_LENGTH
      ? oneLine.slice(0, SHOWN_VALUE_LENGTH - ELLIPSIS.length) + ELLIPSIS
      : oneLine;
  return typeof value === 'string' && (short === '' || /\s/.test(short)) ? `"${short}"` : short;
}
