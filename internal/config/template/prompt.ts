import { basename, dirname, join } from 'node:path';
import type { Agent, City } from '../city.ts';
import { namesIn, readText } from '../document/read-source.ts';
import { baseName } from '../qualified-name.ts';
import { TemplateSet } from './go-template.ts';
import type { TemplateBody } from './template-ast.ts';
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

/** Folders whose fragments a prompt can call, weakest first. */
export function sharedFolders(root: string, promptFile: string): readonly string[] {
  const beside = dirname(promptFile);
  return [
    ...new Set([
      join(root, 'prompts', 'shared'),
      join(root, 'template-fragments'),
      join(beside, 'shared'),
      join(beside, 'template-fragments'),
    ]),
  ];
}

/** Reads a prompt and, when it is a template, its fragments. An unreadable main file is a `GcError` of its text. */
export async function readPrompt(root: string, promptFile: string): Promise<PromptFiles> {
  const isTemplate = TEMPLATE_SUFFIXES.some((suffix) => promptFile.endsWith(suffix));
  const text = await textOrThrow(promptFile);
  const shared: TemplateSource[] = [];
  for (const folder of isTemplate ? sharedFolders(root, promptFile) : []) {
    const names = await namesIn(folder);
    for (const suffix of TEMPLATE_SUFFIXES) {
      for (const name of names.filter((candidate) => candidate.endsWith(suffix))) {
        const file = join(folder, name);
        shared.push({ name: name.slice(0, -suffix.length), text: await textOrThrow(file), file });
      }
    }
  }
  return { file: promptFile, text, isTemplate, shared };
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
  const set = new TemplateSet(functionsOf({ cmd: '', session: (identity) => identity }));
  const errors: TemplateError[] = [];
  for (const source of files.shared) attempt(() => set.add(source), errors);
  const main = attempt(() => set.add(mainSource(files)), errors);
  const fields = new Set([...PROMPT_FIELDS, ...Object.keys(env)]);
  const bodies = [main, ...fragments.map((name) => set.get(name))];
  for (const body of bodies) if (body) errors.push(...set.check(body, fields));
  return errors;
}

/** Whether a fragment of that name can be called from the prompt, and the names that can. */
export function fragmentNames(files: PromptFiles): readonly string[] {
  const set = new TemplateSet(functionsOf({ cmd: '', session: (identity) => identity }));
  for (const source of files.shared) attempt(() => set.add(source), []);
  attempt(() => set.add({ ...mainSource(files), name: '' }), []);
  return set.names().filter((name) => name !== '');
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
  for (const source of files.shared) set.add(source);
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
