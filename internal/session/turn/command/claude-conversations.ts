import { realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ensurePrivateDir, writeFileAtomic } from '../../../platform/atomic-file.ts';
import { type Fields, fieldsOf } from '../../../platform/fields.ts';
import { ClaudeTranscriptReader, projectSlugs } from '../../transcript/claude-reader.ts';
import { effectsOfMessage, isSynthetic } from './claude-blocks.ts';
import { entriesOf } from './conversation-entries.ts';
import type { Conversations, Happened, Place, Tail } from './dialect.ts';
import { CommandError } from './errors.ts';
import { listOf, textIn, wellFormed } from './lenient-json.ts';

const SUFFIX = '.jsonl';
const OWNER_ONLY = 0o600;

/** Claude Code's transcripts: `projects/<work dir>/<conversation>.jsonl` under `$CLAUDE_CONFIG_DIR` or `~/.claude`. */
export const claudeConversations: Conversations = {
  choose: (ids) => ids.uuid(),

  async tail(place, conversation, after) {
    const file = await locate(place, conversation);
    if (file === undefined) return undefined;
    const entries: Fields[] = [];
    let found = after === '';
    let last = '';
    for await (const entry of entriesOf(file)) {
      if (!isMessage(entry)) continue;
      last = textIn(entry, 'uuid');
      if (found) entries.push(entry);
      else found = last === after;
    }
    return { ...tailOf(entries), last, found };
  },

  async branch(place, parent, message, ids) {
    const file = await locate(place, parent);
    if (file === undefined) throw lost(parent);
    const conversation = ids.uuid();
    // The program finds only conversations of the folder that it runs in.
    const folders = projectSlugs(await realpath(place.workDir));
    if (folders.includes(basename(dirname(file)))) {
      return { kind: 'branch', conversation, parent, message };
    }
    await copyUpTo(file, message, conversation, join(projectsOf(place), folders.at(-1) ?? ''));
    return { kind: 'resume', conversation };
  },
};

function projectsOf(place: Place): string {
  const config = place.env['CLAUDE_CONFIG_DIR'] || join(place.env['HOME'] ?? '', '.claude');
  return join(config, 'projects');
}

async function locate(place: Place, conversation: string): Promise<string | undefined> {
  const reader = new ClaudeTranscriptReader([projectsOf(place)]);
  const file = await reader.locate({
    workDir: place.workDir,
    keys: [conversation],
    aloneInWorkDir: false,
  });
  // What it keeps as "the last conversation" of a folder may be another one.
  return file !== undefined && basename(file) === conversation + SUFFIX ? file : undefined;
}

/** What was said or done by a person, by the model, or by a tool; not what the program notes for itself. */
function isMessage(entry: Fields): boolean {
  if (textIn(entry, 'uuid') === '' || entry['isSidechain'] === true) return false;
  return entry['type'] === 'user' || entry['type'] === 'assistant';
}

/** What the entries say that came after the beginning of a turn. */
export function tailOf(entries: readonly Fields[]): Pick<Tail, 'happened' | 'complete'> {
  const own = entries.filter((entry) => isMessage(entry) && entry['isMeta'] !== true && !isSynthetic(entry));
  const happened = own.flatMap((entry): readonly Happened[] => {
    const effects = effectsOfMessage(entry);
    const text = promptIn(entry);
    return text === '' ? effects : [{ kind: 'prompt', at: textIn(entry, 'uuid'), text }, ...effects];
  });
  return { happened, complete: endsTurn(own.at(-1)) };
}

function promptIn(entry: Fields): string {
  if (entry['type'] !== 'user') return '';
  const content = fieldsOf(entry['message'])['content'];
  if (typeof content === 'string') return wellFormed(content);
  return wellFormed(
    listOf(content)
      .filter((block) => block['type'] === 'text')
      .map((block) => textIn(block, 'text'))
      .join('\n'),
  );
}

function endsTurn(entry: Fields | undefined): boolean {
  if (entry?.['type'] !== 'assistant') return false;
  const message = fieldsOf(entry['message']);
  const calls = listOf(message['content']).some((block) => block['type'] === 'tool_use');
  const reason = textIn(message, 'stop_reason');
  return !calls && reason !== '' && reason !== 'tool_use' && reason !== 'pause_turn';
}

/** Writes a conversation of its own from the beginning of another one, which is only read. */
async function copyUpTo(file: string, message: string, conversation: string, folder: string): Promise<void> {
  const lines: string[] = [];
  let found = false;
  for await (const entry of entriesOf(file)) {
    lines.push(JSON.stringify({ ...entry, sessionId: conversation }));
    found = textIn(entry, 'uuid') === message;
    if (found) break;
  }
  if (!found) throw lost(basename(file, SUFFIX));
  ensurePrivateDir(folder);
  await writeFileAtomic(join(folder, conversation + SUFFIX), `${lines.join('\n')}\n`, OWNER_ONLY);
}

function lost(conversation: string): CommandError {
  return new CommandError(
    'conversation-lost',
    `Claude Code has no conversation ${conversation} to branch off from at that place`,
    { next: 'fork at an earlier record, or begin a new session' },
  );
}
