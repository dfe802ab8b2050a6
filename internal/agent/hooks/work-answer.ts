/** What a work query printed, and whether it is work. */
export interface WorkAnswer {
  readonly hasWork: boolean;
  /** As it was printed; a single JSON object as a list of one. */
  readonly text: string;
}

const NOTHING_READY = 'No ready work found';

/** Nothing, an empty list, object or null, and the sentence that says so are no work. Source: Gas City's work queries. */
export function workAnswer(printed: string): WorkAnswer {
  const trimmed = printed.trim();
  if (trimmed === '' || trimmed.includes(NOTHING_READY)) return { hasWork: false, text: printed };
  const value = parse(trimmed);
  if (value === undefined) return { hasWork: true, text: printed };
  if (typeof value !== 'object' || value === null) return { hasWork: value !== null, text: printed };
  if (Array.isArray(value)) return { hasWork: value.length > 0, text: printed };
  const isEmpty = Object.keys(value).length === 0;
  return isEmpty ? { hasWork: false, text: printed } : { hasWork: true, text: `[${trimmed}]\n` };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // words for people
  }
}

/** What an agent is told at its turn. */
export function workReminder(work: string): string {
  return [
    '<system-reminder>',
    'Work is waiting for you:',
    '<work-items>',
    work.trim(),
    '</work-items>',
    'Go on with what is in progress, else take the first item. Close it when it is done.',
    '</system-reminder>',
    '',
  ].join('\n');
}

/** The JSON that agent programs give their hooks on stdin. */
export interface HookInput {
  readonly event: string;
  readonly sessionId: string;
  /** What began the conversation: `startup`, `resume`, `clear`, `compact`; `''` when it is not said. */
  readonly source: string;
  /** The turn is one that a hook asked for. */
  readonly continued: boolean;
}

/** The first line that is a JSON object, or all of the text; `undefined`: no hook speaks here. */
export function parseHookInput(text: string): HookInput | undefined {
  for (const candidate of [text, ...text.split('\n')]) {
    const value = parse(candidate.trim());
    if (typeof value !== 'object' || value === null || Array.isArray(value)) continue;
    const fields = value as Readonly<Record<string, unknown>>;
    const word = (key: string) => (typeof fields[key] === 'string' ? fields[key] : '');
    return {
      event: word('hook_event_name'),
      sessionId: word('session_id'),
      source: word('source'),
      continued: fields['stop_hook_active'] === true,
    };
  }
  return undefined;
}
