import { editDistance } from '../platform/edit-distance.ts';
import { GcError } from '../platform/errors.ts';
import type { Provider } from './provider.ts';

/** Provider names that this version runs. */
export const PROVIDER_NAMES = ['tmux', 'subprocess', 'fake', 'fail'] as const;
export type ProviderName = (typeof PROVIDER_NAMES)[number];

/** Names of Gas City that have their place here but are not built yet. */
const LATER_NAMES = ['acp', 'k8s', 'hybrid'] as const;
const LATER_PREFIX = 'exec:';

export interface ProviderChoice {
  readonly name: ProviderName;
  readonly chosenBy: 'GC_SESSION' | 'config' | 'default' | 'record';
}

export interface ProviderQuestion {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `[session] provider`; `''`: not set. */
  readonly configProvider: string;
  readonly tmuxOnPath: boolean;
  /** What the city's living sessions were started with; it stays while they live. `undefined`: none live. */
  readonly recorded: string | undefined;
}

/**
 * Which provider runs a city: what its living sessions run in, else GC_SESSION, else the config, else tmux when it is
 * on the PATH, else subprocess.
 * @throws GcError `unknown-provider` with the nearest name, `provider-not-available` for one that comes later.
 */
export function chooseProvider(question: ProviderQuestion): ProviderChoice {
  const fromEnv = (question.env['GC_SESSION'] ?? '').trim();
  const configured = question.configProvider.trim();
  if (question.recorded)
    return { name: providerName(question.recorded, 'the record of the city'), chosenBy: 'record' };
  if (fromEnv !== '') return { name: providerName(fromEnv, 'GC_SESSION'), chosenBy: 'GC_SESSION' };
  if (configured !== '') return { name: providerName(configured, '[session] provider'), chosenBy: 'config' };
  return { name: question.tmuxOnPath ? 'tmux' : 'subprocess', chosenBy: 'default' };
}

/** The name as one of ours. `where` it was read goes into the error. */
export function providerName(name: string, where: string): ProviderName {
  const known = PROVIDER_NAMES.find((candidate) => candidate === name);
  if (known) return known;
  if (name.startsWith(LATER_PREFIX) || LATER_NAMES.some((later) => later === name)) {
    throw new GcError(
      'provider-not-available',
      `${where}: the provider "${name}" comes later in this version`,
      {
        next: `use one of: ${PROVIDER_NAMES.join(', ')}`,
      },
    );
  }
  const nearest = nearestName(name);
  throw new GcError(
    'unknown-provider',
    `${where}: unknown provider "${name}"${nearest === undefined ? '' : `; did you mean "${nearest}"?`}`,
    { next: `use one of: ${PROVIDER_NAMES.join(', ')}` },
  );
}

export type ProviderFactories = Readonly<Record<ProviderName, () => Promise<Provider>>>;

/** Makes the chosen provider. The factories come from the composing program: nothing here knows an implementation. */
export async function createProvider(
  choice: ProviderChoice,
  factories: ProviderFactories,
): Promise<Provider> {
  return await factories[choice.name]();
}

/** At most so many edits count as a slip. */
const NEAR_EDITS = 3;

function nearestName(name: string): string | undefined {
  const ranked = [...PROVIDER_NAMES, ...LATER_NAMES]
    .map((candidate) => ({ candidate, edits: editDistance(name.toLowerCase(), candidate) }))
    .sort((a, b) => a.edits - b.edits);
  const [best] = ranked;
  return best && best.edits <= NEAR_EDITS && best.edits < best.candidate.length ? best.candidate : undefined;
}
