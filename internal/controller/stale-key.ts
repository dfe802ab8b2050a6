/** How agent programs say that they do not know the conversation they were told to resume. */
const STALE_SENTENCES: readonly RegExp[] = [
  /no conversation found with session id/i,
  /session (?:id )?\S+ (?:was )?not found/i,
  /no (?:saved )?session (?:found )?(?:with|for) (?:id|the given)/i,
  /the agent does not have the conversation "/i,
  /cannot go on with an earlier conversation \("/i,
];

/** Only the program's own word counts: an early death alone proves nothing about the conversation. */
export function provesStaleKey(lastLines: string, key: string): boolean {
  const tail = lastLines.trimEnd().split('\n').slice(-15).join(' ');
  return (
    STALE_SENTENCES.some((sentence) => sentence.test(tail)) &&
    (tail.includes(key) || !/[0-9a-f]{8}-/.test(tail))
  );
}
