import { quoteWord } from '../../../internal/config/preset/shell-words.ts';
import type {
  CityStatus,
  ControllerInfo,
  SessionCondition,
  SessionView,
} from '../../../internal/controller/city-api.ts';
import { onePlainLine } from './plain.ts';

/** The condition as people read it. */
export function conditionWord(condition: SessionCondition): string {
  return condition === 'backing-off' ? 'backing off' : condition;
}

/** Conditions in which the agent's process lives, as far as is known. */
export function isUp(condition: SessionCondition): boolean {
  return condition === 'idle' || condition === 'working' || condition === 'running' || condition === 'waits';
}

/** It should be up now; the city says so also of one that rests after crashes. */
export function isWanted(session: SessionView): boolean {
  return session.condition !== 'closed' && session.wanted;
}

/** What hosts the sessions, for a person. */
export function providerText(provider: CityStatus['provider']): string {
  if (provider.name === 'tmux')
    return provider.tmux_socket ? `tmux (socket ${provider.tmux_socket})` : 'tmux';
  if (provider.name === 'subprocess') {
    return provider.chosen_by === 'default' ? 'embedded terminals (no tmux here)' : 'embedded terminals';
  }
  return provider.detail ? `${provider.name} (${onePlainLine(provider.detail)})` : provider.name;
}

/** How to leave an attached session, for the hint under a start; the exact way is printed at attach. */
export function leaveHint(provider: CityStatus['provider']): string {
  if (provider.name === 'tmux') return 'leave with Ctrl-b d';
  return provider.name === 'subprocess' ? 'leave with Ctrl-Q' : 'it says how to leave';
}

/** The controller's role in the words that scripts match. Every output that names the role takes it from here. */
export function controllerLine(controller: ControllerInfo): string {
  if (!controller.running) {
    return controller.mode === 'supervisor' ? 'supervisor-managed (supervisor not running)' : 'stopped';
  }
  const pid = controller.pid === undefined ? 'PID unknown' : `PID ${controller.pid}`;
  const phase = controller.status ? `, ${controller.status}` : '';
  return `${controller.mode ?? 'standalone'} (${pid}${phase})`;
}

/** The same for a person. */
export function controllerRole(controller: ControllerInfo): string {
  if (!controller.running) {
    return controller.mode === 'supervisor' ? 'registered, supervisor not running' : 'no controller';
  }
  const role = controller.mode === 'supervisor' ? 'supervised' : 'standalone';
  const phase = controller.status ? `, ${controller.status}` : '';
  return controller.pid === undefined ? `${role}${phase}` : `${role}, pid ${controller.pid}${phase}`;
}

/** The STATE column of `gc session list`. Source: Gas City's list, which projects some recorded states. */
export function listedState(session: SessionView): string {
  if (session.condition === 'closed' || session.state === 'closed') return 'closed';
  switch (session.state) {
    case 'awake':
    case 'active':
      return isUp(session.condition) || session.condition === 'unknown' || session.condition === 'starting'
        ? 'active'
        : session.condition === 'draining'
          ? 'draining'
          : 'asleep';
    case 'drained':
      return 'asleep';
    default:
      return session.state;
  }
}

/** The name by which every command takes the session. */
export function targetOf(session: SessionView): string {
  return session.alias || session.session_name;
}

/** `text` quoted for a POSIX shell when it has to be. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : quoteWord(text);
}

/** The last line that an agent printed, unadorned. */
export function lastLine(text: string): string {
  const lines = text
    .split('\n')
    .map(onePlainLine)
    .filter((line) => line !== '');
  return lines.at(-1) ?? '';
}
