import { parseDuration } from '../../platform/duration.ts';

/** Milliseconds of a duration that the schema has accepted. */
export function durationMs(text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseDuration(text);
}

/** A duration or `off`, trimmed and in one spelling; `''` for unset. */
export function sleepText(text: string | undefined): string {
  const trimmed = (text ?? '').trim();
  return trimmed.toLowerCase() === 'off' ? 'off' : trimmed;
}

/** The object without the keys that are not written. */
export function written<T extends object>(
  values: T,
): { [Key in keyof T as undefined extends T[Key] ? never : Key]: T[Key] } & {
  [Key in keyof T as undefined extends T[Key] ? Key : never]?: Exclude<T[Key], undefined>;
} {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  // What is left out was undefined: the type says the same with optional keys.
  return Object.fromEntries(entries) as ReturnType<typeof written<T>>;
}
