import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { FoundAgent } from '../../../internal/agent/find-agent.ts';
import { parseHookInput, workAnswer, workReminder } from '../../../internal/agent/hooks/work-answer.ts';
import { sessionNameIn } from '../../../internal/agent/session-name.ts';
import type { City } from '../../../internal/config/city.ts';
import { workQueryOf } from '../../../internal/config/default-commands.ts';
import { resolveWorkDir, rigOf } from '../../../internal/config/work-dir.ts';
import { writeAgentTools } from '../../../internal/controller/agent-tools.ts';
import { isSuspended } from '../../../internal/controller/desired-state.ts';
import { runCommand } from '../../../internal/controller/run-command.ts';
import { cityRuntimeDir, clearTurnFlag, noteTold, wasTold } from '../../../internal/controller/turn-flags.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { agentInEnvironment, agentNamed, quickStdin } from '../city/agent-words.ts';
import { cityInForce } from '../city/city-in-force.ts';
import { findProgram } from '../city/find-program.ts';
import { agentProgram } from '../city/own-programs.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';

/** Source: Gas City. */
const WORK_QUERY_TIMEOUT_MS = 30_000;

/** 0 with work, 1 without. With `--inject` always 0, and nothing is printed but work. */
export const runHook: CommandRun = async (context, input) => {
  const word = input.optionalArg('agent') ?? agentInEnvironment(context);
  if (!input.flag('inject')) {
    const { hasWork, text } = await askForWork(context, word);
    context.out.write(text);
    return hasWork ? 0 : 1;
  }
  try {
    const { hasWork, text, city } = await askForWork(context, word);
    await inject(context, city, hasWork ? text : '');
  } catch (error) {
    if (!(error instanceof GcError)) throw error; // what keeps an agent from its work is said by the command without --inject
  }
  return 0;
};

async function askForWork(context: Context, word: string | undefined) {
  if (word === undefined) {
    throw new GcError('no-agent', 'agent not specified (set $GC_AGENT or pass as argument)', {
      next: 'gc hook <agent>',
    });
  }
  const city = await cityInForce(context);
  if (!city)
    throw new GcError('no-city', 'there is no city here with a config to go by', { next: 'gc config show' });
  if (city.workspace.suspended) throw new GcError('suspended', 'city is suspended', { next: 'gc resume' });
  const found = agentNamed(context, city, word);
  if (isSuspended(city, found.agent)) {
    throw new GcError('suspended', `agent "${word}" is suspended`, { next: `gc agent resume ${word}` });
  }
  return { city, ...workAnswer(await query(context, city, found)) };
}

async function query(context: Context, city: City, found: FoundAgent): Promise<string> {
  const { agent } = found;
  const workDir = resolveWorkDir(city, agent, { qualifiedName: found.identity }, samePath);
  const ran = await runCommand({
    command: workQueryOf(agent),
    cwd: existsSync(workDir) ? workDir : city.root,
    env: await withBd(context, city, scopedEnvironment(context, city, found)),
    timeoutMs: WORK_QUERY_TIMEOUT_MS,
    signal: context.signal,
  });
  if (ran.kind === 'ok') return ran.stdout;
  throw new GcError('work-query-failed', `the work query of ${agent.qualifiedName} failed: ${ran.how}`, {
    next: `try it by hand: ${workQueryOf(agent)}`,
  });
}

/** Sessions have a `bd` on their PATH; whoever asks from outside of one may have none. */
async function withBd(
  { self }: Context,
  city: City,
  env: Record<string, string>,
): Promise<Record<string, string>> {
  if (findProgram(env, 'bd') !== undefined) return env;
  const folder = await writeAgentTools({ dir: city.root, program: agentProgram(self), hasRealBd: false });
  return folder === undefined ? env : { ...env, PATH: [env['PATH'] ?? '', folder].join(delimiter) };
}

/** The session's own environment; asked about another agent, that agent's. Its beads are those of its rig. */
function scopedEnvironment(
  { env }: Context,
  city: City,
  { agent, identity }: FoundAgent,
): Record<string, string> {
  const scoped: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) if (value !== undefined) scoped[name] = value;
  const rig = rigOf(city, agent, samePath);
  Object.assign(scoped, {
    GC_CITY: city.root,
    GC_CITY_PATH: city.root,
    GC_RIG: rig?.name ?? '',
    GC_RIG_ROOT: rig?.path ?? '',
    BEADS_DIR: rig ? join(rig.path, '.beads') : '',
  });
  if (env['GC_SESSION_NAME'] && env['GC_TEMPLATE'] === agent.qualifiedName) return scoped;
  return Object.assign(scoped, {
    GC_SESSION_ID: '',
    GC_SESSION_NAME: sessionNameIn(city, identity),
    GC_SESSION_ORIGIN: '',
    GC_TEMPLATE: agent.qualifiedName,
    GC_ALIAS: identity,
    GC_AGENT: identity,
  });
}

/**
 * Tells the agent. At the end of a turn only an answer in JSON reaches it, and keeps it at work; the same work is told
 * once then, so that an agent which cannot do it comes to rest.
 */
async function inject(context: Context, city: City, work: string): Promise<void> {
  const session = context.env['GC_SESSION_NAME'] ?? '';
  const runtimeDir = context.env['GC_CITY_RUNTIME_DIR'] || cityRuntimeDir(city.root);
  if (work === '') {
    if (session !== '') await clearTurnFlag(runtimeDir, session, 'work');
    return;
  }
  const hook = parseHookInput(await quickStdin(context));
  if (hook?.event !== 'Stop') {
    context.out.write(workReminder(work));
    return;
  }
  if (hook.continued || (await wasTold(runtimeDir, session, work))) return;
  await noteTold(runtimeDir, session, work);
  context.out.write(`${JSON.stringify({ decision: 'block', reason: workReminder(work) })}\n`);
}

const samePath = (path: string): string => path;
