import { basename, dirname, join } from 'node:path';
import type { Agent, City } from '../city.ts';
import { Look } from '../document/look.ts';
import { readText } from '../document/read-source.ts';
import { baseName } from '../qualified-name.ts';
import { TemplateSet } from './go-template.ts';
import type { ParsedTemplate, TemplateBody } from './template-ast.ts';
import { TemplateError, type TemplateSource } from './template-error.ts';
import { PROMPT_FIELDS, type PromptFields } from './template-fields.ts';
import { type TemplateFunction, textOf } from './template-functions.ts';

const TEMPLATE_SUFFIXES = ['.md.tmpl', '.template.md'] as const;

/** A prompt file with the fragments that it can call, read but not rendered. */
export interface PromptFiles {
  readonly file: string;
  readonly text: string;
  /** Plain `.md` files are taken as they are. */
  readonly isTemplate: boolean;
  /** In order: later definitions win. */
  readonly shared: readonly TemplateSource[];
}

/** What the functions of a prompt need to know. */
export interface PromptFunctions {
  /** Name of our program: `{{cmd}}`. */
  readonly cmd: string;
  /** Session name of an identity: `{{session "mayor"}}`. */
  readonly session: (identity: string) => string;
}

/** What decides which fragments an agent's prompt can call. */
export type FragmentCity = Pick<City, 'root'> & Partial<Pick<City, 'layers'>>;

/**
 * Folders whose fragments a prompt can call, weakest first: those of the packs of the city, then of the agent's rig, in
 * load order; the city's own; then come those beside the prompt. Source: Gas City, which reads neither a rig's packs nor
 * the city's.
 */
function commonFolders({ root, layers }: FragmentCity, rig: string): readonly string[] {
  const packs = [...(layers?.packDirs.city ?? []), ...(layers?.packDirs.rigs[rig] ?? [])];
  return [...new Set([...packs, root])].flatMap((dir) => [
    join(dir, 'prompts', 'shared'),
    join(dir, 'template-fragments'),
  ]);
}

function foldersBeside(promptFile: string): readonly string[] {
  const beside = dirname(promptFile);
  return [join(beside, 'shared'), join(beside, 'template-fragments')];
}

/** Fragments that were read: all prompts of a rig share those of its packs. For one look at a city, not longer. */
export class FragmentCache {
  readonly #ofRig = new Map<string, CommonFragments>();
  readonly #inFolder = new Map<string, readonly TemplateSource[]>();
  readonly #look: Look;

  constructor(look: Look = new Look()) {
    this.#look = look;
  }

  async common(city: FragmentCity, rig: string): Promise<CommonFragments> {
    const known = this.#ofRig.get(rig);
    if (known) return known;
    const folders = commonFolders(city, rig);
    const sources: TemplateSource[] = [];
    for (const folder of folders) sources.push(...(await this.inFolder(folder)));
    const common = { folders: new Set(folders), sources };
    this.#ofRig.set(rig, common);
    return common;
  }

  /** @throws TemplateError for a file that cannot be read. */
  async inFolder(folder: string): Promise<readonly TemplateSource[]> {
    const known = this.#inFolder.get(folder);
    if (known) return known;
    const fragments = await fragmentsIn(folder, this.#look);
    this.#inFolder.set(folder, fragments);
    return fragments;
  }
}

interface CommonFragments {
  readonly folders: ReadonlySet<string>;
  readonly sources: readonly TemplateSource[];
}

/** Reads a prompt and, when it is a template, its fragments. An unreadable file is a `GcError` of its text. */
export async function readPrompt(
  city: FragmentCity,
  agent: Pick<Agent, 'dir' | 'promptTemplate'>,
  cache: FragmentCache = new FragmentCache(),
): Promise<PromptFiles> {
  const { promptTemplate: file } = agent;
  const isTemplate = TEMPLATE_SUFFIXES.some((suffix) => file.endsWith(suffix));
  const text = await textOrThrow(file);
  if (!isTemplate) return { file, text, isTemplate, shared: [] };
  const common = await cache.common(city, agent.dir);
  const own: TemplateSource[] = [];
  for (const folder of foldersBeside(file)) {
    if (!common.folders.has(folder)) own.push(...(await cache.inFolder(folder)));
  }
  return { file, text, isTemplate, shared: own.length === 0 ? common.sources : [...common.sources, ...own] };
}

async function fragmentsIn(folder: string, look: Look): Promise<readonly TemplateSource[]> {
  const fragments: TemplateSource[] = [];
  const names = look.names(folder);
  for (const suffix of TEMPLATE_SUFFIXES) {
    for (const name of names.filter((candidate) => candidate.endsWith(suffix))) {
      const file = join(folder, name);
      fragments.push({ name: name.slice(0, -suffix.length), text: await textOrThrow(file), file });
    }
  }
  return fragments;
}

async function textOrThrow(file: string): Promise<string> {
  const read = await readText(file);
  if (read.kind === 'text') return read.text;
  const reason = read.problems.map((problem) => problem.message).join('; ');
  throw new TemplateError({ name: file, text: '', file }, 0, reason);
}

/** The fragments that are appended to an agent's prompt, in order. */
export function appendedFragments(
  city: Pick<City, 'workspace' | 'agentDefaults'>,
  agent: Agent,
): readonly string[] {
  return [...city.workspace.globalFragments, ...agent.injectFragments, ...city.agentDefaults.appendFragments];
}

/** Everything that is wrong with a prompt, found without rendering it. */
export function checkPrompt(
  files: PromptFiles,
  fragments: readonly string[],
  env: Readonly<Record<string, string>>,
): readonly TemplateError[] {
  if (!files.isTemplate) return [];
  const shared = sharedSet(files.shared);
  const set = new TemplateSet(CHECK_FUNCTIONS, shared.set);
  const errors: TemplateError[] = [...shared.errors];
  const main = attempt(() => set.add(mainSource(files)), errors);
  const fields = new Set([...PROMPT_FIELDS, ...Object.keys(env)]);
  const bodies = [main, ...fragments.map((name) => set.get(name))];
  for (const body of bodies) if (body) errors.push(...set.check(body, fields));
  return errors;
}

interface SharedSet {
  readonly set: TemplateSet;
  readonly errors: readonly TemplateError[];
}

/** For looking at a prompt, not for rendering one. */
const CHECK_FUNCTIONS = functionsOf({ cmd: '', session: (identity) => identity });
/** Prompts of one rig share one list of fragments: its templates are taken over once. */
const sharedSets = new WeakMap<PromptFiles['shared'], SharedSet>();

function sharedSet(sources: PromptFiles['shared']): SharedSet {
  const known = sharedSets.get(sources);
  if (known) return known;
  const set = new TemplateSet(CHECK_FUNCTIONS);
  const errors: TemplateError[] = [];
  for (const source of sources) attempt(() => addShared(set, source), errors);
  const shared = { set, errors };
  sharedSets.set(sources, shared);
  return shared;
}

/** Whether a fragment of that name can be called from the prompt, and the names that can. */
export function fragmentNames(files: PromptFiles): readonly string[] {
  const set = new TemplateSet(CHECK_FUNCTIONS, sharedSet(files.shared).set);
  attempt(() => set.add({ ...mainSource(files), name: '' }), []);
  return set.names().filter((name) => name !== '');
}

/** Fragments that were parsed before: every prompt of a city adds the same ones, under the same functions. */
const parsedFragments = new WeakMap<TemplateSource, ParsedTemplate | TemplateError>();

/** @throws TemplateError */
function addShared(set: TemplateSet, source: TemplateSource): void {
  const known = parsedFragments.get(source) ?? parsedOrError(set, source);
  parsedFragments.set(source, known);
  if (known instanceof TemplateError) throw known;
  set.adopt(known);
}

function parsedOrError(set: TemplateSet, source: TemplateSource): ParsedTemplate | TemplateError {
  try {
    return set.parse(source);
  } catch (error) {
    if (error instanceof TemplateError) return error;
    throw error;
  }
}

function attempt<T>(work: () => T, errors: TemplateError[]): T | undefined {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    errors.push(error);
    return undefined;
  }
}

const mainSource = (files: PromptFiles): TemplateSource => ({
  name: basename(files.file),
  text: files.text,
  file: files.file,
});

function functionsOf({ cmd, session }: PromptFunctions): Readonly<Record<string, TemplateFunction>> {
  return {
    cmd: () => cmd,
    session: (...args) => session(textOf(args[0])),
    basename: (...args) => baseName(textOf(args[0])),
  };
}

/**
 * The prompt of one session. Fragments follow, each after a blank line; a plain file is returned unchanged and takes
 * none. Data is the agent's `env` under the standard names. Source: Gas City prompt rendering, but strict.
 * @throws TemplateError
 */
export function renderPrompt(
  files: PromptFiles,
  fragments: readonly string[],
  env: Readonly<Record<string, string>>,
  fields: PromptFields,
  functions: PromptFunctions,
): string {
  if (!files.isTemplate) return files.text;
  const set = new TemplateSet(functionsOf(functions));
  for (const source of files.shared) addShared(set, source);
  const main = set.add(mainSource(files));
  const data = { ...env, ...fields };
  const parts = [main, ...fragments.map((name) => fragmentOf(set, name, files))];
  return parts.map((part) => set.render(part, data)).join('\n\n');
}

function fragmentOf(set: TemplateSet, name: string, files: PromptFiles): TemplateBody {
  const body = set.get(name);
  if (body) return body;
  throw new TemplateError(mainSource(files), 0, `inject_fragment "${name}": template not found`);
}
