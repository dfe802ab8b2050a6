import { existsSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { GcError } from '../../platform/errors.ts';
import { findOnPath, isExecutable } from '../../platform/executable.ts';

/** A script as it is run. */
export interface ScriptCommand {
  /** As it was configured, for people and in `kind`. */
  readonly shown: string;
  /** Absolute. */
  readonly file: string;
}

export interface ScriptQuestion {
  /** What stands behind `exec:`. */
  readonly script: string;
  /** What a relative path starts from: the city's folder. */
  readonly root: string;
  /** `PATH`. */
  readonly path: string;
  /** The folder of the scripts that come with the program; `''`: none. */
  readonly shipped: string;
}

/**
 * Finds a session script: with a slash as a path, a bare name on the PATH, else among the shipped ones.
 * Source: Gas City exec provider; the shipped scripts are ours.
 * @throws GcError `script-missing`, `script-not-executable`, both naming where was looked
 */
export function findScript(question: ScriptQuestion): ScriptCommand {
  const { script, root, path, shipped } = question;
  if (script === '') {
    throw new GcError('script-missing', 'the provider "exec:" names no script', {
      next: 'write exec:./my-script, or exec:gc-session-screen',
    });
  }
  if (script.includes('/')) return { shown: script, file: atPath(script, root) };
  const found = findOnPath(path, script) ?? shippedScript(shipped, script);
  if (found !== undefined) return { shown: script, file: found };
  const near = join(root, script);
  const places = ['on the PATH', ...(shipped === '' ? [] : [`in ${shipped}`])].join(' nor ');
  throw new GcError('script-missing', `session script "${script}" was not found ${places}`, {
    next: existsSync(near)
      ? `write exec:./${script} for the one in ${root}`
      : 'give its path: exec:./my-script',
  });
}

function atPath(script: string, root: string): string {
  const file = isAbsolute(script) ? script : resolve(root, script);
  if (isExecutable(file)) return file;
  if (!existsSync(file)) {
    throw new GcError('script-missing', `session script ${file} does not exist`, {
      next: `correct the path: it starts at ${root}, without a slash at the PATH`,
    });
  }
  throw new GcError('script-not-executable', `session script ${file} is not an executable file`, {
    next: `chmod +x ${file}`,
  });
}

function shippedScript(folder: string, script: string): string | undefined {
  if (folder === '') return undefined;
  const file = join(folder, script);
  return isExecutable(file) ? file : undefined;
}
