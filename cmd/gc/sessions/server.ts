import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pingController, sessionsSocketPath } from '../../../internal/controller/control-socket-client.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import { type NetworkAddress, parseDialAddress } from '../../../internal/platform/network-address.ts';
import { type JournalPlace, journalAt } from '../../../internal/session/log/journal-place.ts';
import type { HarnessRegistryHost, SessionsHost } from '../../../internal/session/service/sessions-host.ts';
import { cityRoot } from '../city/access.ts';
import { findCity, NoCityError } from '../city/find-city.ts';
import { type Input, UsageError } from '../cli/input.ts';
import { tokenInFile } from '../commands/serve-sessions-token.ts';
import type { Context } from '../context.ts';
import { QUIET_LOG } from './quiet-log.ts';

const DEFAULT_PROJECT = 'default';

type Place =
  | { readonly kind: 'server'; readonly address: NetworkAddress }
  /** No server: this process serves itself, with the echo harness alone. Source: agentsessions.v1 client. */
  | { readonly kind: 'journal'; readonly file: JournalPlace; readonly city?: string };

/**
 * Runs `work` against the service that the command line means: `--server`, `--journal`, GC_SESSIONS_SERVER, the running
 * city's own, the journal of the city.
 * @param begins a journal that is not there is made only by commands that make sessions
 * @throws UsageError, GcError `no-sessions-server`, `no-session-logs`, `bad-token-file`, and what `work` throws
 */
export async function withSessions<T>(
  context: Context,
  input: Input,
  work: (host: SessionsHost) => Promise<T>,
  begins: 'begins-logs' | 'needs-logs' = 'needs-logs',
): Promise<T> {
  const place = await placeOf(context, input);
  switch (place.kind) {
    case 'server':
      return await far(context, input, place.address, work);
    case 'journal':
      if (begins === 'needs-logs') requireJournal(place.file);
      return await embedded(context, input, place, work);
  }
}

/** The operator's listener; it has no default. @throws UsageError */
export async function withRegistry<T>(
  context: Context,
  input: Input,
  work: (host: HarnessRegistryHost) => Promise<T>,
): Promise<T> {
  const server = input.text('server');
  if (server === undefined) {
    throw new UsageError(
      'missing --server',
      'the registry has an address of its own: gc serve --registry 127.0.0.1:8081',
    );
  }
  const { connectRegistry } = await import('../../../internal/api/grpc/connect-sessions.ts');
  const host = connectRegistry(addressOf(server, context.cwd), connection(context, input));
  try {
    return await work(host);
  } finally {
    host.close();
  }
}

/** `host:port` or `unix:path`. @throws UsageError */
export function addressOf(text: string, cwd: string): NetworkAddress {
  const address = parseDialAddress(text, cwd);
  if (address) return address;
  throw new UsageError(
    `${JSON.stringify(text)} is not an address of a service`,
    'write host:port or unix:/path',
  );
}

/** How the service is called. @throws GcError `bad-token-file` */
export function connection({ clock, cwd, env }: Context, input: Input) {
  const file = input.text('token-file');
  const token = file === undefined ? env['GC_SERVE_TOKEN'] || undefined : tokenInFile(resolve(cwd, file));
  return { clock, cwd, ...(token === undefined ? {} : { token }) };
}

async function placeOf(context: Context, input: Input): Promise<Place> {
  const { cwd, env } = context;
  const [server, journal] = [input.text('server'), input.text('journal')];
  if (server !== undefined && journal !== undefined) {
    throw new UsageError('--server or --journal, not both', 'a server has its logs already');
  }
  if (server !== undefined) return { kind: 'server', address: addressOf(server, cwd) };
  if (journal !== undefined) return { kind: 'journal', file: journalAt(cwd, journal) };
  const usual = env['GC_SESSIONS_SERVER'];
  if (usual) return { kind: 'server', address: addressOf(usual, cwd) };
  const city = await cityHere(context);
  if (city !== undefined && (await pingController(city, env)) !== undefined) {
    return { kind: 'server', address: { kind: 'unix', path: sessionsSocketPath(city, env) } };
  }
  if (city !== undefined) {
    const path = join(city, '.gc', 'sessions.db');
    if (existsSync(path)) return { kind: 'journal', file: { kind: 'database', path }, city };
  }
  throw new GcError('no-sessions-server', 'no server of sessions is known here', {
    next: 'gc serve, then add --server 127.0.0.1:8080; or name a file of logs with --journal',
  });
}

/** Only a city that one stands in, or names, is meant. */
async function cityHere(context: Context): Promise<string | undefined> {
  const { env, cwd, cityOption: option } = context;
  if (option !== undefined) return cityRoot(context);
  try {
    const registered = async () => [];
    return (await findCity({ env, cwd, home: env['HOME'], option, registered })).root;
  } catch (error) {
    if (error instanceof NoCityError) return undefined;
    throw error;
  }
}

async function far<T>(
  context: Context,
  input: Input,
  address: NetworkAddress,
  work: (host: SessionsHost) => Promise<T>,
): Promise<T> {
  const { connectSessions } = await import('../../../internal/api/grpc/connect-sessions.ts');
  const host = connectSessions(address, connection(context, input));
  try {
    return await work(host);
  } finally {
    host.close();
  }
}

async function embedded<T>(
  context: Context,
  input: Input,
  { file, city }: Extract<Place, { kind: 'journal' }>,
  work: (host: SessionsHost) => Promise<T>,
): Promise<T> {
  const { openService } = await import('../../../internal/api/grpc/open-service.ts');
  const service = await openService({
    file,
    owner: process.getuid?.(),
    project: input.text('project') ?? (city === undefined ? DEFAULT_PROJECT : await cityName(context, city)),
    harnesses: new Map(),
    remote: { refused: 'without a server only the echo harness runs (gc serve)' },
    clock: context.clock,
    ids: systemIds,
    log: QUIET_LOG,
  });
  try {
    return await work(service.sessions);
  } finally {
    await service.close();
  }
}

function requireJournal({ path }: JournalPlace): void {
  if (existsSync(path)) return;
  throw new GcError('no-session-logs', `no file ${path}`, { next: 'gc sessions create --journal makes one' });
}

/** A city is the project of its sessions. */
async function cityName(context: Context, root: string): Promise<string> {
  const { loadChecked } = await import('../city/load-city.ts');
  return (await loadChecked(context, root)).workspace.name;
}
