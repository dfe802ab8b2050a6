import { isAbsolute, join, normalize, resolve } from 'node:path';
import type { Agent, AgentDefaults, NamedSession, Rig } from '../city.ts';
import type { ProblemList } from '../document/problems.ts';
import { pathKind, readText } from '../document/read-source.ts';
import { locate } from '../document/source-document.ts';
import { deriveBeadPrefix, qualifiedName } from '../qualified-name.ts';
import { durationMs, sleepText } from '../schema/raw-values.ts';
import type { RawAgent, RawNamedSession } from '../schema/schema-agent.ts';
import type { RawRig } from '../schema/schema-sections.ts';
import { buildSleep } from './build-sections.ts';
import type { AgentEntry, Entry } from './draft.ts';

const DEFAULT_DRAIN_TIMEOUT_MS = 300_000;

export interface AgentContext {
  readonly root: string;
  readonly defaults: AgentDefaults;
  readonly problems: ProblemList;
  /** Receives every file that was read or looked for. */
  readonly sources: string[];
}

/** An agent with absolute paths, its name pool read, and defaults filled in. Files that are missing are reported. */
export async function buildAgent(entry: AgentEntry, context: AgentContext): Promise<Agent> {
  const raw = entry.value;
  const files = await resolveFiles(entry, context);
  return {
    name: raw.name,
    dir: raw.dir ?? '',
    binding: '',
    qualifiedName: qualifiedName(raw.dir ?? '', '', raw.name),
    description: raw.description ?? '',
    workDir: raw.work_dir ?? '',
    scope: raw.scope ?? '',
    suspended: raw.suspended ?? false,
    ...commandsOf(raw),
    ...presetOf(raw),
    ...capacityOf(raw, context.defaults),
    ...files,
    source: locate(
      entry.document,
      entry.folder === undefined ? [...entry.path, 'name'] : entry.path,
      'value',
    ),
    sourceDir: context.root,
  };
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
  const own = folder !== undefined;
  const pick = (byKey: string | undefined, byFile: string | undefined) =>
    (own ? (byFile ?? byKey) : (byKey ?? byFile)) ?? '';
  const prompt = await resolveFile(entry, pick(raw.prompt_template, found.prompt), context.root);
  if (prompt.path !== '') {
    context.sources.push(prompt.path);
    if (prompt.kind !== 'file') missingPrompt(entry, prompt, context);
  }
  const overlay = await resolveFile(entry, pick(raw.overlay_dir, found.overlay), context.root);
  if (overlay.path !== '' && overlay.kind !== 'folder')
    warnMissing('overlay_dir', 'folder', entry, overlay, context);
  const script = await resolveFile(entry, raw.session_setup_script ?? '', context.root);
  if (script.path !== '' && script.kind !== 'file')
    warnMissing('session_setup_script', 'file', entry, script, context);
  const namepool = await resolveFile(entry, pick(raw.namepool, found.namepool), context.root);
  if (namepool.path !== '' && namepool.kind !== 'file')
    warnMissing('namepool', 'file', entry, namepool, context);
  return {
    promptTemplate: prompt.path,
    overlayDir: overlay.path,
    sessionSetupScript: script.path,
    namepool: namepool.path,
    namepoolNames: await readNamepool(namepool.path, context),
  };
}

interface ResolvedFile {
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'absent';
  readonly tried: readonly string[];
  readonly written: string;
}

/** `//x` is in the city's folder; a relative path is looked for beside the declaring file first, then in the city. */
async function resolveFile(entry: AgentEntry, path: string, root: string): Promise<ResolvedFile> {
  if (path === '') return { path: '', kind: 'absent', tried: [], written: '' };
  let tried: string[];
  if (path.startsWith('//')) tried = [join(root, path.slice(2))];
  else if (isAbsolute(path)) tried = [normalize(path)];
  else
    tried = [
      ...new Set([...(entry.folder === undefined ? [] : [join(entry.folder, path)]), join(root, path)]),
    ];
  for (const candidate of tried) {
    const kind = await pathKind(candidate);
    if (kind !== 'absent') return { path: candidate, kind, tried, written: path };
  }
  return { path: tried.at(-1) ?? '', kind: 'absent', tried, written: path };
}

function missingPrompt(entry: AgentEntry, prompt: ResolvedFile, context: AgentContext): void {
  const what = prompt.kind === 'folder' ? 'is a folder, not a file' : 'does not exist';
  context.problems.error(
    'prompt-not-found',
    `agent "${agentLabel(entry.value)}": prompt file "${prompt.written}" ${what}; looked at ${prompt.tried.join(' and ')}`,
    locate(entry.document, [...entry.path, 'prompt_template'], 'value'),
    'relative paths start at the folder of the file that declares the agent, then at the city folder',
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
    `agent "${agentLabel(entry.value)}": ${key} "${file.written}" is not a ${what}; looked at ${file.tried.join(' and ')}`,
    locate(entry.document, [...entry.path, key], 'value'),
  );
}

async function readNamepool(file: string, context: AgentContext): Promise<readonly string[]> {
  if (file === '' || (await pathKind(file)) !== 'file') return [];
  context.sources.push(file);
  const read = await readText(file);
  if (read.kind === 'unreadable') {
    context.problems.add(read.problems);
    return [];
  }
  return read.text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
}

export function agentLabel(raw: Pick<RawAgent, 'dir' | 'name'>): string {
  return qualifiedName(raw.dir ?? '', '', raw.name);
}

export function buildNamedSession(entry: Entry<RawNamedSession>): NamedSession {
  const { name, template, dir = '', mode } = entry.value;
  return {
    identity: qualifiedName(dir, '', name || template),
    template,
    templateQualifiedName: qualifiedName(dir, '', template),
    dir,
    mode: mode ?? 'on_demand',
    source: locate(entry.document, [...entry.path, name === undefined ? 'template' : 'name'], 'value'),
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
    source: locate(entry.document, [...entry.path, 'name'], 'value'),
  };
}
