import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import type { City, PackCommand } from '../../../internal/config/city.ts';
import { renderTemplate } from '../../../internal/config/template/go-template.ts';
import { readRegisteredCities } from '../../../internal/controller/registry.ts';
import { codeOf, GcError, messageOf } from '../../../internal/platform/errors.ts';
import { isExecutable } from '../../../internal/platform/executable.ts';
import { type Environment, gcHome } from '../../../internal/platform/paths.ts';
import { cityInForce } from '../city/city-in-force.ts';
import { type CityPlace, findCity, NoCityError } from '../city/find-city.ts';
import { agentProgram } from '../city/own-programs.ts';
import { packEnvironment } from '../city/pack-environment.ts';
import type { Called } from '../cli/first-word.ts';
import { packHelpText, packListText } from '../cli/pack-help.ts';
import { type PackCall, packCall } from '../cli/pack-words.ts';
import type { Context } from '../context.ts';
import { shellWord } from '../output/words.ts';

const SIGNAL_EXIT_BASE = 128;
const FORWARDED = ['SIGTERM', 'SIGHUP', 'SIGINT'] as const;

/** `unknown`: no pack has it. `why` is said when there could be one. */
export type PackOutcome =
  | { readonly kind: 'ended'; readonly code: number }
  | { readonly kind: 'unknown'; readonly bindings: readonly string[]; readonly why: string | undefined };

/**
 * Runs `gc <binding> <words> ...` when a pack of the city that we are in has such a command. The script gets the words
 * behind it as they are, our three streams and our signals; its exit code is ours (128 + signal after one).
 * @throws GcError `unknown-subcommand`, `pack-command`, `no-city` for a wrong `--city`
 */
export async function runPackCommand(context: Context, called: Called): Promise<PackOutcome> {
  const place = await cityHere(context);
  if (!place) return { kind: 'unknown', bindings: [], why: undefined };
  const city = await cityInForce({ ...context, cityOption: place.root });
  if (!city) return { kind: 'unknown', bindings: [], why: UNREADABLE };
  const call = packCall(city.commands, called.word, called.rest);
  if (call.kind === 'none') {
    return { kind: 'unknown', bindings: city.commands.map(({ binding }) => binding), why: undefined };
  }
  if (place.note) context.err.write(`gc: ${place.note}\n`);
  if (call.kind !== 'run') {
    context.out.write(packCallText(call, called.word));
    return { kind: 'ended', code: 0 };
  }
  return { kind: 'ended', code: await runScript(context, city, call.command, call.args) };
}

const UNREADABLE =
  'gc config show --validate (the city file has errors, so the commands of its packs are not known)';

async function cityHere(context: Context): Promise<CityPlace | undefined> {
  try {
    return await findCity({
      env: context.env,
      cwd: context.cwd,
      home: context.env['HOME'],
      option: context.cityOption,
      registered: async () => readRegisteredCities(gcHome(context.env)),
    });
  } catch (error) {
    if (error instanceof NoCityError && context.cityOption === undefined) return undefined;
    throw error;
  }
}

/** What a call that runs nothing prints. @throws GcError `unknown-subcommand` */
export function packCallText(
  call: Exclude<PackCall<PackCommand>, { kind: 'run' } | { kind: 'none' }>,
  binding: string,
): string {
  switch (call.kind) {
    case 'list':
      return packListText(binding, call.path, call.commands);
    case 'help':
      return packHelpText(call.command, helpOf(call.command));
    case 'unknown': {
      const meant = call.meant === undefined ? '' : `; did you mean "${call.meant}"?`;
      throw new GcError('unknown-subcommand', `unknown subcommand "${call.word}"${meant}`, {
        next: ['gc', binding, ...call.path].join(' '),
      });
    }
  }
}

function helpOf({ helpFile }: PackCommand): string {
  if (helpFile === '') return '';
  try {
    return readFileSync(helpFile, 'utf8');
  } catch (error) {
    return `(its help cannot be read: ${messageOf(error)})`;
  }
}

async function runScript(
  context: Context,
  city: City,
  command: PackCommand,
  args: readonly string[],
): Promise<number> {
  const file = scriptOf(city, command);
  const env = packEnvironment(city, command, context.env, agentProgram(context.self));
  mkdirSync(env['GC_PACK_STATE_DIR'] ?? '', { recursive: true, mode: 0o700 });
  if (context.signal.aborted) return SIGNAL_EXIT_BASE + constants.signals.SIGINT;
  return runHere(context, file, args, env);
}

/** The file that a command runs. @throws GcError `pack-command` when it cannot be run */
function scriptOf(city: City, { run, dir, packDir, packName }: PackCommand): string {
  const fields = { CityRoot: city.root, CityName: city.workspace.name, ConfigDir: packDir };
  const file = resolve(dir, renderTemplate(run, fields, `run of pack ${packName}`));
  if (isExecutable(file)) return file;
  if (!existsSync(file)) {
    throw new GcError('pack-command', `pack "${packName}" names ${file}, which is not there`, {
      next: `make it, or correct the run line of the command in ${dir}`,
    });
  }
  throw new GcError('pack-command', `${file} of pack "${packName}" is not executable`, {
    next: `chmod +x ${shellWord(file)}`,
  });
}

/** Runs a program on our own streams, where we are, and passes on what we are told to end with. */
function runHere(context: Context, file: string, args: readonly string[], env: Environment): Promise<number> {
  return new Promise((settle, reject) => {
    const child = spawn(file, args, { stdio: 'inherit', cwd: context.cwd, env: { ...env } });
    // At a terminal Ctrl-C reaches the script without us.
    const atTerminal = context.stdinIsTTY() || context.out.isTTY || context.err.isTTY;
    const pass = (signal: NodeJS.Signals) => {
      if (signal !== 'SIGINT' || !atTerminal) child.kill(signal);
    };
    for (const signal of FORWARDED) process.on(signal, pass);
    const done = () => {
      for (const signal of FORWARDED) process.off(signal, pass);
    };
    child.once('error', (error) => {
      done();
      reject(notStarted(file, error));
    });
    child.once('exit', (code, signal) => {
      done();
      settle(code ?? SIGNAL_EXIT_BASE + (signal ? (constants.signals[signal] ?? 0) : 0));
    });
  });
}

function notStarted(file: string, error: unknown): GcError {
  const code = codeOf(error);
  const next =
    code === 'ENOEXEC' || code === 'ENOENT'
      ? `its first line must name a program that is there, such as #!/bin/sh: ${file}`
      : `try it by hand: ${shellWord(file)}`;
  return new GcError('pack-command', `cannot run ${file}: ${messageOf(error)}`, { cause: error, next });
}
