import { systemClock } from '../../../platform/clock.ts';
import { systemIds } from '../../../platform/ids.ts';
import type { Log } from '../../../platform/log.ts';
import { addressText, type NetworkAddress } from '../../../platform/network-address.ts';
import type { RpcServing } from '../serve-sessions.ts';

export const LOOPBACK: NetworkAddress = { kind: 'tcp', host: '127.0.0.1', port: 0 };

export interface Line {
  readonly message: string;
  readonly fields: unknown;
}

export function recordingLog(lines: Line[] = []): Log {
  const note = (message: string, fields?: unknown) => void lines.push({ message, fields });
  const log: Log = { debug: note, info: note, warn: note, error: note, child: () => log };
  return log;
}

export function serving(change: Partial<RpcServing> = {}): RpcServing {
  return { clock: systemClock, ids: systemIds, log: recordingLog(), ...change };
}

export function urlOf(address: NetworkAddress): string {
  return `http://${addressText(address)}`;
}

/** Waits for something that another process or socket brings about. */
export async function eventually(check: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 5_000;
  while (!check()) {
    if (performance.now() > deadline) throw new Error(`never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
