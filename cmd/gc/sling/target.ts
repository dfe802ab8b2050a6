import { agentsMeant, type FoundAgent } from '../../../internal/agent/find-agent.ts';
import { sessionNameIn } from '../../../internal/agent/session-name.ts';
import { allowsGeneric } from '../../../internal/config/capacity.ts';
import type { Agent, City, Rig } from '../../../internal/config/city.ts';
import { slingQueryOf } from '../../../internal/config/default-commands.ts';
import { didYouMean } from '../../../internal/config/document/nearest.ts';
import { isSuspended } from '../../../internal/controller/desired-state.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import type { SessionRecord } from '../../../internal/session/record.ts';

/** Whose work something is: one rig's, else the city's. */
export interface Owner {
  readonly rig: Rig | undefined;
  /** What its beads begin with. */
  readonly prefix: string;
}

/** Who gets the work. */
export interface SlingTarget {
  readonly agent: Agent;
  /** What it is called: the agent, or one of its sessions. */
  readonly label: string;
  /** The session that it becomes the work of; `''`: whoever of the agent's sessions is free. */
  readonly assignee: string;
  /** The session name of `assignee`. */
  readonly sessionName: string;
  readonly owner: Owner;
  /** The shell command that gives a bead (`{}`) to it. */
  readonly query: string;
  /** The query is the config's own, so that only it knows what to write. */
  readonly isCustom: boolean;
}

/** The owner of a bead, by the whole prefix of its id. */
export function ownerOf(city: Pick<City, 'rigs' | 'workspace'>, id: string): Owner {
  const prefix = id.slice(0, Math.max(0, id.lastIndexOf('-'))).toLowerCase();
  const rig = city.rigs.find((each) => each.prefix.toLowerCase() === prefix);
  return { rig, prefix: rig?.prefix ?? city.workspace.prefix };
}

/**
 * The agent that a word means: as everywhere, and where it is too short the one of the bead's rig.
 * @throws GcError `unknown-agent`, `ambiguous-agent`, `session-not-active`
 */
export function slingTarget(
  city: City,
  typed: string,
  from: { readonly rig: string; readonly bead: Owner | undefined; readonly open: readonly SessionRecord[] },
): SlingTarget {
  const word = typed.trim().replace(/\/$/, '');
  const found = onlyAgent(city, word, agentsMeant(city, word, from.rig), from.bead?.rig?.name ?? '');
  const { agent } = found;
  const assignee = assigneeOf(city, found, from.open);
  const rig = city.rigs.find(({ name }) => name === agent.dir);
  return {
    agent,
    label: found.identity,
    assignee,
    sessionName: assignee === '' ? '' : sessionNameIn(city, assignee),
    owner: { rig, prefix: rig?.prefix ?? city.workspace.prefix },
    query: slingQueryOf(agent),
    isCustom: agent.slingQuery !== '',
  };
}

/** What could keep the work from being taken. */
export function targetWarnings(city: City, { agent, label, assignee }: SlingTarget): readonly string[] {
  if (isSuspended(city, agent)) return [`${label} is suspended: nobody takes the work until it is resumed`];
  if (assignee === '' && !allowsGeneric(agent)) {
    return [`${label} has max_active_sessions = 0: no session is started for the work`];
  }
  return [];
}

function onlyAgent(city: City, word: string, meant: readonly FoundAgent[], rig: string): FoundAgent {
  const [only, other] = meant;
  if (!only) {
    const names = city.agents.flatMap(({ qualifiedName, name }) => [qualifiedName, name]);
    throw new GcError('unknown-agent', `agent "${word}" not found in config${didYouMean(word, names)}`, {
      next: 'gc config show',
    });
  }
  if (!other) return only;
  const [near, nearToo] = meant.filter(({ agent }) => agent.dir === rig);
  if (near && !nearToo) return near;
  const names = meant.map(({ identity }) => identity).join(', ');
  throw new GcError('ambiguous-agent', `agent "${word}" is ambiguous: ${names}`, { next: 'use a full name' });
}

/**
 * A named session takes no work that is only routed to its agent, so it gets the work as its own. So does one session of
 * a pool, while it is there.
 */
function assigneeOf(city: City, { agent, identity }: FoundAgent, open: readonly SessionRecord[]): string {
  if (city.namedSessions.some((named) => named.identity === identity)) return identity;
  if (identity === agent.qualifiedName) return '';
  if (open.some(({ alias, agentName }) => alias === identity || agentName === identity)) return identity;
  throw new GcError('session-not-active', `there is no session "${identity}" now`, {
    next: `gc sling ${agent.qualifiedName} ... gives it to whoever is free`,
  });
}
