import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { supportsExpansion } from '../config/capacity.ts';
import type { Agent, City } from '../config/city.ts';
import { appendedFragments, readPrompt, renderPrompt } from '../config/template/prompt.ts';
import { type Instance, promptFields, type RealPath } from '../config/work-dir.ts';
import { sessionNameIn } from './session-name.ts';

/** The session that a prompt is for. */
export interface PromptSession {
  readonly instance: Instance;
  readonly workDir: string;
  /** `''` at a start. */
  readonly branch: string;
  readonly defaultBranch: string;
  /** What `{{cmd}}` stands for. */
  readonly program: string;
}

/** The pack whose worker prompts serve agents that bring none. */
const CORE_PACK = 'core';

/**
 * The prompt file of an agent: its own, else the core pack's for a session that is one worker of many. `''` when it has
 * none.
 */
export async function promptFileOf(
  city: Pick<City, 'packs' | 'daemon'>,
  agent: Agent,
  isWorker: boolean,
): Promise<string> {
  if (agent.promptTemplate !== '') return agent.promptTemplate;
  if (!isWorker || !supportsExpansion(agent)) return '';
  const core = city.packs.find((pack) => pack.name === CORE_PACK)?.dir;
  if (core === undefined) return '';
  const file = join(core, 'assets', 'prompts', city.daemon.formulaV2 ? 'graph-worker.md' : 'pool-worker.md');
  const found = await stat(file).catch(() => undefined); // a core pack of one's own need not have them
  return found?.isFile() ? file : '';
}

/** A prompt as its agent reads it. @throws TemplateError with the place of what is wrong; never half a prompt */
export async function renderAgentPrompt(
  city: City,
  agent: Agent,
  session: PromptSession,
  realPath: RealPath,
): Promise<string> {
  const files = await readPrompt(city, agent);
  const { instance, program } = session;
  const fields = promptFields(city, agent, instance, session, realPath);
  const functions = { cmd: program, session: (identity: string) => sessionNameIn(city, identity) };
  return renderPrompt(files, appendedFragments(city, agent), agent.env, fields, functions);
}
