import { join } from 'node:path';
import type { CityApi, SessionView } from '../../../internal/controller/city-api.ts';
import { CityEngine } from '../../../internal/controller/city-engine.ts';
import { controllerOf } from '../../../internal/controller/city-lock.ts';
import { LocalCityApi } from '../../../internal/controller/local-city-api.ts';
import { standardProviders } from '../../../internal/controller/make-provider.ts';
import { openCity } from '../../../internal/controller/open-city.ts';
import type { MakeProvider } from '../../../internal/controller/provider-decision.ts';
import { readRegisteredCities } from '../../../internal/controller/registry.ts';
import { commandActor } from '../../../internal/events/event-types.ts';
import { messageOf } from '../../../internal/platform/errors.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import { gcHome } from '../../../internal/platform/paths.ts';
import type { AttachPlan } from '../../../internal/runtime/provider.ts';
import type { Context } from '../context.ts';
import { agentProgram, providerPrograms } from './own-programs.ts';

export interface LocalCity {
  readonly api: CityApi;
  close(): Promise<void>;
}

/** The living controller of the city; `undefined` when its lock is free. */
export function controllerPid(root: string): number | undefined {
  return controllerOf(join(root, '.gc'))?.pid;
}

/** The city through its stores, for a command beside no controller. */
export async function openLocalCity(root: string, context: Context): Promise<LocalCity> {
  const parts = await openAsVisitor(root, context, standardProviders(providerPrograms(context.self)));
  const engine = new CityEngine(parts, {
    poke: () => undefined,
    trouble: (error) => context.err.write(`gc: ${messageOf(error)}\n`),
    gap: () => undefined,
  });
  const isListed = readRegisteredCities(gcHome(context.env)).some((city) => city.path === root);
  const controller = { running: false, ...(isListed ? { mode: 'supervisor' as const } : {}) };
  return {
    api: new LocalCityApi({ engine, controller, actor: commandActor(context.env) }),
    close: () => parts.close(),
  };
}

/** Beside whoever decides about the city: nothing that a visitor sees is taken as told. */
function openAsVisitor(root: string, context: Context, makeProvider: MakeProvider) {
  return openCity({
    cityDir: root,
    env: context.env,
    clock: context.clock,
    ids: systemIds,
    role: 'visitor',
    program: agentProgram(context.self),
    makeProvider,
  });
}

/** Says where the sessions of a city are; the rest of the environment is the person's own, with their terminal in it. */
const PLACE_VARIABLES = ['GC_HOME', 'HOME', 'TMPDIR', 'TMUX_TMPDIR', 'XDG_RUNTIME_DIR'] as const;

/** How the person's terminal is connected to a session. `close` only lets go of the provider. */
export async function openAttachPlan(
  root: string,
  context: Context,
  session: SessionView,
): Promise<{ readonly plan: AttachPlan; close(): Promise<void> }> {
  const make = standardProviders(providerPrograms(context.self));
  const fromHere: MakeProvider = (name, facts) => {
    const env: Record<string, string | undefined> = { ...context.env };
    for (const key of PLACE_VARIABLES) env[key] = facts.env[key];
    return make(name, { ...facts, env });
  };
  const parts = await openAsVisitor(root, context, fromHere);
  try {
    return { plan: await parts.provider.attach(session.session_name), close: () => parts.close() };
  } catch (error) {
    await parts.close();
    throw error;
  }
}
