import { editDistance } from '../platform/edit-distance.ts';
import { GcError } from '../platform/errors.ts';

/** Provider names that are one word. A script is the other kind: `exec:<script>`. */
const WORD_NAMES = ['tmux', 'subprocess', 'acp', 'k8s', 'hybrid', 'fake', 'fail'] as const;
export const EXEC_PREFIX = 'exec:';

type WordName = (typeof WORD_NAMES)[number];
/** The text after `exec:` is the script: a path, or the name of one that comes with the program or is on the PATH. */
export type ExecProviderName = `${typeof EXEC_PREFIX}${string}`;
export type ProviderName = WordName | ExecProviderName;

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
 * Which provider runs a city: what its living sessions run in, else GC_SESSION, else the config, else tmux when it is on
 * the PATH, else subprocess.
 * @throws GcError `unknown-provider` with the nearest name, `no-exec-script`
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
  if (isExecName(name)) {
    if (scriptOf(name).trim() !== '') return name;
    throw new GcError('no-exec-script', `${where}: "${name}" names no script`, {
      next: 'write exec:<script>, such as exec:./my-sessions',
    });
  }
  const known = WORD_NAMES.find((candidate) => candidate === name);
  if (known) return known;
  const nearest = nearestName(name);
  throw new GcError(
    'unknown-provider',
    `${where}: unknown provider "${name}"${nearest === undefined ? '' : `; did you mean "${nearest}"?`}`,
    { next: `use one of: ${WORD_NAMES.join(', ')}, ${EXEC_PREFIX}<script>` },
  );
}

export function isExecName(name: string): name is ExecProviderName {
  return name.startsWith(EXEC_PREFIX);
}

/** What follows the prefix, as it was written. */
export function scriptOf(name: ExecProviderName): string {
  return name.slice(EXEC_PREFIX.length);
}

/** At most so many edits count as a slip. */
const NEAR_EDITS = 3;

function nearestName(name: string): string | undefined {
  const ranked = WORD_NAMES.map((candidate) => ({
    candidate,
    edits: editDistance(name.toLowerCase(), candidate),
  })).sort((a, b) => a.edits - b.edits);
  const [best] = ranked;
  return best && best.edits <= NEAR_EDITS && best.edits < best.candidate.length ? best.candidate : undefined;
}
