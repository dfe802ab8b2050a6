import type { CityStatus } from '../../../internal/controller/city-api.ts';
import { detailOf } from './board.ts';
import { onePlainLine } from './plain.ts';
import { padTo } from './width.ts';
import { conditionWord, controllerLine, isUp } from './words.ts';

const NAME_COLUMNS = 24;

/**
 * `gc status` into a pipe: the lines that scripts match. What could not be told is said, never counted as stopped.
 * Source: Gas City `gc status`.
 */
export function renderStatusText(status: CityStatus): string {
  const { summary } = status;
  const lines = [
    `${status.city_name}  ${status.city_path}`,
    `  Controller: ${controllerLine(status.controller)}`,
    `  Suspended:  ${status.suspended ? 'yes' : 'no'}`,
    `  Provider:   ${providerWords(status)}`,
    '',
    'Agents:',
    ...status.agents.map((agent) => `  ${inColumn(agent.qualified_name)}${agentState(status, agent)}`),
    ...sessionLines(status),
    '',
    `${summary.running_agents}/${summary.total_agents} agents running${unknownText(summary.unknown_sessions)}`,
  ];
  if (status.rigs.length > 0) {
    lines.push('Rigs:');
    for (const rig of status.rigs) {
      lines.push(`  ${inColumn(rig.name)}${rig.path}${rig.suspended ? '  (suspended)' : ''}`);
    }
  }
  if (status.sessions.length > 0) {
    lines.push(`Sessions: ${summary.active_sessions} active, ${summary.suspended_sessions} suspended`);
  }
  if (status.config.error !== undefined) {
    lines.push('Config error (the last good config keeps running):');
    lines.push(
      ...status.config.error
        .trimEnd()
        .split('\n')
        .map((line) => `  ${line}`),
    );
  }
  for (const problem of status.problems) lines.push(`Problem: ${onePlainLine(problem)}`);
  return `${lines.join('\n')}\n`;
}

function providerWords(status: CityStatus): string {
  const socket = status.provider.tmux_socket ? ` (socket ${status.provider.tmux_socket})` : '';
  return `${status.provider.name}${socket}`;
}

/** A name that is longer than its column still ends before the next one. */
const inColumn = (name: string): string => padTo(`${name} `, NAME_COLUMNS);
const unknownText = (count: number): string => (count > 0 ? `, ${count} unknown` : '');

function agentState(status: CityStatus, agent: CityStatus['agents'][number]): string {
  const sessions = status.sessions.filter((session) => session.template === agent.qualified_name);
  if (sessions.some((session) => session.condition === 'draining')) return 'running  (draining)';
  if (agent.running) return 'running';
  if (agent.suspended) return 'stopped  (suspended)';
  return sessions.some((session) => session.condition === 'unknown') ? 'unknown' : 'stopped';
}

function sessionLines(status: CityStatus): readonly string[] {
  const open = status.sessions.filter((session) => session.condition !== 'closed');
  if (open.length === 0) return [];
  return [
    'Named sessions:',
    ...open.map((session) => {
      const state = isUp(session.condition) ? session.state : conditionWord(session.condition);
      const detail = isUp(session.condition) ? '' : detailOf(session);
      const mode = session.named_mode ? ` (${session.named_mode})` : '';
      return `  ${inColumn(session.display_name)}${state}${mode}${detail ? `  ${detail}` : ''}`;
    }),
  ];
}
