import { join } from 'node:path';
import type { Agent, City } from '../config/city.ts';
import { qualifiedInstanceName } from '../config/qualified-name.ts';
import { renderTemplate } from '../config/template/go-template.ts';
import { commandFields, type Instance, type RealPath, rigOf, workDirFields } from '../config/work-dir.ts';
import type { Clock } from '../platform/clock.ts';
import { GcError } from '../platform/errors.ts';
import type { Ids } from '../platform/ids.ts';
import { StartFailedError } from '../runtime/errors.ts';
import type { RuntimeConfig } from '../runtime/runtime-config.ts';
import { stageFiles } from '../runtime/staging.ts';
import { defaultBranch, legalBranch } from '../worktree/branch-name.ts';
import { ensureWorktree } from '../worktree/ensure-worktree.ts';
import { WorktreeError } from '../worktree/errors.ts';
import { noteStaged } from '../worktree/note-staged.ts';
import type { WorktreeHome } from '../worktree/registry.ts';
import type { WorktreeSpec } from '../worktree/worktree-spec.ts';
import type { DesiredKind } from './model.ts';

/**
 * The worktree that a session asks for. In no fingerprint: a change of branch, base, copies or set-up is for worktrees
 * that are made later, and one of archive commands or ports for the next start; no session restarts for it.
 */
export interface SessionWorktree {
  /** `<city>/.gc`. */
  readonly gcDir: string;
  readonly spec: Omit<WorktreeSpec, 'env' | 'facts'>;
}

interface Asked {
  readonly agent: Agent;
  readonly kind: DesiredKind;
  readonly sessionName: string;
  readonly identity: string;
}

/** Sessions that people made share their agent's name, but never a worktree. */
export function worktreeInstance({ agent, kind, sessionName }: Asked, instance: Instance): Instance {
  if (!agent.worktree || kind !== 'manual') return instance;
  return { qualifiedName: qualifiedInstanceName(agent, sessionName) };
}

/** @throws TemplateError, GcError `worktree-without-rig` */
export function sessionWorktree(
  city: City,
  asked: Asked,
  place: { readonly instance: Instance; readonly workDir: string },
  realPath: RealPath,
): { readonly worktree?: SessionWorktree } {
  const { agent } = asked;
  const { worktree } = agent;
  if (!worktree) return {};
  const rig = rigOf(city, agent, realPath);
  if (!rig) {
    throw new GcError('worktree-without-rig', `agent "${agent.qualifiedName}" has a worktree but no rig`, {
      next: 'set its dir to a rig',
    });
  }
  const instance = worktreeInstance(asked, place.instance);
  const { workDir } = place;
  const names = workDirFields(city, agent, instance, realPath);
  const fields = commandFields(city, agent, instance, { name: asked.sessionName, workDir }, realPath);
  const where = (key: string) => `worktree.${key} of agent "${agent.qualifiedName}"`;
  const commands = (key: 'setup' | 'archive') =>
    worktree[key].map((text, index) => renderTemplate(text, fields, where(`${key}[${index}]`)));
  const named = legalBranch(renderTemplate(worktree.branch, names, where('branch')));
  return {
    worktree: {
      gcDir: join(city.root, '.gc'),
      spec: {
        path: workDir,
        rig: { name: rig.name, path: rig.path },
        session: asked.kind === 'manual' ? asked.sessionName : asked.identity,
        branch: named === '' ? defaultBranch(rig.name, names.AgentBase) : named,
        base: worktree.base,
        setup: commands('setup'),
        archive: commands('archive'),
        copy: worktree.copy,
        ports: worktree.ports,
      },
    },
  };
}

/** What archive commands are told when the session is long gone: no secrets, nothing of one life. */
const FACTS = [
  'GC_AGENT',
  'GC_ALIAS',
  'GC_BIN',
  'GC_CITY',
  'GC_CITY_PATH',
  'GC_DIR',
  'GC_RIG',
  'GC_RIG_ROOT',
  'GC_SESSION_NAME',
  'GC_TEMPLATE',
] as const;

interface Parts {
  readonly clock: Clock;
  readonly ids: Ids;
}

/** A session's configuration, knowing where it begins. */
export interface Placed {
  readonly config: RuntimeConfig;
  /** For people, with the start. */
  readonly warnings: readonly string[];
}

/**
 * Has the session's worktree ready, with the files of the configuration in it; the configuration gets the variables that
 * say where it is. Staging once more at the start changes nothing then.
 * @throws StartFailedError with the last lines of the command that failed
 */
export async function enterWorktree(
  parts: Parts,
  worktree: SessionWorktree,
  config: RuntimeConfig,
  signal: AbortSignal,
): Promise<Placed> {
  const home = homeOf(parts, worktree, config);
  const placed = await backInWorktree(parts, worktree, config, signal);
  await noteStaged(home, worktree.spec.path, signal, async () => {
    await stageFiles(config, signal); // its warnings come again with the start
  });
  return placed;
}

/** The same for a session that lives in it already: nothing is put there. @throws StartFailedError */
export async function backInWorktree(
  parts: Parts,
  worktree: SessionWorktree,
  config: RuntimeConfig,
  signal: AbortSignal,
): Promise<Placed> {
  const facts = Object.fromEntries(FACTS.map((name) => [name, config.env[name] ?? '']));
  try {
    const spec = { ...worktree.spec, env: config.env, facts };
    const { env, notes } = await ensureWorktree(homeOf(parts, worktree, config), spec, signal);
    return { config: { ...config, env: { ...config.env, ...env } }, warnings: notes };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof WorktreeError)) throw error;
    throw new StartFailedError(error.code, error.message, {
      cause: error,
      lastLines: error.lastLines,
      ...(error.next === undefined ? {} : { next: error.next }),
    });
  }
}

function homeOf({ clock, ids }: Parts, { gcDir }: SessionWorktree, config: RuntimeConfig): WorktreeHome {
  return { clock, ids, gcDir, env: config.env };
}
