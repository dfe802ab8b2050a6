import type { SessionFilter, SessionView } from './city-api.ts';

/** Source: the `--state` filter of Gas City's session list: states, `open`, `closed`, `all`, in a comma list. */
export function matchesFilter(view: SessionView, filter: SessionFilter): boolean {
  if (filter.template && view.template !== filter.template) return false;
  const closed = view.condition === 'closed';
  const words = (filter.state ?? '')
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  if (words.length === 0) return !closed;
  return words.some((word) => matchesWord(view, word, closed));
}

function matchesWord(view: SessionView, word: string, closed: boolean): boolean {
  switch (word) {
    case 'all':
      return true;
    case 'closed':
      return closed;
    case 'open':
      return !closed;
    default:
      return !closed && (view.state === word || view.condition === word);
  }
}
