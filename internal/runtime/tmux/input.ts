import { execFile } from 'node:child_process';
import { SessionNotFoundError } from '../errors.ts';
import { outputsFor, requirePane, type TmuxContext } from './context.ts';
import { type Command, unlessDead, wasDead } from './quote.ts';
import type { Reply } from './transport.ts';

/** A terminal in canonical mode holds 4,096 bytes of a line, the last one for its end. Source: n_tty(4), N_TTY_BUF_SIZE. */
const CANONICAL_LINE_BYTES = 4_095;
const STTY_TIMEOUT_MS = 2_000;

/** A person may have scrolled back: there, keys and text would go to copy mode instead of the agent. */
const leaveModes = (paneId: string): Command => ['copy-mode', '-q', '-t', paneId];

/** Types `text` as one paste, whatever its bytes and size, framed when the program asked for that. */
export async function pasteText(context: TmuxContext, name: string, text: string): Promise<void> {
  const { paneId } = await requirePane(context, name);
  if (text === '') return;
  const buffer = `gc-${context.ids.hex(8)}`;
  const bytes = Buffer.from(text, 'utf8');
  const inline = bytes.length <= context.transport.argumentLimit && !text.includes('\0');
  const load = inline ? ['set-buffer', '-b', buffer, '--', text] : ['load-buffer', '-b', buffer, '-'];
  const paste = unlessDead(paneId, ['paste-buffer', '-d', '-p', '-r', '-b', buffer, '-t', paneId]);
  const group = [load, leaveModes(paneId), paste];
  const reply = await context.transport.run(group, inline ? {} : { stdin: bytes });
  const isDead = reply.kind === 'ok' && wasDead(reply.outputs.at(-1));
  // The text may be secret, so it must not stay behind in the server.
  if (isDead || reply.kind === 'refused') await context.transport.run([['delete-buffer', '-b', buffer]]);
  outputsFor(context, name, reply);
  if (isDead) throw new SessionNotFoundError(name);
}

export async function sendKeyNames(
  context: TmuxContext,
  name: string,
  keys: readonly string[],
): Promise<void> {
  const { paneId } = await requirePane(context, name);
  if (keys.length === 0) return;
  await act(context, name, [leaveModes(paneId), ['send-keys', '-t', paneId, '--', ...keys]]);
}

/**
 * Two size changes, two SIGWINCH. Not while a terminal is connected, which sets the size itself. `resize-window`
 * turns window-size to manual, so that is put back.
 */
export async function wakePane(context: TmuxContext, name: string): Promise<void> {
  const { paneId } = await requirePane(context, name);
  const asked = await act(context, name, [
    ['display-message', '-p', '-t', paneId, '#{window_height}\t#{session_attached}\t#{window_panes}'],
  ]);
  const [height, attached] = (asked[0] ?? '').split('\t').map(Number);
  if (height === undefined || !(height > 1) || attached !== 0) return;
  await act(context, name, [
    ['resize-window', '-t', paneId, '-y', String(height - 1)],
    ['resize-window', '-t', paneId, '-y', String(height)],
    ['set-option', '-w', '-t', paneId, 'window-size', 'latest'],
  ]);
}

export async function clearHistory(context: TmuxContext, name: string): Promise<void> {
  const { paneId } = await requirePane(context, name);
  await act(context, name, [['clear-history', '-t', paneId]]);
}

/** Bytes per line while the pane's terminal is in canonical mode; `undefined` in raw mode or when it cannot be told. */
export async function paneInputLimit(context: TmuxContext, name: string): Promise<number | undefined> {
  const { tty, dead } = await requirePane(context, name);
  if (dead || !tty.startsWith('/dev/')) return undefined;
  const settings = await terminalSettings(context, tty);
  return /(^|\s)icanon\b/.test(settings) ? CANONICAL_LINE_BYTES : undefined;
}

function terminalSettings(context: TmuxContext, tty: string): Promise<string> {
  const args = [process.platform === 'darwin' ? '-f' : '-F', tty, '-a'];
  context.server.onSpawn(['stty', ...args]);
  return new Promise((resolve) => {
    const options = { env: { ...context.server.env, LC_ALL: 'C' }, timeout: STTY_TIMEOUT_MS };
    execFile('stty', args, options, (_error, stdout) => resolve(stdout));
  });
}

async function act(
  context: TmuxContext,
  name: string,
  group: readonly Command[],
): Promise<readonly string[]> {
  const reply: Reply = await context.transport.run(group);
  return outputsFor(context, name, reply);
}
