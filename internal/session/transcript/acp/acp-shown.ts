import type { AnsweredEntry, PlacedEntry } from '../observed.ts';
import type { TranscriptEntry, TranscriptPart } from '../transcript-reader.ts';

/** An entry as `gc session logs` shows it; none for what only marks the end of something. */
export function shownEntry({ entry, at }: PlacedEntry): readonly TranscriptEntry[] {
  const shown = (type: TranscriptEntry['type'], part: TranscriptPart): readonly TranscriptEntry[] => [
    { id: entry.id, type, at: new Date(at).toISOString(), compactBoundary: false, parts: [part] },
  ];
  const text = (said: string): TranscriptPart => ({ kind: 'text', text: said });
  switch (entry.kind) {
    case 'prompt':
      return shown('user', text(entry.text));
    case 'answer':
      return shown('assistant', text(entry.text));
    case 'tool-call':
      return shown('assistant', {
        kind: 'tool-use',
        id: entry.callId,
        name: entry.title ?? entry.name,
        input: entry.input,
      });
    case 'tool-result':
      return shown('user', { kind: 'tool-result', id: entry.callId, error: entry.error, text: entry.text });
    case 'asked': {
      const options = entry.options.map(({ name }) => name).join(', ');
      return shown('system', text(`asks: ${entry.title} (${options})`));
    }
    case 'answered':
      return shown('system', text(`answered: ${answerWords(entry)}`));
    case 'failure':
      return shown('system', text(`error: ${entry.text}`));
    case 'turn-end':
      return entry.how === 'interrupted' ? shown('system', text('the turn was cancelled')) : [];
    case 'missed':
    case 'usage':
    case 'window':
    case 'model':
    case 'compacted':
      return [];
  }
}

const VOID: Readonly<Record<string, string>> = {
  client: 'somebody took none of the answers',
  cancel: 'its turn was cancelled',
  'turn-ended': 'the agent ended its turn',
  'agent-gone': 'the agent is gone',
  removed: 'the session was removed',
};

/** What an agent was answered, for people. */
export function answerWords({ by, option }: Pick<AnsweredEntry, 'by' | 'option'>): string {
  return option ?? `nothing, ${VOID[by] ?? by}`;
}
