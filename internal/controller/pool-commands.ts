import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Agent, City, Rig } from '../config/city.ts';
import { sessionEnvironment } from '../config/environment.ts';
import type { Environment } from '../platform/paths.ts';
import type { CommandResult, RunCommand } from './run-command.ts';

/** Who a command of the pool speaks for; `undefined`: the agent as a whole. */
export interface CommandSubject {
  readonly recordId: string;
  readonly sessionName: string;
  readonly identity: string;
}

export interface PoolCommand {
  readonly city: City;
  readonly agent: Agent;
  readonly command: string;
  readonly timeoutMs: number;
  readonly subject?: CommandSubject;
  /** Ends this one; whoever gives it ends it with the city, too. */
  readonly signal?: AbortSignal;
}

/**
 * Runs commands of pools (`scale_check`, `on_boot`, `on_death`) where the agent's rig is, with the environment that its
 * sessions have, but for nobody's identity: a work query then sees what waits for anybody. Source: Gas City.
 */
export class PoolCommands {
  readonly #env: Environment;
  readonly #run: RunCommand;
  readonly #signal: AbortSignal;

  constructor(env: Environment, run: RunCommand, signal: AbortSignal) {
    this.#env = env;
    this.#run = run;
    this.#signal = signal;
  }

  async run(request: PoolCommand): Promise<CommandResult> {
    const { city, agent, command, timeoutMs } = request;
    const cwd = commandDir(city, agent);
    if (!existsSync(cwd)) return { kind: 'failed', how: `there is no folder ${cwd}` };
    const signal = request.signal ?? this.#signal;
    return this.#run({ command, cwd, timeoutMs, env: this.#environment(request), signal });
  }

  #environment({ city, agent, subject }: PoolCommand): Readonly<Record<string, string>> {
    const computed = {
      GC_TEMPLATE: agent.qualifiedName,
      GC_SESSION_ORIGIN: subject ? 'ephemeral' : '',
      GC_SESSION_ID: subject?.recordId ?? '',
      GC_SESSION_NAME: subject?.sessionName ?? '',
      GC_ALIAS: subject?.identity ?? '',
      GC_AGENT: subject?.identity ?? '',
      ...rigEnvironment(rigNamed(city, agent.dir)),
      GT_ROOT: city.root,
      GC_CITY: city.root,
      GC_CITY_PATH: city.root,
      GC_CITY_RUNTIME_DIR: join(city.root, '.gc', 'runtime'),
      GC_BEADS: city.beads.provider,
      BEADS_DOLT_AUTO_START: '0',
    };
    const env = sessionEnvironment({ env: this.#env, provider: {}, agent: agent.env, computed });
    return { ...env, PATH: withAgentTools(env['PATH'] ?? '', city.root) };
  }
}

/** What agents call as `gc` and `bd` is found after everything else. */
function withAgentTools(path: string, root: string): string {
  const folder = join(root, '.gc', 'runtime', 'bin');
  const folders = path.split(delimiter).filter((part) => part !== '');
  return folders.includes(folder) ? path : [...folders, folder].join(delimiter);
}

/** The root of the agent's rig, else its folder in the city, else the city: never a work dir of its own. */
function commandDir(city: City, agent: Agent): string {
  return rigNamed(city, agent.dir)?.path ?? join(city.root, agent.dir);
}

function rigNamed(city: City, name: string): Rig | undefined {
  return name === '' ? undefined : city.rigs.find((rig) => rig.name === name);
}

function rigEnvironment(rig: Rig | undefined): Readonly<Record<string, string>> {
  if (!rig) return { GC_RIG: '', GC_RIG_ROOT: '', BEADS_DIR: '' };
  return { GC_RIG: rig.name, GC_RIG_ROOT: rig.path, BEADS_DIR: join(rig.path, '.beads') };
}
