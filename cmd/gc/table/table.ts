import type { CommandSpec, GroupSpec } from '../cli/spec.ts';
import { agentSideGroup, internalGroup, runtimeGroup, skillGroup } from './agent-side.ts';
import { cityGroup } from './city.ts';
import { beadsGroup, convergeGroup, eventGroup, serviceGroup } from './city-parts.ts';
import { conformanceGroup } from './conformance.ts';
import { convoyGroup } from './convoy.ts';
import { formulaGroup, orderGroup } from './formula.ts';
import { logGroup } from './log.ts';
import { machineGroup } from './machine.ts';
import { mailGroup } from './mail.ts';
import { agentGroup, configGroup, supervisorGroup } from './manage.ts';
import { importGroup, packGroup } from './packs.ts';
import { rigGroup } from './rig.ts';
import { ruleGroup } from './rule.ts';
import { serveGroup } from './serve.ts';
import { sessionGroup } from './session.ts';
import { sessionsGroup } from './sessions.ts';
import { talkGroup } from './talk.ts';
import { traceGroup } from './trace.ts';
import { waitGroup } from './wait.ts';
import { workGroup } from './work.ts';
import { worktreeGroup } from './worktree.ts';

/** Every command of the program, in the order of the help. */
export const groups: readonly GroupSpec[] = [
  cityGroup,
  talkGroup,
  ruleGroup,
  traceGroup,
  eventGroup,
  waitGroup,
  agentSideGroup,
  runtimeGroup,
  workGroup,
  convoyGroup,
  beadsGroup,
  mailGroup,
  formulaGroup,
  orderGroup,
  convergeGroup,
  sessionGroup,
  logGroup,
  sessionsGroup,
  agentGroup,
  rigGroup,
  worktreeGroup,
  skillGroup,
  configGroup,
  importGroup,
  packGroup,
  serviceGroup,
  supervisorGroup,
  serveGroup,
  conformanceGroup,
  machineGroup,
  internalGroup,
];

export const allCommands: readonly CommandSpec[] = groups.flatMap((group) => group.commands);
