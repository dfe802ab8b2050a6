import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeSettings } from './overlay-merge.ts';

type Entry = Readonly<Record<string, unknown>> | string;
interface Settings {
  readonly hooks: Readonly<Record<string, readonly Entry[]>>;
  readonly [key: string]: unknown;
}

const word = fc.constantFrom('', 'Bash', 'gc', 'x');
const entry: fc.Arbitrary<Entry> = fc.oneof(
  fc.record({ matcher: word, v: fc.nat(9) }),
  fc.record({ command: word, v: fc.nat(9) }),
  fc.record({ bash: word, v: fc.nat(9) }),
  fc.record({ command: word, matcher: fc.nat(3) }),
  fc.record({ hooks: fc.array(word, { maxLength: 2 }) }),
  word,
);
const settings: fc.Arbitrary<Settings> = fc
  .tuple(
    fc.dictionary(fc.constantFrom('Stop', 'SessionStart', 'toString'), fc.array(entry, { maxLength: 5 })),
    fc.dictionary(
      fc.constantFrom('mcpServers', 'env', '__proto__', 'constructor'),
      fc.jsonValue({ maxDepth: 2 }),
    ),
  )
  .map(([hooks, rest]) => ({ ...rest, hooks }));

const merge = (base: Settings, overlay: Settings): Settings =>
  JSON.parse(mergeSettings(JSON.stringify(base), JSON.stringify(overlay))) as Settings;
const count = (entries: readonly Entry[], wanted: Entry) =>
  entries.filter((each) => JSON.stringify(each) === JSON.stringify(wanted)).length;
const identity = (each: Entry): string | undefined => {
  if (typeof each === 'string') return undefined;
  const { matcher, command, bash } = each;
  if (matcher !== undefined) return typeof matcher === 'string' ? matcher : undefined;
  if (command !== undefined) return `cmd:${command}`;
  return bash === undefined ? undefined : `bash:${bash}`;
};

describe('merged settings', () => {
  it('are the same when the overlay is applied again', () => {
    fc.assert(
      fc.property(settings, settings, (a, b) => {
        const once = mergeSettings(JSON.stringify(a), JSON.stringify(b));
        expect(mergeSettings(once, JSON.stringify(b))).toBe(once);
      }),
    );
  });

  it('hold every entry of the overlay, and every one of the base that the overlay does not replace, in order', () => {
    fc.assert(
      fc.property(settings, settings, (a, b) => {
        const merged = merge(a, b).hooks;
        for (const [category, entries] of Object.entries(b.hooks)) {
          const result = merged[category] ?? [];
          for (const wanted of entries) {
            const times = identity(wanted) === undefined ? 1 : count(entries, wanted);
            expect(count(result, wanted)).toBeGreaterThanOrEqual(times);
          }
        }
        for (const [category, entries] of Object.entries(a.hooks)) {
          const over = Object.hasOwn(b.hooks, category) ? (b.hooks[category] ?? []) : [];
          const kept = entries.filter((each) => {
            const own = identity(each);
            return own === undefined || !over.some((other) => identity(other) === own);
          });
          const result = (merged[category] ?? []).map((each) => JSON.stringify(each));
          let from = 0;
          for (const each of kept) {
            const at = result.indexOf(JSON.stringify(each), from);
            expect(at, `${JSON.stringify(each)} in ${result.join()}`).toBeGreaterThanOrEqual(from);
            from = at + 1;
          }
        }
      }),
    );
  });
});
