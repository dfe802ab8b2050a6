import { quoteWord } from '../config/preset/shell-words.ts';
import type { Ids } from '../platform/ids.ts';

/** How an agent program can be told which conversation it has. All `''` where it cannot. */
export interface ResumeAbility {
  /** Starts a new conversation under a key that we choose. */
  readonly sessionIdFlag: string;
  readonly resumeFlag: string;
  readonly resumeStyle: '' | 'flag' | 'subcommand';
  /** A whole command with `{{.SessionKey}}` where the key goes. */
  readonly resumeCommand: string;
}

export interface CommandRequest {
  readonly command: string;
  /** The conversation's key; `''` when there is none. */
  readonly key: string;
  /** No life of this session has run yet, or a new conversation is wanted. */
  readonly firstStart: boolean;
  readonly wakeMode: string;
}

export interface ResolvedCommand {
  readonly command: string;
  readonly conversation: 'new' | 'resumed';
}

const KEY_PLACEHOLDER = /\{\{\s*\.SessionKey\s*\}\}/g;

/**
 * The command of one start. A conversation is resumed only with a key that the program was given, or gave us; a
 * program that takes no key is started plainly. Source: Gas City's session command rules.
 */
export function resolveSessionCommand(request: CommandRequest, resume: ResumeAbility): ResolvedCommand {
  const { command, key } = request;
  if (request.firstStart || request.wakeMode === 'fresh') {
    const keyed = resume.sessionIdFlag !== '' && key !== '';
    return {
      command: keyed ? `${command} ${resume.sessionIdFlag} ${shellWord(key)}` : command,
      conversation: 'new',
    };
  }
  const resumed = resumeCommandOf(command, key, resume);
  return resumed === undefined
    ? { command, conversation: 'new' }
    : { command: resumed, conversation: 'resumed' };
}

function resumeCommandOf(command: string, key: string, resume: ResumeAbility): string | undefined {
  if (resume.resumeCommand !== '') {
    const needsKey = resume.resumeCommand.search(KEY_PLACEHOLDER) !== -1;
    if (needsKey && key === '') return undefined;
    return resume.resumeCommand.replace(KEY_PLACEHOLDER, () => shellWord(key));
  }
  if (resume.resumeFlag === '' || key === '') return undefined;
  if (resume.resumeStyle !== 'subcommand') return `${command} ${resume.resumeFlag} ${shellWord(key)}`;
  const end = endOfProgram(command);
  return `${command.slice(0, end)} ${resume.resumeFlag} ${shellWord(key)}${command.slice(end)}`;
}

/** The command that continues a session's conversation, from what its record keeps. `''` when it keeps nothing to run. */
export function buildResumeCommand(
  metadata: Readonly<Record<string, string>>,
  fallbackCommand: string,
): string {
  const text = (key: string): string => metadata[key] ?? '';
  const style = text('resume_style');
  return resolveSessionCommand(
    {
      command: text('command') || fallbackCommand,
      key: text('session_key'),
      firstStart: false,
      wakeMode: '',
    },
    {
      sessionIdFlag: '',
      resumeFlag: text('resume_flag'),
      resumeStyle: style === 'subcommand' || style === 'flag' ? style : '',
      resumeCommand: text('resume_command'),
    },
  ).command;
}

/** A key for a new conversation, `''` for a program that cannot be given one: a made-up key resumes nothing. */
export function newSessionKey(resume: Pick<ResumeAbility, 'sessionIdFlag'>, ids: Ids): string {
  return resume.sessionIdFlag === '' ? '' : ids.uuid();
}

/** The program was told to resume and did not know the key: the same command without it, `undefined` when that is not in it. */
export function withoutResume(
  command: string,
  key: string,
  resume: Pick<ResumeAbility, 'resumeFlag'>,
): string | undefined {
  if (resume.resumeFlag === '' || key === '') return undefined;
  const part = ` ${resume.resumeFlag} ${shellWord(key)}`;
  const at = command.indexOf(part);
  if (at === -1) return undefined;
  const after = command.slice(at + part.length);
  return after === '' || after.startsWith(' ') ? command.slice(0, at) + after : undefined;
}

/** Where the program's name ends: after leading `NAME=value` words, quotes and escapes heeded. */
function endOfProgram(command: string): number {
  let position = 0;
  for (;;) {
    while (command[position] === ' ') position += 1;
    const end = endOfWord(command, position);
    if (!/^[A-Za-z_][A-Za-z0-9_]*=/.test(command.slice(position, end)) || end >= command.length) return end;
    position = end;
  }
}

function endOfWord(command: string, start: number): number {
  let quote = '';
  let position = start;
  for (; position < command.length; position += 1) {
    const char = command[position] ?? '';
    if (char === '\\' && quote !== "'") position += 1;
    else if (quote !== '') quote = char === quote ? '' : quote;
    else if (char === '"' || char === "'") quote = char;
    else if (char === ' ') return position;
  }
  return command.length;
}

/** A key comes from records and agent programs: it is one word to the shell, whatever is in it. */
function shellWord(text: string): string {
  return /^[A-Za-z0-9][A-Za-z0-9._:@+-]*$/.test(text) ? text : quoteWord(text);
}
