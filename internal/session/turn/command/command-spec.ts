import { isAbsolute } from 'node:path';
import { splitWords } from '../../../config/preset/shell-words.ts';
import { GcError } from '../../../platform/errors.ts';
import { findOnPath, isExecutable } from '../../../platform/executable.ts';
import type { Environment } from '../../../platform/paths.ts';
import { CommandError } from './errors.ts';

/** How a program is spoken to. `shell`: any program that takes the turn's text on stdin and answers on stdout. */
export type CommandKind = 'claude' | 'codex' | 'shell';

const KINDS: readonly string[] = ['claude', 'codex', 'shell'] satisfies readonly CommandKind[];
/** RFC 1123 label: what a harness may be called. Source: agentsessions.v1 HarnessRegistry. */
const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** A program that runs turns, as it was configured. */
export interface CommandSpec {
  /** What the harness is called. */
  readonly name: string;
  readonly kind: CommandKind;
  /** An absolute path, or a name that is looked up on the PATH of `env`. */
  readonly program: string;
  /** Given before our own arguments, word for word: models, permission modes. Never a secret: everybody can read them. */
  readonly args: readonly string[];
  /** The whole environment of the program; it gets nothing else but who it works for. */
  readonly env: Environment;
  /** A turn that takes longer is ended; 30 minutes unless told. */
  readonly turnTimeoutMs?: number;
  /** A program that says nothing for longer, and has no tool at work, is ended; 10 minutes unless told. */
  readonly idleTimeoutMs?: number;
  /** Of one turn's standard output; 256 MiB unless told, 32 MiB where it is the answer itself. */
  readonly maxOutputBytes?: number;
  /** When the program no longer knows its conversation, begin a new one that carries the old one as text. */
  readonly freshStart?: boolean;
}

/**
 * `NAME=KIND:PROGRAM [ARGS]`, the words quoted as in a shell, without expansion: `coder=claude:/usr/bin/claude --model opus`.
 * @throws GcError `bad-command-spec`
 */
export function parseCommandSpec(text: string, env: Environment): CommandSpec {
  const match = /^([^=]*)=([^:]*):(.*)$/s.exec(text);
  const [, name = '', kind = '', line = ''] = match ?? [];
  const [program = '', ...args] = splitWords(line);
  if (!match || program === '') throw badSpec(text, 'it has no NAME=KIND:PROGRAM');
  if (!NAME.test(name)) {
    throw badSpec(text, `the name ${JSON.stringify(name)} is not of small letters, digits and inner dashes`);
  }
  if (!isKind(kind)) throw badSpec(text, `${JSON.stringify(kind)} is none of ${KINDS.join(', ')}`);
  return { name, kind, program, args, env };
}

function isKind(text: string): text is CommandKind {
  return KINDS.includes(text);
}

function badSpec(text: string, why: string): GcError {
  return new GcError('bad-command-spec', `${JSON.stringify(text)} names no command: ${why}`, {
    next: 'write it like coder=claude:/usr/local/bin/claude --model opus',
  });
}

/** The file that runs. @throws CommandError `command-not-executable` */
export function programFile(spec: CommandSpec): string {
  const isPath = spec.program.includes('/');
  const found = isPath ? spec.program : findOnPath(spec.env['PATH'] ?? '', spec.program);
  // A relative path would mean another file in each session's work directory.
  if (found !== undefined && isAbsolute(found) && isExecutable(found)) return found;
  const where = isPath
    ? 'is not the absolute path of a file that this user may run'
    : 'is not on the PATH given to it';
  throw new CommandError('not-executable', `harness ${spec.name}: ${spec.program} ${where}`, {
    next: 'install the program or correct its path',
  });
}
