import { GcError } from '../../platform/errors.ts';
import { lookup, outputsFor, requireSession, type TmuxContext, unavailable } from './context.ts';
import { encodeMetaValue, parseShownVariable } from './meta-value.ts';
import { exactSession } from './ownership.ts';

/** Metadata is the session's environment inside tmux, where Gas City's scripts read and write it. */
export async function setMetadata(
  context: TmuxContext,
  name: string,
  key: string,
  value: string,
): Promise<void> {
  checkKey(key);
  await requireSession(context, name);
  const set = ['set-environment', '-t', exactSession(name), '--', key, encodeMetaValue(value)];
  outputsFor(context, name, await context.transport.run([set]));
}

export async function getMetadata(context: TmuxContext, name: string, key: string): Promise<string> {
  checkKey(key);
  if (!(await exists(context, name))) return '';
  const show = ['show-environment', '-t', exactSession(name), '--', key];
  const reply = await context.transport.run([show], { repeatable: true });
  if (reply.kind === 'no-answer') throw unavailable(context, reply.detail);
  // A refusal is "unknown variable", or the session just went.
  return reply.kind === 'ok' ? parseShownVariable(reply.outputs[0] ?? '') : '';
}

export async function removeMetadata(context: TmuxContext, name: string, key: string): Promise<void> {
  checkKey(key);
  if (!(await exists(context, name))) return;
  const reply = await context.transport.run([['set-environment', '-u', '-t', exactSession(name), '--', key]]);
  if (reply.kind === 'no-answer') throw unavailable(context, reply.detail);
}

async function exists(context: TmuxContext, name: string): Promise<boolean> {
  const found = await lookup(context, name);
  if (found.kind === 'unknown') throw unavailable(context, found.reason);
  return found.kind === 'present';
}

function checkKey(key: string): void {
  if (!/^[^=\s\x00-\x1f]+$/.test(key)) {
    throw new GcError('invalid-meta-key', `invalid metadata key ${JSON.stringify(key)}: no blanks, no "="`);
  }
}
