import type { CommandSpec, GroupSpec } from '../cli/spec.ts';
import { cityGroup } from './city.ts';
import { conformanceGroup } from './conformance.ts';
import { machineGroup } from './machine.ts';
import { agentGroup, configGroup, supervisorGroup } from './manage.ts';
import { sessionGroup } from './session.ts';
import { talkGroup } from './talk.ts';

/** Every command of the program, in the order of the help. */
export const groups: readonly GroupSpec[] = [
  cityGroup,
  talkGroup,
  sessionGroup,
  agentGroup,
  configGroup,
  supervisorGroup,
  conformanceGroup,
  machineGroup,
];

export const allCommands: readonly CommandSpec[] = groups.flatMap((group) => group.commands);
