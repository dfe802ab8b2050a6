import { rmSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ensurePrivateDir, writeFileAtomic } from '../../platform/atomic-file.ts';
import type { Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import type { Ids } from '../../platform/ids.ts';
import { DiedDuringStartupError, SessionExistsError } from '../errors.ts';
import { META_INSTANCE_TOKEN, type StartOptions, type StartResult } from '../provider.ts';
import type { RunShell } from '../run-shell.ts';
import type { RuntimeConfig } from '../runtime-config.ts';
import { tailOf } from '../screen.ts';
import { commandLine, unquoteShell } from '../terminal/launch.ts';
import type { TerminalTimings } from '../terminal/options.ts';
import { runAll } from '../terminal/setup-commands.ts';
import { step } from '../terminal/start-steps.ts';
import { startupMemory, watchUntilReady } from '../terminal/startup-watch.ts';
import { ScriptUnsupportedError } from './errors.ts';
import type { ScriptBackend } from './script-backend.ts';
import { startFailure } from './script-backend.ts';
import type { ScriptCalls } from './script-calls.ts';
import { startJson } from './start-json.ts';

export interface ClassicContext {
  readonly calls: ScriptCalls;
  readonly backend: ScriptBackend;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly timings: TerminalTimings;
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  readonly runShell: RunShell;
}

/** Environment that must be readable as metadata: what identifies the session and what messages to it depend on. */
const KEPT_ENV = [
  'GC_SESSION_ID',
  META_INSTANCE_TOKEN,
  'GC_DIR',
  'GC_PROVIDER',
  'GC_READY_PROMPT_PREFIX',
  'GC_CONTINUATION_EPOCH',
  'GC_RUNTIME_EPOCH',
] as const;
/** Longer commands go through a file in the work dir: terminal programs take commands of 16 KiB at most. */
const INLINE_LIMIT_BYTES = 8_192;
/** The kernel refuses a single argument from 128 KiB on. */
const ARGUMENT_LIMIT_BYTES = 131_000;
/** How long a session whose script said that it is started is watched for known questions. */
const QUESTIONS_MS = 10_000;
const QUESTION_TAIL_LINES = 30;
const PROMPT_SEPARATOR = '\n\n---\n\n';
const LAUNCH_FOLDER = join('.gc', 'tmp');

/**
 * The start of a script of the published protocol: readiness, set-up commands and the nudge are its own work. What we add:
 * the prompt is in the command, known questions are answered, metadata, live commands.
 * Source: Gas City exec protocol, `start`.
 */
export async function startClassic(
  context: ClassicContext,
  name: string,
  config: RuntimeConfig,
  options: StartOptions,
): Promise<StartResult> {
  const { signal } = options;
  const before = await context.backend.inspect(name);
  if (before.kind === 'present') throw new SessionExistsError(name);
  const full = await withPrompt(config, name, context.ids);
  step(options, 'creating');
  const wasAbsent = before.kind === 'absent';
  await create(context, name, full, wasAbsent, signal);
  try {
    await keepEnv(context, name, full);
    return await finishClassic(context, name, full, options);
  } catch (error) {
    if (wasAbsent) await stopQuietly(context, name);
    throw error;
  }
}

/** Everything after creation, also for a start that a person's answer let go on. */
export async function finishClassic(
  context: ClassicContext,
  name: string,
  config: RuntimeConfig,
  options: StartOptions,
): Promise<StartResult> {
  step(options, 'readiness');
  const warnings: string[] = [];
  const watched = await watchQuestions(context, name, config, options, warnings);
  if (watched.question) {
    const { text, screen } = watched.question;
    return { kind: 'waits-for-person', question: text, screen, answered: watched.answered, warnings };
  }
  if (config.sessionLive.length > 0) step(options, 'session_live');
  warnings.push(...(await runLive(context, name, config, options.signal)));
  options.signal.throwIfAborted();
  return { kind: 'ready', answered: watched.answered, warnings };
}

/** `session_live` runs on this machine: the published provider leaves it out, and the protocol has no word for it. */
export async function runLive(
  context: ClassicContext,
  name: string,
  config: RuntimeConfig,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { hostEnv, runShell } = context;
  const runner = { runShell, hostEnv, backendEnv: {}, signal };
  return await runAll(runner, name, config, 'session_live', config.sessionLive);
}

async function create(
  context: ClassicContext,
  name: string,
  config: RuntimeConfig,
  wasAbsent: boolean,
  signal: AbortSignal,
): Promise<void> {
  try {
    await context.calls.need('start', [name], { stdin: startJson(config), signal });
  } catch (error) {
    const failure = startFailure(name, error);
    // Nothing had the name a moment ago, so what has it now comes from this start.
    if (wasAbsent && !(failure instanceof SessionExistsError)) await stopQuietly(context, name);
    throw failure;
  }
}

async function stopQuietly(context: ClassicContext, name: string): Promise<void> {
  try {
    await context.calls.call('stop', [name]);
  } catch {
    // The reason of the failed start matters more; the next look finds what is left.
  }
}

/** A script that answers the start environment as metadata is left alone. */
async function keepEnv(context: ClassicContext, name: string, config: RuntimeConfig): Promise<void> {
  const { backend, calls } = context;
  const token = config.env[META_INSTANCE_TOKEN] ?? '';
  if ((await backend.getMeta(name, META_INSTANCE_TOKEN)) === token) return;
  for (const key of KEPT_ENV) {
    const value = config.env[key] ?? '';
    if (value === '' || calls.lacks('set-meta')) continue;
    await calls.call('set-meta', [name, key], { stdin: value });
  }
}

interface WatchedQuestions {
  readonly answered: readonly string[];
  readonly question: { readonly text: string; readonly screen: string } | undefined;
}

/** A script that shows no screen has no questions to answer; whether its session lives is looked at all the same. */
async function watchQuestions(
  context: ClassicContext,
  name: string,
  config: RuntimeConfig,
  options: StartOptions,
  warnings: string[],
): Promise<WatchedQuestions> {
  const { backend, calls, clock } = context;
  const memory = startupMemory();
  const nothing: WatchedQuestions = { answered: memory.answered, question: undefined };
  const screen = await calls.call('peek', [name, '1']).catch(() => undefined);
  if (screen?.kind === 'unsupported') {
    const inspection = await backend.inspect(name);
    if (inspection.kind === 'absent') throw new DiedDuringStartupError(name, config.command, {}, '');
    return nothing;
  }
  const timings = { ...context.timings, readyTimeoutMs: QUESTIONS_MS };
  try {
    const beganAtMs = clock.monotonic();
    const outcome = await watchUntilReady(
      { backend, clock, timings, name, config, options, beganAtMs, memory },
      'ready',
    );
    return outcome.kind === 'question' ? { answered: memory.answered, question: outcome } : nothing;
  } catch (error) {
    options.signal.throwIfAborted();
    if (error instanceof DiedDuringStartupError) throw error;
    warnings.push(messageOf(error));
    if (!(error instanceof ScriptUnsupportedError)) return nothing;
    const screen = memory.lastLook ? tailOf(memory.lastLook, QUESTION_TAIL_LINES) : '';
    return { answered: memory.answered, question: { text: 'the script cannot press keys', screen } };
  }
}

/**
 * Puts the prompt where a script of the published protocol takes it to the agent: behind the command. A long line goes
 * through a file in the work dir; what no argument can hold is typed by the script before the configured nudge.
 */
export async function withPrompt(config: RuntimeConfig, name: string, ids: Ids): Promise<RuntimeConfig> {
  const { command, promptSuffix, promptFlag } = config;
  const bare = { ...config, promptSuffix: '', promptFlag: '' };
  if (promptSuffix === '' || command.trim() === '') return await shortened(bare, command, name, ids);
  const raw = unquoteShell(promptSuffix);
  if (Buffer.byteLength(raw) > ARGUMENT_LIMIT_BYTES) {
    const nudge = config.nudge === '' ? raw : raw + PROMPT_SEPARATOR + config.nudge;
    return await shortened({ ...bare, nudge }, command, name, ids);
  }
  const words = [command, ...(promptFlag === '' ? [] : [promptFlag]), promptSuffix];
  return await shortened(bare, words.join(' '), name, ids);
}

async function shortened(
  config: RuntimeConfig,
  command: string,
  name: string,
  ids: Ids,
): Promise<RuntimeConfig> {
  if (Buffer.byteLength(command) <= INLINE_LIMIT_BYTES || !(await isFolder(config.workDir))) {
    return { ...config, command };
  }
  const folder = join(config.workDir, LAUNCH_FOLDER);
  ensurePrivateDir(folder);
  await removeOld(folder, `launch-${name}-`);
  // Relative, since the script may know the work dir by another path.
  const file = join(LAUNCH_FOLDER, `launch-${name}-${ids.hex(8)}.sh`);
  const line = commandLine({ command, promptSuffix: '', promptFlag: '' });
  await writeFileAtomic(join(config.workDir, file), `rm -f -- '${file}'\n${line}\n`, 0o600);
  return { ...config, command: `/bin/sh ./${file}` };
}

/** Files of earlier starts that nobody ran. */
async function removeOld(folder: string, prefix: string): Promise<void> {
  for (const entry of await readdir(folder)) {
    if (entry.startsWith(prefix) && entry.length === prefix.length + '0123456789abcdef.sh'.length) {
      rmSync(join(folder, entry), { force: true });
    }
  }
}

async function isFolder(path: string): Promise<boolean> {
  if (path === '') return false;
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}
