import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { connectHarness } from '../../../internal/api/grpc/connect-harness.ts';
import { assertMayListen, assertRegistryAddress } from '../../../internal/api/grpc/listener.ts';
import { BUILT_IN_HARNESSES } from '../../../internal/api/grpc/open-service.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import {
  type NetworkAddress,
  parseListenAddress,
  parseTcpAddress,
  type TcpAddress,
} from '../../../internal/platform/network-address.ts';
import { type Environment, runtimeDir } from '../../../internal/platform/paths.ts';
import { type JournalPlace, journalAt } from '../../../internal/session/log/journal-place.ts';
import { noHarnessRegistry } from '../../../internal/session/log/jsonl/fixed-harness-table.ts';
import type { RosterOptions } from '../../../internal/session/service/harness-roster.ts';
import { chatHarness } from '../../../internal/session/turn/builtin/chat-harness.ts';
import { openAiModel } from '../../../internal/session/turn/builtin/openai-model.ts';
import { commandHarness } from '../../../internal/session/turn/command/command-harness.ts';
import { parseCommandSpec, programFile } from '../../../internal/session/turn/command/command-spec.ts';
import type { Harness, ModelProvider } from '../../../internal/session/turn/harness.ts';
import { cityRoot } from '../city/access.ts';
import { findCity, NoCityError } from '../city/find-city.ts';
import { loadChecked } from '../city/load-city.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { Context } from '../context.ts';
import { namedHarness } from '../log/named-harness.ts';
import { tokenInFile } from './serve-sessions-token.ts';

const DEFAULT_ADDRESS = '127.0.0.1:8080';
const DEFAULT_PROJECT = 'default';
const DEFAULT_JOURNAL = 'agentsessions.db';
/** Never given to a program that runs turns: they are for this process. */
const OWN_SECRETS: readonly string[] = ['GC_SERVE_TOKEN', 'MODEL_API_KEY'];

/** What `gc serve` was asked for, checked; nothing was made or opened. */
export interface ServePlan {
  readonly listen: NetworkAddress;
  readonly registry: TcpAddress | undefined;
  readonly token: string | undefined;
  readonly file: JournalPlace;
  readonly project: string;
  readonly harnesses: ReadonlyMap<string, Harness>;
  readonly model: ModelProvider | undefined;
  readonly remote: RosterOptions['remote'];
}

/** @throws UsageError, GcError for each kind of wrong value, NoCityError for a wrong --city */
export async function servePlan(context: Context, input: Input): Promise<ServePlan> {
  const listen = listenAddress(input.text('addr') ?? input.text('grpc') ?? DEFAULT_ADDRESS, context.cwd);
  const registry = registryAddress(input.text('registry-addr') ?? input.text('registry'), listen);
  const tokenFile = input.text('token-file');
  // Never from the command line, which everybody on the machine can read.
  const token =
    tokenFile === undefined
      ? context.env['GC_SERVE_TOKEN'] || undefined
      : tokenInFile(resolve(context.cwd, tokenFile));
  assertMayListen(listen, token);
  const model = modelOf(context, input);
  const connect = (address: string) => connectHarness(address, { clock: context.clock, cwd: context.cwd });
  const harnesses = new Map<string, Harness>();
  const modelId = input.text('model');
  if (modelId !== undefined) harnesses.set('chat', chatHarness({ model: modelId }));
  for (const [name, harness] of [...remotes(input, connect), ...commands(context, input)]) {
    if (harnesses.has(name) || BUILT_IN_HARNESSES.includes(name)) {
      throw new UsageError(
        `two harnesses are called ${name}`,
        'give each another name; echo and chat are built in',
      );
    }
    harnesses.set(name, harness);
  }
  const city = await ownCity(context);
  const journal = input.text('journal');
  const file = journal === undefined ? ownJournal(context, city) : journalAt(context.cwd, journal);
  if (registry && file.kind === 'folder') throw noHarnessRegistry(file.path);
  return {
    listen,
    registry,
    token,
    file,
    project: input.text('project') ?? (city === undefined ? DEFAULT_PROJECT : await cityName(context, city)),
    harnesses,
    model,
    remote: model
      ? { connect }
      : { refused: 'this host has no model for harnesses elsewhere (gc serve --model)' },
  };
}

export function listenAddress(text: string, cwd: string): NetworkAddress {
  const address = parseListenAddress(text, cwd);
  if (address) return address;
  throw new UsageError(
    `${JSON.stringify(text)} is not an address to listen on`,
    'write 127.0.0.1:8080 or unix:/path',
  );
}

function registryAddress(text: string | undefined, sessions: NetworkAddress): TcpAddress | undefined {
  if (text === undefined || text === '') return undefined;
  const address = parseTcpAddress(text);
  if (!address) {
    throw new UsageError(
      `${JSON.stringify(text)} is not an address for the registry`,
      'write 127.0.0.1:8081',
    );
  }
  assertRegistryAddress(address, sessions);
  return address;
}

function modelOf({ env, clock }: Context, input: Input): ModelProvider | undefined {
  const model = input.text('model');
  const [baseUrl, path, authHeader] = ['model-base-url', 'model-path', 'model-auth-header'].map((name) =>
    input.text(name),
  );
  if (model === undefined) return undefined;
  if (baseUrl !== undefined && !/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? '')) {
    throw new UsageError(`--model-base-url ${JSON.stringify(baseUrl)} is not an http or https address`);
  }
  return openAiModel({
    model,
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(path === undefined ? {} : { path }),
    ...(authHeader === undefined ? {} : { authHeader }),
    apiKey: env['MODEL_API_KEY'] || env['OPENAI_API_KEY'] || '',
    stream: true,
    fetch: (url, init) => fetch(url, init),
    clock,
  });
}

function remotes(input: Input, connect: (address: string) => Harness): [string, Harness][] {
  return input.texts('harness').map((text) => {
    const { name, address } = namedHarness(text);
    if (input.text('model') === undefined) {
      throw new UsageError('a harness elsewhere needs a model for its turns', 'add --model');
    }
    return [name, connect(address)];
  });
}

/** The harnesses of `--command`, by name. @throws GcError `bad-command-spec`, `command-not-executable` */
export function commands(context: Context, input: Input): [string, Harness][] {
  const workDir = resolve(context.cwd, input.text('work-dir') ?? '.');
  const texts = input.texts('command');
  if (texts.length > 0 && !statSync(workDir, { throwIfNoEntry: false })?.isDirectory()) {
    throw new UsageError(`--work-dir ${workDir} is not a folder`);
  }
  const env: Environment = Object.fromEntries(
    Object.entries(context.env).filter(([name]) => !OWN_SECRETS.includes(name)),
  );
  return texts.map((text) => {
    const spec = parseCommandSpec(text, env);
    programFile(spec);
    const harness = commandHarness(spec, {
      clock: context.clock,
      ids: systemIds,
      ledgerDir: join(runtimeDir(context.env), 'turns'),
      workDirOf: async () => workDir,
    });
    return [spec.name, harness];
  });
}

/** The city that this runs in; nobody expects another one here. */
async function ownCity(context: Context): Promise<string | undefined> {
  if (context.cityOption !== undefined) return cityRoot(context);
  try {
    const { env, cwd } = context;
    const found = await findCity({
      env,
      cwd,
      home: env['HOME'],
      option: undefined,
      registered: async () => [],
    });
    return found.root;
  } catch (error) {
    if (error instanceof NoCityError) return undefined;
    throw error;
  }
}

function ownJournal(context: Context, city: string | undefined): JournalPlace {
  const path = city === undefined ? resolve(context.cwd, DEFAULT_JOURNAL) : join(city, '.gc', 'sessions.db');
  return { kind: 'database', path };
}

async function cityName(context: Context, root: string): Promise<string> {
  return (await loadChecked(context, root)).workspace.name;
}
