import type { Agent } from './city.ts';
import { quoteWord } from './preset/shell-words.ts';

type Queried = Pick<Agent, 'workQuery' | 'slingQuery' | 'qualifiedName'>;

/**
 * The shell command that prints the work waiting for an agent, as JSON: the agent's own, else four tiers with the first
 * non-empty answer. Work in progress and ready work of this session come before unassigned work routed to the agent,
 * which only ephemeral sessions (and the controller) take. Source: Gas City default work query.
 */
export function workQueryOf(agent: Queried): string {
  if (agent.workQuery !== '') return agent.workQuery;
  const target = agent.qualifiedName;
  const own = (query: string) =>
    `for id in "$GC_SESSION_ID" "$GC_SESSION_NAME" "$GC_ALIAS"; do [ -n "$id" ] || continue; show "$(${query} 2>/dev/null)"; done`;
  const script = [
    'show() { case "$1" in ""|"[]") ;; *) printf "%s\\n" "$1"; exit 0;; esac; }',
    own('bd list --status in_progress --assignee="$id" --json --limit=1'),
    own('bd ready --assignee="$id" --json --limit=1'),
    'case "$GC_SESSION_ORIGIN" in ephemeral|"") ;; *) exit 0;; esac',
    `show "$(bd ready --metadata-field gc.routed_to=${target} --unassigned --json --limit=1 2>/dev/null)"`,
    `bd list --metadata-field gc.routed_to=${target} --status=open --type=molecule --no-assignee --json --limit=1 2>/dev/null`,
  ].join('; ');
  return `sh -c ${quoteWord(script)}`;
}

/**
 * The shell command that prints how many sessions an agent's work asks for: its own, else the number of pieces of work
 * routed to it that nobody has taken: ready ones, those in progress without an assignee, open molecules. A part that
 * cannot be read counts as none. Each piece has one `"id"` in the JSON, so that counting needs no further program.
 * Source: Gas City default scale check.
 */
export function scaleCheckOf(agent: Pick<Agent, 'scaleCheck' | 'qualifiedName'>): string {
  if (agent.scaleCheck !== '') return agent.scaleCheck;
  const routed = `--metadata-field gc.routed_to=${agent.qualifiedName}`;
  const parts = [
    `bd ready ${routed} --unassigned --json --limit=0`,
    `bd list ${routed} --status=in_progress --no-assignee --json --limit=0`,
    `bd list ${routed} --status=open --type=molecule --no-assignee --json --limit=0`,
  ];
  const script = `{ ${parts.map((part) => `${part} 2>/dev/null`).join('; ')}; } | grep -o '"id" *:' | wc -l`;
  return `sh -c ${quoteWord(script)}`;
}

/** The shell command that gives a bead (`{}`) to an agent. Source: Gas City default sling query. */
export function slingQueryOf(agent: Queried): string {
  return agent.slingQuery || `bd update {} --set-metadata gc.routed_to=${agent.qualifiedName}`;
}
