import { createHash } from 'node:crypto';
import type { Environment } from '../../platform/paths.ts';
import { cityOf, cityTagOf, KEEPER_OPTION, OWNER_OPTION } from './ownership.ts';
import { PlainTransport } from './plain-transport.ts';
import { serverEnvironment, serverSocketPath } from './server.ts';
import { DEFAULT_SILENCE_MS } from './transport.ts';

export interface SocketChoiceInput {
  readonly cityName: string;
  readonly cityId: string;
  /** `[session] socket`: taken as it is. */
  readonly configured?: string;
  readonly env: Environment;
  readonly tmuxPath?: string;
  readonly onSpawn?: (argv: readonly string[]) => void;
}

export interface SocketChoice {
  readonly socketName: string;
  readonly why: 'configured' | 'city-name' | 'name-taken-by-another-city';
}

const SOCKET_PATH_LIMIT_BYTES = 100;

/**
 * The tmux socket of a city: its configured one, else its name, else, where the server of that name belongs to another
 * city, the name and six hex digits of the city's id. The caller records the answer: it is not asked again while
 * sessions live.
 */
export async function chooseSocket(input: SocketChoiceInput): Promise<SocketChoice> {
  if (input.configured) return { socketName: input.configured, why: 'configured' };
  const env = serverEnvironment(input.env);
  const plain = socketWord(input.cityName, input.cityId, env);
  const stamps = await stampsOn(plain, input);
  const own = cityOf(input.cityId).tag;
  if (stamps.length === 0 || stamps.includes(own)) return { socketName: plain, why: 'city-name' };
  return { socketName: `${plain}-${idDigits(input.cityId)}`, why: 'name-taken-by-another-city' };
}

/** City tags of all sessions and keepers on a server; none when there is no server or it cannot be asked. */
async function stampsOn(socketName: string, input: SocketChoiceInput): Promise<readonly string[]> {
  const transport = new PlainTransport(
    {
      socketName,
      tmuxPath: input.tmuxPath ?? 'tmux',
      env: serverEnvironment(input.env),
      onSpawn: input.onSpawn ?? (() => undefined),
    },
    DEFAULT_SILENCE_MS,
  );
  const list = ['list-sessions', '-F', `#{${OWNER_OPTION}}\t#{${KEEPER_OPTION}}`];
  const reply = await transport.run([list], { repeatable: true });
  await transport.close();
  if (reply.kind !== 'ok') return [];
  return (reply.outputs[0] ?? '').split(/[\t\n]/).flatMap((stamp) => (stamp ? [cityTagOf(stamp)] : []));
}

/** The city's name as the originals use it, made safe for a file name of bounded length. */
function socketWord(cityName: string, cityId: string, env: Readonly<Record<string, string>>): string {
  const safe = cityName.replace(/[/\0]/g, '-').replace(/^[.-]+/, '');
  const longest = serverSocketPath({ socketName: `${safe}-123456`, env });
  if (safe && Buffer.byteLength(longest) <= SOCKET_PATH_LIMIT_BYTES) return safe;
  return `gc-${idDigits(cityId)}`;
}

function idDigits(cityId: string): string {
  return createHash('sha256').update(cityId).digest('hex').slice(0, 6);
}
