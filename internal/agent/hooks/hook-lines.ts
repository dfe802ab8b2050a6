/** The lines of `sh` that agent programs run as hooks. They never fail: a broken hook must not stop an agent. */

/** Absolute inside a session, so that no PATH decides which program an agent talks to. */
const PROGRAM = `"\${GC_BIN:-gc}"`;

/** Once per conversation: tells the agent who it is. */
export const PRIME_LINE: string = `${PROGRAM} prime --hook || true`;

/** Before the conversation is compacted. */
export const HANDOFF_LINE: string = `${PROGRAM} handoff "context cycle" || true`;

/** Looks for the session's flag first: with nothing to say a turn starts no program of ours. */
export function turnLine(words: string): string {
  return `[ -e "\${GC_CITY_RUNTIME_DIR:-}/turns/\${GC_SESSION_NAME:-}" ] && ${PROGRAM} ${words} || true`;
}

/** What the hooks of an agent program call, whoever wrote them down. */
const OWN_WORDS = [
  'prime',
  'prime --hook',
  'handoff "context cycle"',
  'nudge drain --inject',
  'mail check --inject',
  'hook --inject',
] as const;

/**
 * Whether a hook command is one of ours in any spelling: this one, an earlier one, or Gas City's with its PATH export.
 * Two of a kind would say everything twice.
 */
export function isOwnLine(command: string): boolean {
  const bare = command
    .trim()
    .replace(/^export PATH=[^;&]*(?:&&|;)\s*/, '')
    .replace(/^\[ -e [^\]]*\] && /, '')
    .replace(/^(?:"\$\{GC_BIN:-gc\}"|gc)\s+/, 'gc ')
    .replace(/\s*\|\| true$/, '');
  return OWN_WORDS.some((words) => bare === `gc ${words}`);
}
