import { createHash } from 'node:crypto';
import type { Command } from './quote.ts';

/** Whose sessions these are. */
export interface City {
  /** The city's id, or a digest of it, in letters that tmux formats and options leave alone. */
  readonly tag: string;
}

/** `<city tag>/<instance token>`, set by the command that creates a session. */
export const OWNER_OPTION = '@gc_owner';
/** The id of the pane that the agent was started in. */
export const PANE_OPTION = '@gc_pane';
/** The id of the session that the stamp was made for. */
export const SESSION_OPTION = '@gc_session';
/** The city tag on the hidden session that keeps control connections and the server up. */
export const KEEPER_OPTION = '@gc_keeper';

const KEEPER_COLUMNS = 80;
const KEEPER_ROWS = 24;

export function cityOf(cityId: string): City {
  const plain = /^[A-Za-z0-9_.-]{1,64}$/.test(cityId);
  return { tag: plain ? cityId : createHash('sha256').update(cityId).digest('hex').slice(0, 16) };
}

export function ownerStamp(city: City, instanceToken: string): string {
  return `${city.tag}/${instanceToken}`;
}

export function isOurs(city: City, stamp: string): boolean {
  return stamp.startsWith(`${city.tag}/`);
}

/** The city tag in an owner or keeper stamp. */
export function cityTagOf(stamp: string): string {
  return stamp.split('/')[0] ?? '';
}

/** A `+` is in no session name of ours, so the keeper can never be taken for one. */
export function keeperName(city: City): string {
  return `gc+keeper-${city.tag.replaceAll('.', '-')}`;
}

/** An exact target for session commands; without the `=` tmux also takes prefixes and patterns. */
export function exactSession(name: string): string {
  return `=${name}`;
}

/** An exact target for commands that want a window or a pane, and for every `set-option`. */
export function exactTarget(name: string): string {
  return `=${name}:`;
}

/**
 * Attaches a control client to the keeper, which is made when it is not there: a dead pane, so no process. A user's
 * configuration must not end it (`destroy-unattached`) nor move its clients elsewhere (`detach-on-destroy off`).
 */
export function attachKeeper(city: City): readonly Command[] {
  const name = keeperName(city);
  const target = exactTarget(name);
  const size = ['-x', String(KEEPER_COLUMNS), '-y', String(KEEPER_ROWS)];
  return [
    ['new-session', '-A', '-E', '-s', name, ...size, '-f', 'no-output,ignore-size', '/bin/true'],
    ['set-option', '-p', '-t', target, 'remain-on-exit', 'on'],
    ['set-option', '-t', target, 'destroy-unattached', 'off'],
    ['set-option', '-t', target, 'detach-on-destroy', 'on'],
    ['set-option', '-w', '-t', target, 'automatic-rename', 'off'],
    ['set-option', '-t', target, KEEPER_OPTION, city.tag],
  ];
}
