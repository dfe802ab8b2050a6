import type { Agent, City } from '../city.ts';
import { type BuiltAgent, place } from '../compose/built-agent.ts';
import type { Draft } from '../compose/draft.ts';
import { type Entry, type Origin, originOf } from '../compose/entry.ts';
import type { Look } from '../document/look.ts';
import { didYouMean } from '../document/nearest.ts';
import type { ProblemList } from '../document/problems.ts';
import {
  locate,
  pathText,
  positionAt,
  type SourceDocument,
  type ValuePath,
} from '../document/source-document.ts';
import { TemplateSet } from '../template/go-template.ts';
import {
  appendedFragments,
  checkPrompt,
  FragmentCache,
  type FragmentCity,
  fragmentNames,
  type PromptFiles,
  readPrompt,
} from '../template/prompt.ts';
import { TemplateError } from '../template/template-error.ts';
import {
  COMMAND_FIELDS,
  RESUME_FIELDS,
  SESSION_NAME_FIELDS,
  WORK_DIR_FIELDS,
} from '../template/template-fields.ts';

const BRACES_HINT = 'for braces that are not ours write {{"{{"}}';

/** Checks the templates that stand in configuration values. */
export function validateInlineTemplates(
  agents: readonly BuiltAgent[],
  draft: Draft,
  problems: ProblemList,
): void {
  const { workspace } = draft.sections;
  // The same commands stand in many agents: a pack's global lines in all of them.
  const right = new Map<readonly string[], Set<string>>();
  const check = (entry: Entry<unknown>, keys: ValuePath, text: string, fields: readonly string[]) => {
    if (!text.includes('{{')) return;
    const known = right.get(fields) ?? new Set();
    right.set(fields, known);
    if (known.has(text)) return;
    if (checkInline(text, originOf(entry, keys), fields, problems)) known.add(text);
  };
  check(workspace, ['session_template'], workspace.value.session_template ?? '', SESSION_NAME_FIELDS);
  check(workspace, ['start_command'], workspace.value.start_command ?? '', COMMAND_FIELDS);
  for (const entry of draft.providers.values()) {
    check(entry, ['command'], entry.value.command ?? '', COMMAND_FIELDS);
    (entry.value.args ?? []).forEach((text, index) => {
      check(entry, ['args', index], text, COMMAND_FIELDS);
    });
  }
  for (const { entry } of agents) {
    const single = [
      ['work_dir', WORK_DIR_FIELDS],
      ['start_command', COMMAND_FIELDS],
      ['resume_command', RESUME_FIELDS],
    ] as const;
    for (const [key, fields] of single) check(entry, [key], entry.value[key] ?? '', fields);
    for (const key of ['args', 'pre_start', 'session_setup', 'session_live'] as const) {
      (entry.value[key] ?? []).forEach((text, index) => {
        check(entry, [key, index], text, COMMAND_FIELDS);
      });
    }
  }
}

export /** Whether the template is right; what is wrong is reported. */
function checkInline(
  text: string,
  { document, path }: Origin,
  fields: readonly string[],
  problems: ProblemList,
): boolean {
  const set = new TemplateSet();
  const source = { name: '', text, file: pathText(path) };
  let errors: readonly TemplateError[];
  try {
    errors = set.check(set.add(source), new Set(fields));
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    errors = [error];
  }
  for (const error of errors) {
    const offset = offsetIn(text, error);
    problems.error(
      'template-error',
      `${pathText(path)}: ${error.reason}`,
      inlinePosition(document, path, text, offset),
      error.next === undefined ? BRACES_HINT : `${error.next}; ${BRACES_HINT}`,
    );
  }
  return errors.length === 0;
}

function offsetIn(text: string, { line, column }: TemplateError): number {
  const lines = text.split('\n').slice(0, line - 1);
  return lines.reduce((sum, current) => sum + current.length + 1, 0) + column - 1;
}

/** Inside the value when it is written as it reads (plain or simply quoted), else where the value begins. */
function inlinePosition(document: SourceDocument, path: ValuePath, text: string, offset: number) {
  const span = document.spanOf(path, 'value');
  if (!span) return locate(document, path, 'value');
  const quote = /^["']/.test(document.text.slice(span.start, span.start + 1)) ? 1 : 0;
  const start = span.start + quote;
  const isVerbatim = document.text.slice(start, start + offset) === text.slice(0, offset);
  return positionAt(document.file, document.text, isVerbatim ? start + offset : span.start);
}

/**
 * Checks every agent's prompt with its fragments. Answers the files that were read, so that a change of one of them
 * is seen.
 */
export async function validatePrompts(
  agents: readonly BuiltAgent[],
  city: FragmentCity & Pick<City, 'workspace' | 'agentDefaults'>,
  problems: ProblemList,
  look: Look,
): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  const fragments = new FragmentCache(look);
  const reported = new Set<string>();
  const seen = new Set<PromptFiles['shared']>();
  for (const built of agents) {
    const { agent } = built;
    // A missing file is reported where the path is written.
    if (agent.promptTemplate === '' || look.kind(agent.promptTemplate) !== 'file') continue;
    const files = await readOrReport(city, built, fragments, problems);
    if (!files) continue;
    texts.set(files.file, files.text);
    if (!seen.has(files.shared)) for (const shared of files.shared) texts.set(shared.file, shared.text);
    seen.add(files.shared);
    reportFragments(files, built, city, problems);
    for (const error of checkPrompt(files, appendedFragments(city, agent), agent.env)) {
      if (reported.has(error.message)) continue;
      reported.add(error.message);
      const position = { file: error.file, line: error.line, column: error.column };
      problems.error(
        'template-error',
        `prompt of agent "${agent.qualifiedName}": ${error.reason}`,
        position,
        error.next,
      );
    }
  }
  return texts;
}

async function readOrReport(
  city: FragmentCity,
  built: BuiltAgent,
  fragments: FragmentCache,
  problems: ProblemList,
): Promise<PromptFiles | undefined> {
  try {
    return await readPrompt(city, built.agent, fragments);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const position = { file: error.file, line: error.line, column: error.column };
    problems.error(
      'prompt-unreadable',
      `prompt of agent "${built.agent.qualifiedName}": ${error.reason}`,
      position,
    );
    return undefined;
  }
}

function reportFragments(
  files: PromptFiles,
  built: BuiltAgent,
  city: Pick<City, 'workspace' | 'agentDefaults'>,
  problems: ProblemList,
): void {
  const { agent } = built;
  if (!files.isTemplate) {
    if (agent.injectFragments.length === 0) return;
    problems.warning(
      'fragments-unused',
      `agent "${agent.qualifiedName}": a plain .md prompt takes no fragments`,
      place(built, 'inject_fragments'),
      'name the prompt file *.template.md',
    );
    return;
  }
  const appended = appendedFragments(city, agent);
  if (appended.length === 0) return;
  const names = fragmentNames(files);
  for (const name of appended) {
    if (names.includes(name)) continue;
    const where = fragmentPlace(name, agent, built);
    problems.error(
      'unknown-fragment',
      `agent "${agent.qualifiedName}": inject_fragment "${name}": template not found${didYouMean(name, names)}`,
      where,
      names.length === 0
        ? 'fragments are defined in template-fragments/*.template.md'
        : `defined: ${[...names].sort().join(', ')}`,
    );
  }
}

function fragmentPlace(name: string, agent: Agent, built: BuiltAgent) {
  const index = agent.injectFragments.indexOf(name);
  return index === -1 ? agent.source : place(built, 'inject_fragments', index);
}
