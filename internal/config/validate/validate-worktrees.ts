import { type BuiltAgent, type CheckedCity, place } from '../compose/built-agent.ts';
import { originOf } from '../compose/entry.ts';
import type { ProblemList } from '../document/problems.ts';
import { COMMAND_FIELDS, WORK_DIR_FIELDS } from '../template/template-fields.ts';
import { rigOf } from '../work-dir.ts';
import { checkInline } from './validate-templates.ts';

/** Without a template in it, a branch is the same for every session. */
const TEMPLATE = '{{';

/** A worktree needs a rig to be one of; several sessions need a branch each. */
export function validateWorktree(
  built: BuiltAgent,
  label: string,
  city: CheckedCity,
  problems: ProblemList,
): void {
  const { agent, entry } = built;
  const { worktree } = agent;
  if (!worktree) return;
  if (!rigOf(city, agent, (path) => path)) {
    const rigs = city.rigs.map((rig) => `"${rig.name}"`).join(', ');
    problems.error(
      'worktree-without-rig',
      `${label}: worktree needs a rig, and ${agent.dir === '' ? 'the agent has none' : `"${agent.dir}" is none`}`,
      place(built, 'worktree'),
      rigs === ''
        ? 'declare the project under rigs and name it as dir'
        : `set dir to one of the rigs: ${rigs}`,
    );
  }
  warnShared(built, label, problems);
  const check = (keys: readonly (string | number)[], text: string, fields: readonly string[]) =>
    checkInline(text, originOf(entry, ['worktree', ...keys]), fields, problems);
  check(['branch'], worktree.branch, WORK_DIR_FIELDS);
  for (const key of ['setup', 'archive'] as const) {
    worktree[key].forEach((text, index) => {
      check([key, index], text, COMMAND_FIELDS);
    });
  }
}

function warnShared(built: BuiltAgent, label: string, problems: ProblemList): void {
  const { maxActiveSessions, worktree, workDir } = built.agent;
  if (!worktree || maxActiveSessions === 1) return;
  const hint = 'write {{.AgentBase}} into it, or set max_active_sessions to 1';
  if (isFixed(worktree.branch)) {
    const what = 'worktree.branch is the same for all sessions, and only one worktree can have a branch';
    problems.warning('one-branch-for-all', `${label}: ${what}`, place(built, 'worktree', 'branch'), hint);
  }
  if (isFixed(workDir)) {
    const what = 'work_dir is the same for all sessions, so they share one worktree';
    problems.warning('one-worktree-for-all', `${label}: ${what}`, place(built, 'work_dir'), hint);
  }
}

const isFixed = (text: string): boolean => text !== '' && !text.includes(TEMPLATE);
