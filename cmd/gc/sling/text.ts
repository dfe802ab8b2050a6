import type { Bead } from '../../../internal/beads/store.ts';
import { onePlainLine } from '../output/plain.ts';
import type { SlingTarget } from './target.ts';

const LABEL_COLUMNS = 9;

/** Source of the last line and of `Target:`: Gas City `gc sling --dry-run`. */
export function dryRunText(
  bead: Pick<Bead, 'id' | 'title' | 'assignee'>,
  target: SlingTarget,
  { query, already }: { readonly query: string; readonly already: boolean },
): string {
  const { label, assignee, agent } = target;
  const line = (name: string, text: string) => `${`${name}:`.padEnd(LABEL_COLUMNS)}${text}`;
  const whose = assignee === '' ? 'whoever of its sessions is free' : `the session ${assignee}`;
  return `${[
    line('Target', label === agent.qualifiedName ? label : `${label} (agent ${agent.qualifiedName})`),
    line('Bead', `${bead.id || '(new)'} ${onePlainLine(bead.title)}`),
    ...(bead.assignee === '' ? [] : [line('Now', `in the hands of ${bead.assignee}`)]),
    line('For', whose),
    line('Query', onePlainLine(query)),
    ...(already ? ["It is that target's already: nothing would change."] : []),
    'No side effects executed (--dry-run).',
  ].join('\n')}\n`;
}
