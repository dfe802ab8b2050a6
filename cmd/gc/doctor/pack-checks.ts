import type { City, PackDoctor } from '../../../internal/config/city.ts';
import { isExecutable } from '../../../internal/platform/executable.ts';
import { type ProgramResult, runProgram } from '../../../internal/platform/run-program.ts';
import { packEnvironment } from '../city/pack-environment.ts';
import { shellWord } from '../output/words.ts';
import { type Check, type CheckResult, type CheckSubject, fail, ok, warn } from './check.ts';

const TIMEOUT_MS = 30_000;
const MAX_OUTPUT_BYTES = 256 * 1024;
const EXIT_WARNING = 1;
/** Packs that every city is given without asking. */
const GIVEN: ReadonlySet<string> = new Set(['core', 'maintenance']);

/**
 * The checks that the packs of a city and its rigs bring, `<binding or pack>:<name>`, of a rig's packs with
 * `:rig:<rig>` behind it. Source: Gas City pack doctors. `program`: what they can call as `gc`.
 */
export function packChecks(city: City, program: string): readonly Check[] {
  return city.doctors.map((doctor) => ({
    name: checkName(doctor),
    run: (subject) => runScript(city, doctor, program, subject),
  }));
}

function checkName({ binding, packName, name, rig }: PackDoctor): string {
  return `${binding || packName}:${name}${rig === '' ? '' : `:rig:${rig}`}`;
}

async function runScript(
  city: City,
  doctor: PackDoctor,
  program: string,
  { env, signal }: CheckSubject,
): Promise<CheckResult> {
  const { run, packDir, rig: rigName } = doctor;
  if (!isExecutable(run))
    return fail(`script error: ${run} is not an executable file`, `chmod +x ${shellWord(run)}`);
  const rig = city.rigs.find(({ name }) => name === rigName);
  const result = await runProgram(run, [], {
    cwd: packDir,
    env: {
      ...packEnvironment(city, doctor, env, program),
      ...(rig ? { GC_RIG: rig.name, GC_RIG_ROOT: rig.path } : {}),
    },
    signal,
    timeoutMs: TIMEOUT_MS,
    maxOutput: MAX_OUTPUT_BYTES,
  });
  const found = verdict(result, doctor);
  // A city works without what only a pack needs that nobody asked for.
  return found.level === 'fail' && isGiven(city, doctor) ? { ...found, level: 'warn' } : found;
}

function isGiven({ packs }: City, { packName, packDir }: PackDoctor): boolean {
  const uses = packs.filter(({ dir }) => dir === packDir);
  return GIVEN.has(packName) && uses.length > 0 && uses.every(({ via }) => via === 'system');
}

/** Exit code 0, 1 or more: well, a warning, an error. The first line is the message, the others are details. */
function verdict(result: ProgramResult, { run, helpFile }: PackDoctor): CheckResult {
  const hint = helpFile === '' ? `run it by hand: ${shellWord(run)}` : `read ${helpFile}`;
  switch (result.kind) {
    case 'ok': {
      const [message, details] = said(result);
      return ok(message, details);
    }
    case 'failed': {
      const [message, details] = said(result);
      if (result.code === undefined) return fail(`script error: ended by ${result.signal}`, hint, details);
      return (result.code === EXIT_WARNING ? warn : fail)(message, hint, details);
    }
    case 'timed-out':
      return fail(`script error: no end within ${result.timeoutMs / 1_000} s, killed`, hint);
    case 'too-much-output':
      return fail(`script error: it prints more than ${result.maxOutput} bytes, killed`, hint);
    case 'not-started':
      return fail(
        `script error: ${result.reason}`,
        `its first line must name a program that is there, such as #!/bin/sh: ${run}`,
      );
  }
}

function said({
  stdout,
  stderr,
}: {
  readonly stdout: string;
  readonly stderr: string;
}): readonly [string, readonly string[]] {
  const lines = `${stdout.trimEnd()}\n${stderr}`.split('\n').filter((line) => line.trim() !== '');
  const [first = 'check completed', ...rest] = lines;
  return [first, rest];
}
