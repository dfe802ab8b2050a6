import { join, resolve } from 'node:path';
import type { Agent, City, Rig } from './city.ts';
import { slingQueryOf, workQueryOf } from './default-commands.ts';
import { baseName } from './qualified-name.ts';
import { renderTemplate } from './template/go-template.ts';
import type { CommandFields, PromptFields, WorkDirFields } from './template/template-fields.ts';

/** The path without symbolic links; the path itself when it cannot be resolved. */
export type RealPath = (path: string) => string;

/** The rig an agent belongs to, by name or by path. */
export function rigOf(
  city: Pick<City, 'rigs' | 'root'>,
  agent: Pick<Agent, 'dir'>,
  realPath: RealPath,
): Rig | undefined {
  if (agent.dir === '') return undefined;
  const byName = city.rigs.find((rig) => rig.name === agent.dir);
  if (byName) return byName;
  const path = realPath(resolve(city.root, agent.dir));
  return city.rigs.find((rig) => realPath(rig.path) === path);
}

/** One session's identity among those of its agent. */
export interface Instance {
  /** `[dir/][binding.]instance`; the agent's own name when it has one session. */
  readonly qualifiedName: string;
}

export function workDirFields(
  city: Pick<City, 'rigs' | 'root' | 'workspace'>,
  agent: Agent,
  instance: Instance,
  realPath: RealPath,
): WorkDirFields {
  const rig = rigOf(city, agent, realPath);
  return {
    Agent: instance.qualifiedName,
    AgentBase: baseName(instance.qualifiedName),
    Rig: rig?.name ?? '',
    RigRoot: rig?.path ?? '',
    CityRoot: city.root,
    CityName: city.workspace.name,
  };
}

/**
 * Absolute work dir of a session: the agent's `work_dir` template, else its worktree, else its rig, else its `dir` in the
 * city, else the city. Not created here. Source: Gas City work-dir resolution.
 * @throws TemplateError
 */
export function resolveWorkDir(
  city: Pick<City, 'rigs' | 'root' | 'workspace'>,
  agent: Agent,
  instance: Instance,
  realPath: RealPath,
): string {
  if (agent.workDir === '') {
    const rig = rigOf(city, agent, realPath);
    if (agent.worktree && rig) return worktreePath(city, rig, instance);
    return rig?.path ?? join(city.root, agent.dir);
  }
  const place = `work_dir of agent "${agent.qualifiedName}"`;
  return resolve(
    city.root,
    renderTemplate(agent.workDir, workDirFields(city, agent, instance, realPath), place),
  );
}

/** Where the worktree of a session is that has no `work_dir`. */
function worktreePath(city: Pick<City, 'root'>, rig: Rig, { qualifiedName }: Instance): string {
  return join(city.root, '.gc', 'worktrees', rig.name, baseName(qualifiedName));
}

/** What start_command, pre_start, session_setup and session_live may use. */
export function commandFields(
  city: Pick<City, 'rigs' | 'root' | 'workspace'>,
  agent: Agent,
  instance: Instance,
  session: { readonly name: string; readonly workDir: string },
  realPath: RealPath,
): CommandFields {
  return {
    ...workDirFields(city, agent, instance, realPath),
    Session: session.name,
    WorkDir: session.workDir,
    ConfigDir: agent.sourceDir,
  };
}

/** What prompts may use. `branch` is empty at a start. */
export function promptFields(
  city: Pick<City, 'rigs' | 'root' | 'workspace'>,
  agent: Agent,
  instance: Instance,
  session: { readonly workDir: string; readonly branch: string; readonly defaultBranch: string },
  realPath: RealPath,
): PromptFields {
  const rig = rigOf(city, agent, realPath);
  return {
    CityRoot: city.root,
    AgentName: instance.qualifiedName,
    TemplateName: agent.name,
    RigName: rig?.name ?? '',
    RigRoot: rig?.path ?? '',
    WorkDir: session.workDir,
    IssuePrefix: rig?.prefix ?? city.workspace.prefix,
    Branch: session.branch,
    DefaultBranch: session.defaultBranch,
    WorkQuery: workQueryOf(agent),
    SlingQuery: slingQueryOf(agent),
  };
}
