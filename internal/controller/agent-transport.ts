import type { Agent, City } from '../config/city.ts';
import { builtinPreset } from '../config/preset/presets.ts';
import {
  type LookPath,
  type ResolvedPreset,
  resolvePreset,
  type Transport,
} from '../config/preset/resolve-preset.ts';
import { GcError } from '../platform/errors.ts';
import type { Environment } from '../platform/paths.ts';
import { remoteMatch } from './remote-match.ts';

/** Where the sessions of a city live: see `ResolverOptions`. */
export interface ProviderPlace {
  readonly city: City;
  readonly env: Environment;
  readonly provider?: string;
  readonly isRouted?: boolean;
}

const ACP_PROVIDER = 'acp';

/** Every agent of a city whose provider is ACP, and those that ask for it elsewhere. */
function transportOf({ provider }: ProviderPlace, agent: Agent): Transport {
  return provider === ACP_PROVIDER ? 'acp' : agent.session;
}

/**
 * What an agent of this city is started as: its program for terminals, or the one that speaks the protocol.
 * @throws GcError why it cannot be
 */
export function agentPreset(
  place: ProviderPlace,
  agent: Agent,
  lookPath: LookPath,
): { readonly preset: ResolvedPreset; readonly transport: Transport } {
  const transport = transportOf(place, agent);
  const preset = spokenTo(resolvePreset(place.city, agent, lookPath, transport), transport);
  if (transport === 'acp') refuseAcp(place, agent, preset);
  return { preset, transport };
}

/** Over ACP nothing is read from a screen, and the conversation is named in the protocol, not in the command. */
function spokenTo(preset: ResolvedPreset, transport: Transport): ResolvedPreset {
  if (transport === '') return preset;
  return {
    ...preset,
    readyDelayMs: 0,
    readyPromptPrefix: '',
    processNames: [],
    emitsPermissionWarning: false,
    resumeFlag: '',
    resumeStyle: '',
    resumeCommand: '',
    sessionIdFlag: '',
  };
}

/** In a city of the provider `acp` what is written in the file is taken at its word; built-ins are known. */
function refuseAcp(options: ProviderPlace, agent: Agent, preset: ResolvedPreset): void {
  const name = preset.name || 'start_command';
  const isKnown = builtinPreset(preset.kind) !== undefined;
  if (!preset.supportsAcp && (agent.session === 'acp' || isKnown)) {
    const asked = agent.session === 'acp' ? 'session = "acp"' : 'the session provider is acp';
    throw new GcError(
      'acp-unsupported',
      `agent "${agent.qualifiedName}": ${asked} but provider "${name}" does not support ACP`,
      { next: 'describe a program that does under providers, with supports_acp: true' },
    );
  }
  if (options.isRouted === false && options.provider !== ACP_PROVIDER) {
    throw new GcError(
      'acp-not-ready',
      `agent "${agent.qualifiedName}": session = "acp" came into the config after the city was started without it`,
      { next: 'gc restart' },
    );
  }
}

/** On another machine, where nothing of ours is installed. */
export function runsElsewhere({ city, env, provider }: ProviderPlace, sessionName: string): boolean {
  if (provider === 'k8s') return true;
  const match = provider === 'hybrid' ? remoteMatch(env, city) : '';
  return match !== '' && sessionName.includes(match);
}
