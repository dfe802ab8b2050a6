/**
 * How agent programs say that they do not know the conversation they were told to resume; `KEY` is where they name it.
 * Source: Claude Code, opencode, Gemini CLI, pi and Codex as they print it; the last two are those of our ACP client.
 */
const STALE_SENTENCES: readonly string[] = [
  'No conversation found with session ID: KEY',
  'Session not found: KEY',
  'session KEY not found',
  'session KEY was not found',
  'session id KEY not found',
  'Invalid session identifier "KEY"',
  // It has thrown away what never had a turn.
  'Error resuming session: No previous sessions found for this project',
  'No session found matching KEY',
  'No session found with id KEY',
  'No saved session found with id KEY',
  'no rollout found for thread id KEY',
  'the agent does not have the conversation "KEY"',
  'cannot go on with an earlier conversation ("KEY"',
].map(comparable);

/** The program says it last. */
const TAIL_LINES = 15;

/**
 * Only the program's own word about this very conversation counts: an early death alone proves nothing, nor does a
 * sentence about another one, which may be the work of the agent.
 */
export function provesStaleKey(lastLines: string, key: string): boolean {
  if (key === '') return false;
  const tail = comparable(lastLines.trimEnd().split('\n').slice(-TAIL_LINES).join('\n'));
  return STALE_SENTENCES.some((sentence) => tail.includes(sentence.replace('key', () => comparable(key))));
}

/** A terminal breaks lines anywhere, and programs quote as they like. */
function comparable(text: string): string {
  return text.toLowerCase().replace(/[\s"'`]+/g, '');
}
