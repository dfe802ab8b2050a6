import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promptFileOf, renderAgentPrompt } from '../../../internal/agent/agent-prompt.ts';
import { defaultBranchOf } from '../../../internal/agent/default-branch.ts';
import { type FoundAgent, findAgent } from '../../../internal/agent/find-agent.ts';
import { type HookInput, parseHookInput } from '../../../internal/agent/hooks/work-answer.ts';
import {
  readSkills,
  skillRoots,
  skillsAppendix,
  withAppendix,
} from '../../../internal/agent/skills/catalog.ts';
import { skillDelivery } from '../../../internal/agent/skills/delivery.ts';
import type { Agent, City } from '../../../internal/config/city.ts';
import { TemplateError } from '../../../internal/config/template/template-error.ts';
import { resolveWorkDir, rigOf } from '../../../internal/config/work-dir.ts';
import { presetKindOf } from '../../../internal/controller/agent-files.ts';
import { isSuspended } from '../../../internal/controller/desired-state.ts';
import { messageOf } from '../../../internal/platform/errors.ts';
import { beaconPrompt, formatBeacon } from '../../../internal/runtime/beacon.ts';
import { agentInEnvironment, quickStdin } from '../city/agent-words.ts';
import { cityInForce } from '../city/city-in-force.ts';
import { agentProgram } from '../city/own-programs.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';

/** Never fails: an agent that cannot be told its role is told how to find work. */
export const runPrime: CommandRun = async (context, input) => {
  const named = input.optionalArg('agent');
  const isHook = input.flag('hook');
  const hook = isHook || isPrimedByHook(context) ? parseHookInput(await quickStdin(context)) : undefined;
  if (named === undefined && isSilent(context, isHook, hook)) return 0;
  if (isHook) await noteSession(context, hook).catch((error: unknown) => complain(context, error));
  try {
    context.out.write(ended(await primeText(context, named ?? agentInEnvironment(context), isHook)));
  } catch (error) {
    complain(context, error);
    context.out.write(DEFAULT_PROMPT);
  }
  return 0;
};

function complain(context: Context, error: unknown): void {
  context.err.write(`gc prime: ${messageOf(error)}\n`);
}

const isPrimedByHook = ({ env }: Context): boolean =>
  env['GC_PROMPT_BY'] === 'hook' && Boolean(env['GC_SESSION_NAME']);

/**
 * The prompt is said once. A hook says nothing in a conversation of a person's own, nor where the start itself told the
 * agent; of two hooks on one event only the one that was installed for it speaks.
 */
function isSilent(context: Context, isHook: boolean, hook: HookInput | undefined): boolean {
  if (!isHook) return isPrimedByHook(context) && hook?.event === 'SessionStart';
  if (agentInEnvironment(context) === undefined) return true;
  const toldAtStart = context.env['GC_PROMPT_BY'] === 'start';
  return toldAtStart && ['', 'startup', 'resume'].includes(hook?.source ?? '');
}

async function noteSession(context: Context, hook: HookInput | undefined): Promise<void> {
  const id = context.env['GC_SESSION_ID'] || context.env['CLAUDE_SESSION_ID'] || hook?.sessionId;
  if (!id) return;
  const dir = join(context.cwd, '.runtime');
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, 'session_id'), `${id}\n`);
}

async function primeText(context: Context, word: string | undefined, isHook: boolean): Promise<string> {
  const city = await cityInForce(context);
  if (!city) return DEFAULT_PROMPT;
  if (city.workspace.suspended) return '';
  const found = word === undefined ? undefined : findAgent(city, word, context.env['GC_RIG'] ?? '');
  if (!found) return DEFAULT_PROMPT;
  const { agent } = found;
  if (isSuspended(city, agent)) return '';
  const identity = identityOf(context, found);
  const prompt = await promptOf(context, city, agent, identity);
  if (!isHook) return prompt;
  return beaconPrompt(formatBeacon(city.workspace.name, identity, context.clock.now()), prompt);
}

/** Inside the agent's own session its alias says which of its sessions it is. */
function identityOf({ env }: Context, { agent, identity }: FoundAgent): string {
  const isOwn = env['GC_SESSION_NAME'] && env['GC_TEMPLATE'] === agent.qualifiedName;
  return isOwn && identity === agent.qualifiedName ? env['GC_ALIAS'] || identity : identity;
}

async function promptOf(context: Context, city: City, agent: Agent, identity: string): Promise<string> {
  const { env } = context;
  const isWorker = !['named', 'manual'].includes(env['GC_SESSION_ORIGIN'] ?? '');
  const promptTemplate = await promptFileOf(city, agent, isWorker);
  const skills = await appendixOf(city, agent);
  if (promptTemplate === '') return withAppendix(DEFAULT_PROMPT, skills);
  const instance = { qualifiedName: env['GC_SESSION_ORIGIN'] === 'manual' ? agent.qualifiedName : identity };
  const session = {
    instance,
    workDir: env['GC_DIR'] || resolveWorkDir(city, agent, instance, samePath),
    branch: env['GC_BRANCH'] ?? '',
    defaultBranch: await defaultBranchOf(rigOf(city, agent, samePath)?.path ?? city.root),
    program: agentProgram(context.self),
  };
  try {
    return withAppendix(
      await renderAgentPrompt(city, { ...agent, promptTemplate }, session, samePath),
      skills,
    );
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    complain(context, error);
    return readFile(promptTemplate, 'utf8');
  }
}

/** What the start of a session adds to the prompt too. */
async function appendixOf(city: City, agent: Agent): Promise<string> {
  if (!agent.injectAssignedSkills) return '';
  const delivery = skillDelivery(city, agent, presetKindOf(city, agent), '', samePath);
  return delivery ? skillsAppendix(await readSkills(skillRoots(city, agent))) : '';
}

const samePath = (path: string): string => path;
const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

/** For an agent that nobody wrote a prompt for. */
const DEFAULT_PROMPT = `# Gas City Agent

You are an agent of a city of agents. Work is kept as beads, and the \`bd\` command shows and changes them.

- \`bd ready\` lists work that can begin now
- \`bd show <id>\` says what is to be done
- \`bd close <id>\` marks it as done

Look for ready work, do it, close it, and look again. When there is none, wait to be told.
`;
