import { access, constants } from 'node:fs/promises';
import { describeShellFailure, type RunShell, type ShellResult } from '../run-shell.ts';
import type { RuntimeConfig } from '../runtime-config.ts';
import { quoteShell } from './launch.ts';

/** Runs the commands that a config names for around a session, on this machine. */
export interface SetupRunner {
  readonly runShell: RunShell;
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  /** What the back end adds: how scripts reach its server. */
  readonly backendEnv: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Runs `commands` in order; the first that fails ends it. Answers which and why, or `undefined`. */
export async function runUntilFailure(
  runner: SetupRunner,
  name: string,
  config: RuntimeConfig,
  label: string,
  commands: readonly string[],
): Promise<string | undefined> {
  for (const [index, command] of commands.entries()) {
    const failure = await runOne(runner, name, config, command);
    if (failure !== undefined) return `${label}[${index}]: ${failure}`;
  }
  return undefined;
}

/** Runs `commands` in order, all of them; answers one warning per failure. */
export async function runAll(
  runner: SetupRunner,
  name: string,
  config: RuntimeConfig,
  label: string,
  commands: readonly string[],
): Promise<readonly string[]> {
  const warnings: string[] = [];
  for (const [index, command] of commands.entries()) {
    const failure = await runOne(runner, name, config, command);
    if (failure !== undefined) warnings.push(`${label}[${index}] warning: ${failure}`);
  }
  return warnings;
}

/** Runs the script of `session_setup_script`: by itself when it is executable, else with `sh`. */
export async function runScript(
  runner: SetupRunner,
  name: string,
  config: RuntimeConfig,
): Promise<readonly string[]> {
  const path = config.sessionSetupScript;
  if (path === '') return [];
  const executable = await access(path, constants.X_OK).then(
    () => true,
    () => false, // `sh` names what is wrong with it
  );
  const line = `${executable ? '' : 'sh '}${quoteShell(path)}`;
  const failure = await runOne(runner, name, config, line, path);
  return failure === undefined ? [] : [`session_setup_script warning: ${failure}`];
}

async function runOne(
  runner: SetupRunner,
  name: string,
  config: RuntimeConfig,
  command: string,
  script?: string,
): Promise<string | undefined> {
  runner.signal.throwIfAborted();
  const result: ShellResult = await runner.runShell({
    command,
    ...(script === undefined ? {} : { script }),
    cwd: (config.env['GC_DIR'] ?? '').trim() === '' ? config.workDir : (config.env['GC_DIR'] ?? ''),
    env: setupEnv(runner, name, config),
    timeoutMs: config.setupTimeoutMs,
    signal: runner.signal,
  });
  runner.signal.throwIfAborted();
  return result.kind === 'ok' ? undefined : describeShellFailure(result);
}

/** GC_SESSION names the session here, never the provider that the controller was started with. */
function setupEnv(runner: SetupRunner, name: string, config: RuntimeConfig): Record<string, string> {
  const host = Object.entries(runner.hostEnv).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, value]],
  );
  return { ...Object.fromEntries(host), ...config.env, ...runner.backendEnv, GC_SESSION: name };
}
