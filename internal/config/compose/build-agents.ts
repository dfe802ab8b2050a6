import { dirname, isAbsolute, join, normalize, resolve } from 'node:path';
import type { Agent, AgentDefaults, NamedSession, Rig, Worktree } from '../city.ts';
import type { Look } from '../document/look.ts';
import type { ProblemList } from '../document/problems.ts';
import { deriveBeadPrefix, qualifiedName } from '../qualified-name.ts';
import { durationMs, sleepText } from '../schema/raw-values.ts';
import type { RawAgent } from '../schema/schema-agent.ts';
import type { RawRig } from '../schema/schema-sections.ts';
import { buildSleep } from './build-sections.ts';
import type { AgentEntry, SessionEntry } from './draft.ts';
import { type Entry, placeOf } from './entry.ts';
import type { Guard } from './guard.ts';
import { readNamepool } from './namepool.ts';
import { areFragmentsInside, isInside } from './outside.ts';

/** Folders beside a prompt whose fragments it may call. Source: Gas City prompt rendering. */
const PROMPT_NEIGHBOURS = ['shared', 'template-fragments'] as const;
const DEFAULT_DRAIN_TIMEOUT_MS = 300_000;

export interface AgentContext {
  readonly root: string;
  readonly defaults: AgentDefaults;
  readonly problems: ProblemList;
  /** Receives every file that was read or looked for. */
  readonly sources: Set<string>;
  /** What agents of packs may read. */
  readonly guard: Guard;
  readonly look: Look;
}

/** An agent with absolute paths, its name pool read, and defaults filled in. Files that are missing are reported. */
export async function buildAgent(entry: AgentEntry, context: AgentContext): Promise<Agent> {
  const raw = entry.value;
  const files = await resolveFiles(entry, context);
  return {
    name: raw.name,
    dir: raw.dir ?? '',
    binding: entry.binding,
    qualifiedName: agentLabel(entry),
    description: raw.description ?? '',
    workDir: raw.work_dir ?? '',
    scope: raw.scope ?? '',
    suspended: raw.suspended ?? false,
    ...commandsOf(raw),
    ...presetOf(raw),
    ...capacityOf(raw, context.defaults),
    ...files,
    source: placeOf(entry, entry.folder === undefined && !entry.implicit ? ['name'] : [], 'value'),
    sourceDir: entry.sourceDir,
    worktree: worktreeOf(raw),
    packName: entry.packName,
    implicit: entry.implicit ?? false,
    skillsDir: ownFolder(entry, 'skills', context),
    mcpDir: ownFolder(entry, 'mcp', context),
    sleepSource: raw.sleep_after_idle === undefined ? '' : (entry.sleepSource ?? 'agent'),
  };
}

function ownFolder(entry: AgentEntry, name: string, { guard, look }: AgentContext): string {
  const folder = join(entry.sourceDir, 'agents', entry.value.name, name);
  if (look.kind(folder) !== 'folder') return '';
  return entry.packName !== '' && guard.outside(folder) !== undefined ? '' : folder;
}

function worktreeOf({ worktree }: RawAgent): Worktree | undefined {
  return (
    worktree && {
      branch: worktree.branch ?? '',
      base: worktree.base ?? '',
      setup: worktree.setup ?? [],
      archive: worktree.archive ?? [],
      copy: worktree.copy ?? [],
      ports: worktree.ports ?? 0,
    }
  );
}

function commandsOf(raw: RawAgent) {
  return {
    preStart: raw.pre_start ?? [],
    nudge: raw.nudge ?? '',
    env: raw.env ?? {},
    scaleCheck: raw.scale_check ?? '',
    onBoot: raw.on_boot ?? '',
    onDeath: raw.on_death ?? '',
    workQuery: raw.work_query ?? '',
    slingQuery: raw.sling_query ?? '',
    sessionSetup: raw.session_setup ?? [],
    sessionLive: raw.session_live ?? [],
    injectFragments: raw.inject_fragments ?? [],
    injectAssignedSkills: raw.inject_assigned_skills ?? true,
  };
}

function presetOf(raw: RawAgent) {
  return {
    session: raw.session ?? '',
    provider: raw.provider ?? '',
    startCommand: raw.start_command ?? '',
    args: raw.args,
    promptMode: raw.prompt_mode ?? ('' as const),
    promptFlag: raw.prompt_flag ?? '',
    readyDelayMs: raw.ready_delay_ms,
    readyPromptPrefix: raw.ready_prompt_prefix,
    processNames: raw.process_names,
    emitsPermissionWarning: raw.emits_permission_warning,
    pty: raw.pty ?? true,
    optionDefaults: raw.option_defaults ?? {},
    installAgentHooks: raw.install_agent_hooks,
    hooksInstalled: raw.hooks_installed,
    resumeCommand: raw.resume_command ?? '',
  };
}

function capacityOf(raw: RawAgent, defaults: AgentDefaults) {
  return {
    maxActiveSessions: raw.max_active_sessions,
    minActiveSessions: raw.min_active_sessions ?? 0,
    drainTimeoutMs: durationMs(raw.drain_timeout) ?? DEFAULT_DRAIN_TIMEOUT_MS,
    idleTimeoutMs: durationMs(raw.idle_timeout) || undefined,
    sleepAfterIdle: sleepText(raw.sleep_after_idle),
    defaultSlingFormula: raw.default_sling_formula ?? (defaults.defaultSlingFormula || undefined),
    attach: raw.attach ?? true,
    fallback: raw.fallback ?? false,
    dependsOn: raw.depends_on ?? [],
    wakeMode: raw.wake_mode ?? (defaults.wakeMode === 'fresh' ? ('fresh' as const) : ('resume' as const)),
  };
}

async function resolveFiles(entry: AgentEntry, context: AgentContext) {
  const { value: raw, found, folder } = entry;
  const pick = (key: FileKey, byFile: string | undefined) => {
    const byKey = raw[key];
    // A file in the agent's folder stands above its manifest, a patch above both.
    const fileFirst = folder !== undefined && !entry.changes?.has(key);
    return (fileFirst ? (byFile ?? byKey) : (byKey ?? byFile)) ?? '';
  };
  const resolved = (key: FileKey, byFile?: string) => resolveFile(entry, key, pick(key, byFile), context);
  const prompt = await resolved('prompt_template', found.prompt);
  if (prompt.path !== '') {
    context.sources.add(prompt.path);
    if (prompt.kind !== 'file') missingPrompt(entry, prompt, context);
    else if (isOfPack(entry, 'prompt_template'))
      areFragmentsInside(
        dirname(prompt.path),
        PROMPT_NEIGHBOURS,
        context.guard,
        context.look,
        context.problems,
      );
  }
  const overlay = await resolved('overlay_dir', found.overlay);
  if (overlay.path !== '' && overlay.kind !== 'folder')
    warnMissing('overlay_dir', 'folder', entry, overlay, context);
  const script = await resolved('session_setup_script');
  if (script.path !== '' && script.kind !== 'file')
    warnMissing('session_setup_script', 'file', entry, script, context);
  const namepool = await resolved('namepool', found.namepool);
  if (namepool.path !== '' && namepool.kind !== 'file')
    warnMissing('namepool', 'file', entry, namepool, context);
  return {
    promptTemplate: prompt.path,
    overlayDir: overlay.path,
    sessionSetupScript: script.path,
    namepool: namepool.path,
    namepoolNames: await poolNamesOf(namepool.path, entry, context),
  };
}

interface ResolvedFile {
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'absent';
  readonly tried: readonly string[];
  readonly written: string;
}

type FileKey = 'prompt_template' | 'overlay_dir' | 'session_setup_script' | 'namepool';

/**
 * `//x` is in the city's folder; a relative path is looked for in the agent's own folder, then beside the file that
 * declares it. What a pack names must not lead out of it.
 */
async function resolveFile(
  entry: AgentEntry,
  key: FileKey,
  path: string,
  { root, guard, look, problems }: AgentContext,
): Promise<ResolvedFile> {
  if (path === '') return { path: '', kind: 'absent', tried: [], written: '' };
  let tried: string[];
  if (path.startsWith('//')) tried = [join(root, path.slice(2))];
  else if (isAbsolute(path)) tried = [normalize(path)];
  else
    tried = [
      ...new Set([
        ...(entry.folder === undefined ? [] : [join(entry.folder, path)]),
        join(entry.sourceDir, path),
      ]),
    ];
  for (const candidate of tried) {
    const kind = look.kind(candidate);
    if (kind === 'absent') continue;
    if (
      isInside(candidate, isOfPack(entry, key) ? guard : undefined, problems, () =>
        placeOf(entry, [key], 'value'),
      )
    )
      return { path: candidate, kind, tried, written: path };
    return { path: '', kind: 'absent', tried, written: path };
  }
  return { path: tried.at(-1) ?? '', kind: 'absent', tried, written: path };
}

/** Whether a pack says it, so that it must stay inside; the city may send agents of packs anywhere. */
function isOfPack(entry: AgentEntry, key: FileKey): boolean {
  const change = entry.changes?.get(key);
  return change ? change.ofPack === true : entry.packName !== '';
}

function missingPrompt(entry: AgentEntry, prompt: ResolvedFile, context: AgentContext): void {
  const what = prompt.kind === 'folder' ? 'is a folder, not a file' : 'does not exist';
  context.problems.error(
    'prompt-not-found',
    `agent "${agentLabel(entry)}": prompt file "${prompt.written}" ${what}; looked at ${prompt.tried.join(' and ')}`,
    placeOf(entry, ['prompt_template'], 'value'),
    entry.sourceDir === context.root
      ? 'relative paths start at the folder of the file that declares the agent, then at the city folder'
      : `relative paths start at the folder of the agent, then at ${entry.sourceDir}; //x starts at the city folder`,
  );
}

function warnMissing(
  key: string,
  what: string,
  entry: AgentEntry,
  file: ResolvedFile,
  context: AgentContext,
): void {
  context.problems.warning(
    'file-not-found',
    `agent "${agentLabel(entry)}": ${key} "${file.written}" is not a ${what}; looked at ${file.tried.join(' and ')}`,
    placeOf(entry, [key], 'value'),
  );
}

async function poolNamesOf(
  file: string,
  entry: AgentEntry,
  context: AgentContext,
): Promise<readonly string[]> {
  if (file === '' || context.look.kind(file) !== 'file') return [];
  context.sources.add(file);
  const { name, dir = '' } = entry.value;
  return readNamepool(file, { name, dir, binding: entry.binding }, context.problems);
}

function agentLabel({ value, binding }: Pick<AgentEntry, 'value' | 'binding'>): string {
  return qualifiedName(value.dir ?? '', binding, value.name);
}

export function buildNamedSession(entry: SessionEntry): NamedSession {
  const { name, template, dir = '', mode } = entry.value;
  const { binding } = entry;
  return {
    identity: qualifiedName(dir, binding, name || template),
    template,
    templateQualifiedName: qualifiedName(dir, binding, template),
    dir,
    mode: mode ?? 'on_demand',
    source: placeOf(entry, [name === undefined ? 'template' : 'name'], 'value'),
  };
}

/** `home` replaces a leading `~`. */
export function buildRig(entry: Entry<RawRig>, root: string, home: string | undefined): Rig {
  const raw = entry.value;
  const path = home !== undefined && /^~(\/|$)/.test(raw.path) ? join(home, raw.path.slice(1)) : raw.path;
  return {
    name: raw.name,
    path: resolve(root, path),
    prefix: raw.prefix || deriveBeadPrefix(raw.name),
    suspended: raw.suspended ?? false,
    maxActiveSessions: raw.max_active_sessions,
    formulasDir: raw.formulas_dir ?? '',
    sessionSleep: buildSleep(raw.session_sleep),
    defaultSlingTarget: raw.default_sling_target ?? '',
    doltHost: raw.dolt_host ?? '',
    doltPort: raw.dolt_port ?? '',
    includes: raw.includes ?? [],
    imports: Object.entries(raw.imports ?? {}).map(([binding, { source, version }]) => ({
      binding,
      source,
      version: version ?? '',
    })),
    source: placeOf(entry, ['name'], 'value'),
  };
}
