import { type TmuxContext, unavailable } from './context.ts';
import { exactSession, isOurs, keeperName, OWNER_OPTION, SESSION_OPTION } from './ownership.ts';
import { probeServer, serverSocketPath } from './server.ts';

/** A server without sessions ends by itself, at once or a little later. */
const SERVER_EXIT_TIMEOUT_MS = 5_000;
const SERVER_EXIT_POLL_MS = 20;

export type Shutdown =
  /** The server is gone, or was not there. */
  | 'server-gone'
  /** Nothing of this city is left; sessions of others keep the server. */
  | 'others-left'
  /** No session is left, but the server stays: `exit-empty off` in somebody's configuration. */
  | 'empty-server'
  /** Sessions of this city live: nothing was done. */
  | 'sessions-left';

/** Removes the hidden keeper when no session of the city is left, which ends a server that nobody else uses. */
export async function shutdownIfEmpty(context: TmuxContext): Promise<Shutdown> {
  const format = `#{session_name}\t#{${OWNER_OPTION}}\t#{?#{==:#{session_id},#{${SESSION_OPTION}}},own,lent}`;
  const list = ['list-sessions', '-F', format];
  const reply = await context.transport.run([list], { repeatable: true });
  if (reply.kind === 'no-server') return 'server-gone';
  // A refused list means that there is no session at all: the server is on its way out.
  if (reply.kind === 'no-answer') throw unavailable(context, reply.detail);
  const sessions =
    reply.kind === 'ok' ? (reply.outputs[0] ?? '').split('\n').map((line) => line.split('\t')) : [];
  if (sessions.some(([, owner, whose]) => whose === 'own' && isOurs(context.city, owner ?? '')))
    return 'sessions-left';
  const keeper = keeperName(context.city);
  const others = sessions.filter(([name]) => name !== '' && name !== keeper);
  await context.transport.park();
  await context.transport.run([['kill-session', '-t', exactSession(keeper)]]);
  return others.length > 0 ? 'others-left' : await waitForExit(context);
}

async function waitForExit(context: TmuxContext): Promise<Shutdown> {
  const path = serverSocketPath(context.server);
  const deadline = context.clock.monotonic() + SERVER_EXIT_TIMEOUT_MS;
  while (context.clock.monotonic() < deadline) {
    if ((await probeServer(path)).kind === 'absent') return 'server-gone';
    await context.clock.sleep(SERVER_EXIT_POLL_MS);
  }
  return 'empty-server';
}
