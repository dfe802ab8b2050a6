import { parseRfc3339 } from '../../../internal/platform/clock.ts';

/** An age without fraction: `7s`, `12m`, `3h`, `2d`. */
export function age(ms: number): string {
  const s = Math.floor(Math.max(0, ms) / 1_000);
  if (s < 60) return `${s}s`;
  if (s < 3_600) return `${Math.floor(s / 60)}m`;
  if (s < 86_400) return `${Math.floor(s / 3_600)}h`;
  return `${Math.floor(s / 86_400)}d`;
}

/** How long until an RFC 3339 time, rounded up to a second; `now` when it has passed. */
export function until(at: string | undefined, now: number): string | undefined {
  const then = parseRfc3339(at);
  if (then === undefined) return undefined;
  return then <= now ? 'now' : age(Math.ceil((then - now) / 1_000) * 1_000);
}

/** `HH:MM:SS` in the zone of the reader; the text itself when it is no time. */
export function clockTime(at: string): string {
  const ms = parseRfc3339(at);
  if (ms === undefined) return at;
  const d = new Date(ms);
  return [d.getHours(), d.getMinutes(), d.getSeconds()].map((n) => String(n).padStart(2, '0')).join(':');
}

/** `path` with the home directory written as `~`. */
export function shortPath(path: string, home: string | undefined): string {
  if (!home || home === '/') return path;
  if (path === home) return '~';
  return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}
