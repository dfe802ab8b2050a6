import { constants } from 'node:os';
import type { ExitInfo } from '../provider.ts';
import type { TmuxContext } from './context.ts';
import type { Command } from './quote.ts';
import { captureGroup, readScreen } from './screen.ts';

/** The pane is marked dead before its end is collected: look again this often, this many times. */
const EXIT_REREAD_MS = 50;
const EXIT_REREADS = 10;
/**
 * A tmux server sometimes misses the signal of a child's end (about one in seven on a busy machine, tmux 3.3a) and keeps
 * the zombie until the next child ends. So it is given one that ends at once.
 */
export const COLLECT_CHILDREN: Command = ['run-shell', '-b', 'true'];
/** Lines kept of a dead agent's screen. */
const LAST_LINES = 40;

const SIGNAL_NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** What is left of an agent that ended. */
export interface Corpse {
  readonly exit: ExitInfo;
  readonly lastLines: string;
}

/** tmux gives a signal as a number or as a name, by platform. */
export function exitInfo(status: string, signal: string): ExitInfo {
  if (signal !== '') {
    const named = /^\d+$/.test(signal) ? SIGNAL_NAMES.get(Number(signal)) : signalName(signal);
    return { signal: named ?? `signal ${signal}` };
  }
  return /^\d+$/.test(status) ? { code: Number(status) } : {};
}

function isKnown(exit: ExitInfo): boolean {
  return exit.code !== undefined || exit.signal !== undefined;
}

function signalName(text: string): string {
  const upper = text.toUpperCase();
  return upper.startsWith('SIG') ? upper : `SIG${upper}`;
}

/** How the agent in a dead pane ended, with its last lines. `undefined` when the pane could not be read or is gone. */
export async function readCorpse(context: TmuxContext, paneId: string): Promise<Corpse | undefined> {
  const ask = ['display-message', '-p', '-t', paneId, '#{pane_dead_status}\t#{pane_dead_signal}'];
  for (let reread = 0; ; reread += 1) {
    const reply = await context.transport.run([ask, ...captureGroup(paneId, LAST_LINES)], {
      repeatable: true,
    });
    if (reply.kind !== 'ok') return undefined;
    const [status = '', signal = ''] = (reply.outputs[0] ?? '').split('\t');
    const exit = exitInfo(status, signal);
    if (isKnown(exit) || reread >= EXIT_REREADS) {
      return { exit, lastLines: readScreen(reply.outputs.slice(1), LAST_LINES).lines.join('\n') };
    }
    if (reread > 0) await context.transport.run([COLLECT_CHILDREN]);
    await context.clock.sleep(EXIT_REREAD_MS);
  }
}
