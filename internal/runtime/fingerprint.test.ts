import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  configFingerprint,
  coreFingerprint,
  FINGERPRINT_ENV_KEYS,
  type FingerprintBreakdown,
  fingerprintBreakdown,
  liveFingerprint,
} from './fingerprint.ts';
import { driftedFields, driftHeadline, driftLogLines } from './fingerprint-drift.ts';
import { type CopyEntry, EMPTY_RUNTIME_CONFIG, type RuntimeConfig } from './runtime-config.ts';

const config = (over: Partial<RuntimeConfig> = {}): RuntimeConfig => ({ ...EMPTY_RUNTIME_CONFIG, ...over });
const copy = (over: Partial<CopyEntry>): CopyEntry => ({
  src: '',
  relDst: '',
  probed: false,
  contentHash: '',
  ...over,
});

const FULL = config({
  command: 'claude --skip',
  env: { GC_CITY: '/c', GC_RIG: 'r', PATH: '/x' },
  fingerprintExtra: { 'pool.max': '5', 'pool.min': '1' },
  preStart: ['a', 'b'],
  sessionSetup: ['s'],
  sessionSetupScript: '/p.sh',
  overlayDir: '/o',
  copyFiles: [
    copy({ src: '/a', relDst: 'b' }),
    copy({ relDst: '.gc/scripts', probed: true, contentHash: 'abc123' }),
    copy({ relDst: 'x', probed: true }),
  ],
  sessionLive: ['l1', 'l2'],
});

describe('published vectors', () => {
  it.each([
    [
      'empty',
      config(),
      '31e48a24e8c57efb53b4c85d995b288929287a39b089c31630641511ca63def0',
      '4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a',
      '073785f527f6e7d4a39b1ef1ee3e110e8855d3cbb2f8fc9ce78a73e50b83f300',
    ],
    [
      'command',
      config({ command: 'claude' }),
      'bcec9b7b22ae6c63914b83a4f4da20b6e725925e0fc8c3041556dc0ea8a01892',
      '4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a',
      '37fd3f8a3cc4a6e64d2420a1ea1c129da1c1e4ebd71140db71b8d8a8c1b6513d',
    ],
    [
      'full',
      FULL,
      'f5e7b530a4cc5c3f74b7b01217888f7df0cf00c9a332e8598f0ac322526e6f5b',
      'b96ec3fe2361ded694ff67f4eb8975c4abfd25c5cf7a7496b1d1900b0098aed6',
      '56fa232130847943fdfa8eb976f7a8e260a033acaf31e32ae889cd87c7142f49',
    ],
  ])('%s', (_name, given, core, live, combined) => {
    expect(coreFingerprint(given)).toBe(core);
    expect(liveFingerprint(given)).toBe(live);
    expect(configFingerprint(given)).toBe(combined);
  });

  it('breakdown', () => {
    expect(fingerprintBreakdown(config({ command: 'claude' }))).toEqual({
      Command: 'c857d09db23e6822',
      Env: 'e3b0c44298fc1c14',
      FPExtra: 'e3b0c44298fc1c14',
      PreStart: 'e3b0c44298fc1c14',
      SessionSetup: 'e3b0c44298fc1c14',
      SessionSetupScript: 'e3b0c44298fc1c14',
      OverlayDir: 'e3b0c44298fc1c14',
      CopyFiles: 'e3b0c44298fc1c14',
    });
  });
});

/** CFG-03: every field of RuntimeConfig, in or out; the type makes this table complete. */
const FIELDS: { readonly [K in keyof RuntimeConfig]: readonly ['core' | 'live' | 'out', RuntimeConfig[K]] } =
  {
    command: ['core', 'other'],
    env: ['core', { GC_TEMPLATE: 'other' }],
    fingerprintExtra: ['core', { k: 'other' }],
    preStart: ['core', ['other']],
    sessionSetup: ['core', ['other']],
    sessionSetupScript: ['core', '/other'],
    overlayDir: ['core', '/other'],
    copyFiles: ['core', [copy({ src: '/other' })]],
    sessionLive: ['live', ['other']],
    workDir: ['out', '/other'],
    readyPromptPrefix: ['out', 'other'],
    readyDelayMs: ['out', 1],
    processNames: ['out', ['other']],
    emitsPermissionWarning: ['out', true],
    nudge: ['out', 'other'],
    providerName: ['out', 'other'],
    installAgentHooks: ['out', ['other']],
    packOverlayDirs: ['out', ['/other']],
    promptSuffix: ['out', "'other'"],
    promptFlag: ['out', '--other'],
    conversation: ['out', 'other'],
    pty: ['out', false],
    setupTimeoutMs: ['out', 1],
  };

describe('CFG-03 what counts', () => {
  it.each(Object.entries(FIELDS))('%s', (field, [where, value]) => {
    const changed = config({ [field]: value });
    expect(coreFingerprint(changed) !== coreFingerprint(config())).toBe(where === 'core');
    expect(liveFingerprint(changed) !== liveFingerprint(config())).toBe(where === 'live');
  });

  it.each([
    ...[
      'PATH',
      'HOME',
      'CLAUDE_CONFIG_DIR',
      'OTEL_EXPORTER',
      'GC_DIR',
      'GC_HOME',
      'GC_BIN',
      'GC_AGENT',
      'GC_SESSION_ID',
    ],
    ...[
      'GC_SESSION_NAME',
      'GC_INSTANCE_TOKEN',
      'GC_RUNTIME_EPOCH',
      'GC_API_URL',
      'GC_CTRL_SOCK',
      'GC_DOLT_PORT',
    ],
    ...['GC_PUBLICATIONS_FILE', 'GC_PROVIDER', 'GC_READY_PROMPT_PREFIX', 'gc_city'],
  ])('the variable %s does not', (key) => {
    expect(coreFingerprint(config({ env: { [key]: 'x' } }))).toBe(coreFingerprint(config()));
  });

  it('each allow-listed variable does', () => {
    for (const key of FINGERPRINT_ENV_KEYS) {
      expect(coreFingerprint(config({ env: { [key]: 'x' } }))).not.toBe(coreFingerprint(config()));
    }
    expect(FINGERPRINT_ENV_KEYS.size).toBe(15);
  });

  it('a probed file counts by content, a configured one by source', () => {
    const hash = (entry: Partial<CopyEntry>) => coreFingerprint(config({ copyFiles: [copy(entry)] }));
    expect(hash({ probed: true, src: '/a', contentHash: 'h' })).toBe(
      hash({ probed: true, src: '/b', contentHash: 'h' }),
    );
    expect(hash({ src: '/a', contentHash: 'h' })).toBe(hash({ src: '/a', contentHash: 'g' }));
    expect(hash({ probed: true })).toBe(hash({ probed: true, contentHash: 'HASH_UNAVAILABLE' }));
  });
});

const texts = fc.array(fc.string(), { maxLength: 3 });
const arbitraryConfig = fc.record({
  command: fc.string(),
  env: fc.dictionary(fc.constantFrom('GC_CITY', 'GC_RIG', 'PATH'), fc.string()),
  fingerprintExtra: fc.dictionary(fc.string(), fc.string(), { maxKeys: 3 }),
  preStart: texts,
  sessionSetup: texts,
  sessionSetupScript: fc.string(),
  overlayDir: fc.string(),
});

describe('properties', () => {
  it('the order of maps never matters', () => {
    fc.assert(
      fc.property(arbitraryConfig, (over) => {
        const reversed = {
          ...over,
          env: Object.fromEntries(Object.entries(over.env).reverse()),
          fingerprintExtra: Object.fromEntries(Object.entries(over.fingerprintExtra).reverse()),
        };
        return coreFingerprint(config(over)) === coreFingerprint(config(reversed));
      }),
    );
  });

  it('when two cores differ, some field of the breakdown differs', () => {
    fc.assert(
      fc.property(arbitraryConfig, arbitraryConfig, (a, b) => {
        fc.pre(coreFingerprint(config(a)) !== coreFingerprint(config(b)));
        return driftedFields(fingerprintBreakdown(config(a)), fingerprintBreakdown(config(b))).length > 0;
      }),
    );
  });

  it('keys sort by their bytes, not by UTF-16', () => {
    const fingerprintExtra = { '\u{10000}': '1', '\uffff': '2' };
    const bytes = '\0fp\0\uffff=2\0\u{10000}=1\0\x01\x01\0\0';
    expect(coreFingerprint(config({ fingerprintExtra }))).toBe(
      createHash('sha256').update(bytes).digest('hex'),
    );
  });
});

describe('drift log', () => {
  const lines = (stored: Parameters<typeof driftLogLines>[1], given: RuntimeConfig) =>
    driftLogLines('mayor', stored, given);

  it('names the fields and what they are now', () => {
    const stored = fingerprintBreakdown(config());
    expect(lines(stored, FULL)).toEqual([
      '  config-drift-diag mayor: drifted fields: Command, CopyFiles, Env, FPExtra, OverlayDir, PreStart, SessionSetup, SessionSetupScript',
      '    Command: "claude --skip"',
      '    CopyFiles[0]: RelDst="b" ContentHash=""',
      '    CopyFiles[1]: RelDst=".gc/scripts" ContentHash="abc123"',
      '    CopyFiles[2]: RelDst="x" ContentHash=""',
      '    Env: {GC_CITY="/c" GC_RIG="r"}',
      '    FPExtra: {pool.max="5" pool.min="1"}',
      '    OverlayDir: "/o"',
      '    PreStart: ["a" "b"]',
      '    SessionSetup: ["s"]',
      '    SessionSetupScript len: 5',
    ]);
  });

  it('says when there is nothing to compare, or nothing differs', () => {
    expect(lines(undefined, config())[0]).toContain(
      'no stored breakdown (pre-upgrade session); current field hashes: ',
    );
    expect(lines({}, config())[0]).toContain('no stored breakdown');
    const same: FingerprintBreakdown = fingerprintBreakdown(FULL);
    expect(lines(same, FULL)).toEqual([
      '  config-drift-diag mayor: no per-field diff (possible sentinel/ordering issue)',
    ]);
    expect(driftHeadline('mayor', 'a'.repeat(64), 'b'.repeat(64), FULL)).toBe(
      'config-drift mayor: stored=aaaaaaaaaaaa current=bbbbbbbbbbbb cmd="claude --skip"',
    );
  });
});
