import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  commandWithOverrides,
  effectiveDefaults,
  OptionError,
  replaceSchemaFlags,
  resolveExplicitOptions,
  resolveOptions,
  stripSchemaFlags,
} from './options.ts';
import { BUILTIN_PRESETS } from './presets.ts';

const claude = BUILTIN_PRESETS['claude']?.optionsSchema ?? [];
const codex = BUILTIN_PRESETS['codex']?.optionsSchema ?? [];

describe('resolveOptions', () => {
  it('gives words in the order of the schema and metadata for explicit choices only', () => {
    const defaults = effectiveDefaults(claude, { permission_mode: 'unrestricted', effort: 'max' });
    expect(resolveOptions(claude, { model: 'opus' }, defaults)).toEqual({
      args: ['--dangerously-skip-permissions', '--effort', 'max', '--model', 'claude-opus-4-6'],
      metadata: { opt_model: 'opus' },
    });
    expect(resolveOptions(claude, { effort: '' }, defaults)).toEqual({
      args: ['--dangerously-skip-permissions'],
      metadata: { opt_effort: '' },
    });
    expect(effectiveDefaults(claude)).toEqual({ permission_mode: 'auto-edit' });
  });

  it('explicit options give their own words alone', () => {
    expect(resolveExplicitOptions(claude, { effort: 'low' })).toEqual(['--effort', 'low']);
    expect(resolveExplicitOptions(claude, {})).toEqual([]);
  });

  it('refuses what it does not know, in the published words', () => {
    expect(() => resolveOptions(claude, { modle: 'opus' }, {})).toThrow(
      'unknown option: modle; did you mean "model"?',
    );
    expect(() => resolveOptions(claude, { model: 'gpt' }, {})).toThrow('invalid value for model: gpt');
    expect(() => resolveOptions([], { toString: 'x' }, {})).toThrow(OptionError);
  });
});

describe('flags of a schema in a command line', () => {
  it('are replaced as groups', () => {
    expect(
      replaceSchemaFlags(claude, 'claude --effort low --verbose --permission-mode plan', [
        '--effort',
        'high',
      ]),
    ).toBe('claude --verbose --effort high');
    expect(replaceSchemaFlags(codex, 'codex -c model_reasoning_effort=low -c other=1', [])).toBe(
      'codex -c other=1',
    );
    expect(replaceSchemaFlags(codex, 'codex --sandbox read-only --ask-for-approval on-request -q', [])).toBe(
      'codex -q',
    );
    expect(replaceSchemaFlags(claude, 'claude --effort extreme', [])).toBe('claude --effort extreme');
  });

  it('tell which choice stood there', () => {
    expect(stripSchemaFlags(claude, ['--permission-mode', 'plan', '--effort', 'low']).inferred).toEqual({
      permission_mode: 'plan',
      effort: 'low',
    });
    expect(
      stripSchemaFlags(codex, ['--ask-for-approval', 'on-request', '--sandbox', 'read-only']).inferred,
    ).toEqual({
      permission_mode: 'suggest',
    });
    expect(stripSchemaFlags(codex, ['--sandbox', 'read-only']).inferred).toEqual({ sandbox: 'read-only' });
    expect(stripSchemaFlags(claude, ['--effort', 'low', '--effort', 'high']).inferred).toEqual({
      effort: 'high',
    });
  });

  it("a session's overrides replace the whole set", () => {
    expect(
      commandWithOverrides(
        claude,
        'claude --dangerously-skip-permissions --effort max',
        { permission_mode: 'unrestricted', effort: 'max' },
        { permission_mode: 'plan', initial_message: "it's me" },
      ),
    ).toBe('claude --permission-mode plan --effort max');
  });

  it('stripping finds every choice again and leaves the rest alone', () => {
    const choice = fc
      .constantFrom(
        ...Object.values(BUILTIN_PRESETS).flatMap((preset) =>
          preset.optionsSchema ? [preset.optionsSchema] : [],
        ),
      )
      .chain((schema) =>
        fc.record({
          schema: fc.constant(schema),
          picks: fc.tuple(
            ...schema.map((option) => fc.constantFrom('', ...option.choices.map(({ value }) => value))),
          ),
          rest: fc.array(fc.constantFrom('--verbose', 'x', '-q', "it's", 'a b', ''), { maxLength: 4 }),
        }),
      );
    fc.assert(
      fc.property(choice, ({ schema, picks, rest }) => {
        const chosen = Object.fromEntries(
          schema.map((option, i) => [option.key, picks[i] ?? '']).filter(([, value]) => value !== ''),
        );
        const args = resolveExplicitOptions(schema, chosen);
        const stripped = stripSchemaFlags(schema, [...rest, ...args]);
        expect(stripped.rest).toEqual(rest);
        // Two options can share a flag: it is found once.
        expect(new Set(resolveExplicitOptions(schema, stripped.inferred))).toEqual(new Set(args));
      }),
    );
  });
});
