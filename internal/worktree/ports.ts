import { createServer } from 'node:net';
import { codeOf } from '../platform/errors.ts';
import { cityHash } from '../platform/paths.ts';
import { WorktreeError } from './errors.ts';
import type { PortBlock, WorktreeHome, WorktreeRegistry } from './registry.ts';

/** Below what Linux hands out to outgoing connections. */
export const FIRST_PORT = 20_000;
export const LAST_PORT = 32_767;
/** Cities begin their search at different places, so that two of them seldom meet. */
const CITY_STEP = 1_000;

/**
 * The block of a worktree: the one it has when that is as large as wanted, else the lowest free one. Ports that something
 * listens on at that moment are passed over. `0` frees it.
 * @throws WorktreeError `no-free-ports`
 */
export async function portsFor(
  home: WorktreeHome,
  registry: WorktreeRegistry,
  path: string,
  count: number,
): Promise<PortBlock | undefined> {
  const taken: PortBlock[] = [];
  for (;;) {
    let kept = false;
    const block = await registry.editPorts(path, (own, others) => {
      if (count === 0) return undefined;
      kept = own?.count === count && !taken.some((busy) => overlaps(own, busy));
      return kept ? own : chooseBlock(count, [...others, ...taken], searchStart(home.gcDir));
    });
    if (count === 0) return undefined;
    if (!block) throw noFreePorts(count);
    if (kept) return block;
    const busy = await firstBusyPort(block);
    if (busy === undefined) return block;
    taken.push({ first: busy, count: 1 });
  }
}

/** The lowest block at or after `start`, else from the beginning of the range, that touches none of `taken`. */
export function chooseBlock(
  count: number,
  taken: readonly PortBlock[],
  start: number,
): PortBlock | undefined {
  return searchFrom(start, count, taken) ?? searchFrom(FIRST_PORT, count, taken);
}

function searchFrom(start: number, count: number, taken: readonly PortBlock[]): PortBlock | undefined {
  const sorted = [...taken].sort((a, b) => a.first - b.first);
  let block: PortBlock = { first: start, count };
  for (const other of sorted) {
    if (overlaps(block, other)) block = { first: other.first + other.count, count };
  }
  return block.first + count - 1 <= LAST_PORT ? block : undefined;
}

function overlaps(a: PortBlock, b: PortBlock): boolean {
  return a.first < b.first + b.count && b.first < a.first + a.count;
}

function searchStart(gcDir: string): number {
  const places = Math.floor((LAST_PORT - FIRST_PORT + 1) / CITY_STEP);
  return FIRST_PORT + (Number.parseInt(cityHash(gcDir), 16) % places) * CITY_STEP;
}

async function firstBusyPort({ first, count }: PortBlock): Promise<number | undefined> {
  for (let port = first; port < first + count; port += 1) {
    // A listener on one address does not show on the other everywhere.
    if ((await isTaken(port, '::')) || (await isTaken(port, '127.0.0.1'))) return port;
  }
  return undefined;
}

function isTaken(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve(codeOf(error) === 'EADDRINUSE'));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(false)));
  });
}

function noFreePorts(count: number): WorktreeError {
  return new WorktreeError(
    'no-free-ports',
    `no ${count} free ports side by side between ${FIRST_PORT} and ${LAST_PORT}`,
    { next: 'gc worktree prune, or ask for fewer ports' },
  );
}
