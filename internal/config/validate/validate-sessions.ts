import type { Agent, City, NamedSession, Rig } from '../city.ts';
import { didYouMean } from '../document/nearest.ts';
import type { ProblemList } from '../document/problems.ts';
import { shownPosition } from '../document/source-document.ts';
import { nameSession, SESSION_NAME_PATTERN } from '../session-naming.ts';
import { TemplateError } from '../template/template-error.ts';
import { RESERVED_NAMES } from './validate-agents.ts';

/** Named sessions against the agents. Source: Gas City named-session validation. */
export function validateNamedSessions(
  sessions: readonly NamedSession[],
  agents: readonly Agent[],
  brokenAgents: ReadonlySet<string>,
  root: string,
  problems: ProblemList,
): void {
  const seen = new Map<string, NamedSession>();
  const always = new Map<string, number>();
  for (const session of sessions) {
    const label = `named_session "${session.identity}"`;
    const { source } = session;
    const other = seen.get(session.identity);
    if (other) {
      problems.error(
        'duplicate-named-session',
        `${label}: duplicate identity (from "${shownPosition(root, other.source)}" and "${shownPosition(root, source)}")`,
        source,
      );
      continue;
    }
    seen.set(session.identity, session);
    const name = session.identity.split('/').at(-1) ?? '';
    if (RESERVED_NAMES.has(name)) {
      problems.error(
        'reserved-name',
        `${label}: "${name}" is a word of the command line, not a name`,
        source,
      );
    }
    const agent = agents.find((candidate) => candidate.qualifiedName === session.templateQualifiedName);
    if (!agent) {
      if (!brokenAgents.has(session.template)) unknownTemplate(session, label, agents, problems);
      continue;
    }
    warnIfTakesOver(session, agents, label, problems);
    if (session.mode !== 'always') continue;
    const count = (always.get(agent.qualifiedName) ?? 0) + 1;
    always.set(agent.qualifiedName, count);
    const max = agent.maxActiveSessions;
    if (max !== undefined && max >= 0 && count > max) {
      problems.error(
        'always-above-max',
        `${label}: mode "always" exceeds max_active_sessions capacity ${max} on template "${agent.qualifiedName}"`,
        source,
        'raise max_active_sessions, or make one of them on_demand',
      );
    }
    if (agent.sleepAfterIdle !== '' && agent.sleepAfterIdle !== 'off') {
      problems.error(
        'always-sleeps',
        `${label}: mode "always" is incompatible with sleep_after_idle="${agent.sleepAfterIdle}" on template "${agent.qualifiedName}"`,
        source,
        'make it on_demand, or remove sleep_after_idle',
      );
    }
  }
}

function unknownTemplate(
  session: NamedSession,
  label: string,
  agents: readonly Agent[],
  problems: ProblemList,
): void {
  const elsewhere = agents.find((agent) => agent.name === session.template);
  const hint = elsewhere
    ? `there is "${elsewhere.qualifiedName}": write ${elsewhere.dir === '' ? 'no dir' : `dir: ${elsewhere.dir}`} here`
    : undefined;
  const names = agents.map((agent) => agent.qualifiedName);
  const suggestion = elsewhere ? '' : didYouMean(session.templateQualifiedName, names);
  problems.error(
    'unknown-template',
    `${label}: referenced template not found: no agent "${session.templateQualifiedName}"${suggestion}`,
    session.source,
    hint,
  );
}

function warnIfTakesOver(
  session: NamedSession,
  agents: readonly Agent[],
  label: string,
  problems: ProblemList,
): void {
  if (session.identity === session.templateQualifiedName) return;
  if (!agents.some((agent) => agent.qualifiedName === session.identity)) return;
  problems.warning(
    'name-of-other-agent',
    `${label} has the name of another agent than the one it runs ("${session.templateQualifiedName}")`,
    session.source,
  );
}

/** Two identities must not meet in one session name, and a name must be usable. Source of the encoding: Gas City. */
export function validateSessionNames(
  city: Pick<City, 'workspace'>,
  sessions: readonly NamedSession[],
  agents: readonly Agent[],
  problems: ProblemList,
): void {
  const identities = new Map<string, NamedSession['source']>();
  for (const agent of agents) identities.set(agent.qualifiedName, agent.source);
  for (const session of sessions) {
    if (!identities.has(session.identity)) identities.set(session.identity, session.source);
  }
  const holders = new Map<string, string>();
  for (const [identity, source] of identities) {
    let name: string;
    try {
      name = nameSession(city.workspace.name, city.workspace.sessionTemplate, identity);
    } catch (error) {
      // The template itself is checked, and reported once, where it is written.
      if (error instanceof TemplateError) return;
      throw error;
    }
    if (!SESSION_NAME_PATTERN.test(name)) {
      problems.error(
        'bad-session-name',
        `"${identity}" gets the session name ${JSON.stringify(name)}, which is not usable`,
        source,
        'letters, digits, "_" and "-"; in workspace.session_template use {{.Agent}}, which is encoded',
      );
      continue;
    }
    const other = holders.get(name);
    if (other === undefined) holders.set(name, identity);
    else {
      problems.error(
        'session-name-collision',
        `"${identity}" and "${other}" both get the session name "${name}"`,
        source,
        'rename one of them ("/" is written "--" and "." is written "__" in session names)',
      );
    }
  }
}

/** Rigs among each other. Source: Gas City rig validation. */
export function validateRigs(
  rigs: readonly Rig[],
  city: Pick<City, 'root' | 'workspace'>,
  problems: ProblemList,
): void {
  const names = new Map<string, Rig>();
  const prefixes = new Map<string, string>([[city.workspace.prefix.toLowerCase(), 'the city itself']]);
  for (const rig of rigs) {
    const label = `rig "${rig.name}"`;
    const other = names.get(rig.name);
    if (other) {
      problems.error(
        'duplicate-rig',
        `${label}: duplicate name (from "${shownPosition(city.root, other.source)}" and "${shownPosition(city.root, rig.source)}")`,
        rig.source,
      );
      continue;
    }
    names.set(rig.name, rig);
    if (rig.prefix.includes('-')) {
      problems.error('bad-prefix', `${label}: the prefix "${rig.prefix}" must not contain "-"`, rig.source);
    }
    const holder = prefixes.get(rig.prefix.toLowerCase());
    if (holder !== undefined) {
      problems.error(
        'prefix-collision',
        `${label}: the bead prefix "${rig.prefix}" is also that of ${holder}`,
        rig.source,
        'set prefix on one of them',
      );
    } else prefixes.set(rig.prefix.toLowerCase(), label);
  }
}
