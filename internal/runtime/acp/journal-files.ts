import { conversationFile } from '../host/runtime-files.ts';

/** The lines of a journal that stood before those in it, when it became too large. */
export const rotatedJournal = (journal: string): string => `${journal}.1`;

/** The journal of the conversation before, whole with its own rotated lines. */
export const earlierJournal = (journal: string): string => `${journal}.earlier`;

/** A session's conversation journal, in the runtime folder of its host; `JournalLine` says what is in it. */
export const journalOf = (runtimeDir: string, session: string): string =>
  conversationFile(runtimeDir, session);

/** Every file in which lines of a journal can be, the newest first. Any of them may be missing. */
export function journalFiles(journal: string): readonly string[] {
  const earlier = earlierJournal(journal);
  return [journal, rotatedJournal(journal), earlier, rotatedJournal(earlier)];
}
