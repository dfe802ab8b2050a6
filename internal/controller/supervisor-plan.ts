import type { RegisteredCity } from './registry.ts';

/** What the supervisor knows of one city. Times are monotonic milliseconds. */
export type CitySlot =
  | { readonly kind: 'starting'; readonly name: string; readonly failures: number }
  | { readonly kind: 'running'; readonly name: string; readonly failures: number; readonly since: number }
  | { readonly kind: 'stopping'; readonly name: string }
  | {
      readonly kind: 'failed';
      readonly name: string;
      readonly error: string;
      /** What a person can do about it. */
      readonly next?: string;
      readonly failures: number;
      readonly retryAt: number;
      /** Stamp of the city file at the failure: an edit is worth a try at once. `undefined`: only time helps. */
      readonly fileStamp: string | undefined;
    };

export type SupervisorStep =
  | { readonly kind: 'start'; readonly city: RegisteredCity; readonly failures: number }
  | { readonly kind: 'stop'; readonly path: string; readonly why: 'unregistered' | 'renamed' }
  | { readonly kind: 'forget'; readonly path: string };

export interface SupervisorView {
  readonly registered: readonly RegisteredCity[];
  readonly slots: ReadonlyMap<string, CitySlot>;
  readonly now: number;
  readonly fileStamp: (path: string) => string;
}

const FIRST_BACKOFF_MS = 10_000;
const BACKOFF_CAP_MS = 300_000;

/** How long a city that failed this many times in a row is left alone. Source: Gas City's supervisor. */
export function initBackoffMs(failures: number): number {
  return Math.min(FIRST_BACKOFF_MS * 2 ** Math.min(failures - 1, 10), BACKOFF_CAP_MS);
}

/** A life that outlasted the longest wait wipes the failures before it. */
export function failuresAfter(slot: CitySlot | undefined, now: number): number {
  if (slot?.kind === 'running') return now - slot.since > BACKOFF_CAP_MS ? 1 : slot.failures + 1;
  return slot && 'failures' in slot ? slot.failures + 1 : 1;
}

/** What one pass does. Pure; stops come first, and a renamed city starts again on the pass after its stop. */
export function planSupervisorPass(view: SupervisorView): readonly SupervisorStep[] {
  const wanted = new Map(view.registered.map((city) => [city.path, city]));
  const stops: SupervisorStep[] = [];
  const starts: SupervisorStep[] = [];
  for (const [path, slot] of view.slots) {
    const city = wanted.get(path);
    if (!city && slot.kind === 'failed') stops.push({ kind: 'forget', path });
    else if (!city && slot.kind !== 'stopping') stops.push({ kind: 'stop', path, why: 'unregistered' });
    else if (city && slot.kind === 'running' && slot.name !== city.name) {
      stops.push({ kind: 'stop', path, why: 'renamed' });
    }
  }
  for (const city of wanted.values()) {
    const slot = view.slots.get(city.path);
    if (!slot) starts.push({ kind: 'start', city, failures: 0 });
    else if (slot.kind === 'failed' && isDue(slot, city, view)) {
      starts.push({ kind: 'start', city, failures: slot.failures });
    }
  }
  return [...stops, ...starts];
}

function isDue(slot: CitySlot & { kind: 'failed' }, city: RegisteredCity, view: SupervisorView): boolean {
  if (view.now >= slot.retryAt) return true;
  if (slot.name !== city.name) return true;
  return slot.fileStamp !== undefined && slot.fileStamp !== view.fileStamp(city.path);
}
