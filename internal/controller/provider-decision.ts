import type { City } from '../config/city.ts';
import type { Clock } from '../platform/clock.ts';
import type { Ids } from '../platform/ids.ts';
import type { Environment } from '../platform/paths.ts';
import { canClose, type Provider } from '../runtime/provider.ts';
import { chooseProvider, type ProviderChoice, type ProviderName } from '../runtime/registry.ts';
import type { CityStatus } from './city-api.ts';
import type { CityRecord, CityRecordChanges } from './city-record.ts';
import { lookPathIn } from './look-path.ts';
import type { FencedTenure } from './tenure.ts';

/** What a provider is made from. */
export interface ProviderFacts {
  readonly city: City;
  readonly gcDir: string;
  /** The same for the same folder, whatever happens to its `.gc`: marks sessions as this city's. */
  readonly cityId: string;
  readonly env: Environment;
  readonly role: 'controller' | 'visitor';
  /** The tmux socket that the city's sessions live on; `undefined`: one is to be chosen. */
  readonly tmuxSocket: string | undefined;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Where a right to control the city is held: back ends elsewhere write nothing without it. */
  readonly tenure?: FencedTenure | undefined;
}

export interface MadeProvider {
  readonly provider: Provider;
  readonly tmuxSocket?: string;
  /** For `gc status`. */
  readonly detail?: string;
  /** After a stop of the city: takes away what only served its sessions. */
  tidy?(): Promise<unknown>;
}

export type MakeProvider = (name: ProviderName, facts: ProviderFacts) => Promise<MadeProvider>;

export interface DecisionInput extends Omit<ProviderFacts, 'tmuxSocket'> {
  readonly record: CityRecord;
  readonly makeProvider: MakeProvider;
}

export interface ProviderDecision {
  readonly provider: Provider;
  readonly info: CityStatus['provider'];
  /** The environment of the city's sessions. */
  readonly env: Environment;
  tidy(): Promise<unknown>;
  readonly changes: Omit<CityRecordChanges, 'city'>;
}

/**
 * Which provider and which environment: what is recorded, as long as a session lives in it or nobody can tell; else what
 * the caller, the config and the machine say. A visitor follows the record always. Where nobody can tell, the caller's way
 * to the cluster counts: else a city whose kubeconfig is gone could never be reached again.
 */
export async function decideProvider(input: DecisionInput): Promise<ProviderDecision> {
  const { record } = input;
  if (record.provider === undefined) return decided(input, freshChoice(input), input.env, undefined);
  const env = record.env ?? input.env;
  const recorded = await decided(input, recordedChoice(input), env, record.tmuxSocket);
  if (input.role === 'visitor') return recorded;
  const sessions = await sessionsIn(recorded.provider);
  const repaired = { ...env, ...wayOf(input.env) };
  const isRepair = Object.entries(repaired).some(([key, value]) => env[key] !== value);
  if (sessions === 'some' || (sessions === 'unknown' && !isRepair)) return recorded;
  if (canClose(recorded.provider)) await recorded.provider.close();
  return sessions === 'none'
    ? decided(input, freshChoice(input), input.env, undefined)
    : decided(input, recordedChoice(input), repaired, record.tmuxSocket);
}

/** How a cluster is reached, as opposed to what lives in it: whoever starts a city that cannot be asked may mend that. */
const WAY_VARIABLES = ['KUBECONFIG', 'GC_K8S_CONTEXT', 'KUBERNETES_SERVICE_HOST', 'KUBERNETES_SERVICE_PORT'];

const wayOf = (env: Environment): Environment =>
  Object.fromEntries(WAY_VARIABLES.map((name) => [name, env[name]]));

/**
 * What hosts the sessions stays while one of them lives: a file that names another one meanwhile is not followed, and
 * that is no secret.
 */
export function unusedProvider(named: string, used: string, env: Environment): readonly string[] {
  const isDecidedElsewhere = named === '' || (env['GC_SESSION'] ?? '') !== '';
  if (isDecidedElsewhere || named === used) return [];
  return [`session.provider is ${named} now, but the sessions live in ${used}: gc restart moves them`];
}

function freshChoice(input: DecisionInput): ProviderChoice {
  const { city, env } = input;
  return chooseProvider({
    env,
    configProvider: city.session.provider,
    tmuxOnPath: lookPathIn(city.root, env)('tmux') !== undefined,
    recorded: undefined,
  });
}

function recordedChoice(input: DecisionInput): ProviderChoice {
  return chooseProvider({ env: {}, configProvider: '', tmuxOnPath: false, recorded: input.record.provider });
}

async function decided(
  input: DecisionInput,
  choice: ProviderChoice,
  env: Environment,
  tmuxSocket: string | undefined,
): Promise<ProviderDecision> {
  const { city, gcDir, cityId, role, clock, ids, tenure } = input;
  const made = await input.makeProvider(choice.name, {
    city,
    gcDir,
    cityId,
    env,
    role,
    tmuxSocket,
    clock,
    ids,
    tenure,
  });
  return {
    provider: made.provider,
    env,
    tidy: async () => made.tidy?.(),
    info: {
      name: choice.name,
      chosen_by: choice.chosenBy,
      ...(made.tmuxSocket === undefined ? {} : { tmux_socket: made.tmuxSocket }),
      ...(made.detail === undefined ? {} : { detail: made.detail }),
    },
    changes: { provider: choice.name, tmuxSocket: made.tmuxSocket ?? '', env },
  };
}

async function sessionsIn(provider: Provider): Promise<'some' | 'none' | 'unknown'> {
  try {
    return (await provider.listRunning('')).length > 0 ? 'some' : 'none';
  } catch {
    return 'unknown'; // it could not be asked: nothing may be taken for gone
  }
}
