import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seededIds } from '../platform/ids.ts';
import { displayName, targetName } from './display.ts';
import {
  adhocName,
  aliasConflict,
  checkAlias,
  checkExplicitName,
  isSessionName,
  type NameQuestion,
  plainTitle,
  qualifiedAlias,
  sessionNameConflict,
} from './names.ts';
import { record } from './testing/records.ts';

describe('the syntax of names', () => {
  it('accepts letters, digits, "_" and "-"', () => {
    for (const name of ['a', 'A9', 'mayor', 'rig--worker', 'gs__captain', '9lives', 'x'.repeat(64)]) {
      expect(() => checkExplicitName(name), name).not.toThrow();
    }
  });

  it('refuses what a runtime could misread, saying what is wrong', () => {
    const bad = ['', 'a/b', 'a.b', 'a:b', 'a b', '-a', '_a', 'ü', '🏙', 'a\n', 'a\u0000', '=a', '$(x)'];
    for (const name of bad) {
      expect(() => checkExplicitName(name), name).toThrow(
        expect.objectContaining({ code: 'invalid-session-name' }),
      );
    }
    expect(() => checkExplicitName('x'.repeat(300))).toThrow(/300 characters, at most 64/);
    expect(() => checkExplicitName('s-1')).toThrow(/given automatically/);
    for (const word of ['status', 'drain', 'poll'])
      expect(() => checkExplicitName(word)).toThrow(/command line/);
  });

  it('keeps titles on one line, without what steers a terminal', () => {
    expect(plainTitle('  a\tb\r\n c\u001b[31m\u2028d\u0000 ')).toBe('a b c [31m d');
    expect(plainTitle('Grüße, 世界 👩‍💻')).toBe('Grüße, 世界 👩‍💻');
    expect(plainTitle(' \n\u0007 ')).toBe('');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (any) => {
        expect(plainTitle(any)).not.toMatch(/[\p{Cc}\n\u2028]|^\s|\s$/u);
      }),
    );
  });

  it('accepts and refuses aliases', () => {
    for (const alias of ['a', 'rig/a', 'rig/b.c-d_e', 'v1.2', 'gc-x', 'gc']) {
      expect(() => checkAlias(alias), alias).not.toThrow();
    }
    const bad = [
      '',
      '/a',
      'a/',
      'a//b',
      '.a',
      'a/.b',
      'a b',
      'human',
      'gc-12',
      's-a',
      'status',
      'x'.repeat(65),
    ];
    for (const alias of bad) {
      expect(() => checkAlias(alias), alias).toThrow(
        expect.objectContaining({ code: 'invalid-session-alias' }),
      );
    }
  });

  it('makes names for sessions without one that fit and differ', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z][a-z0-9-]{0,90}$/), (base) => {
        const name = adhocName(base, seededIds(base));
        expect(name).toMatch(/-adhoc-[0-9a-f]{10}$/);
        expect(name.length).toBeLessThanOrEqual(64);
        expect(isSessionName(name)).toBe(true);
      }),
    );
    const ids = seededIds(1);
    expect(adhocName('a', ids)).not.toBe(adhocName('a', ids));
  });

  it('puts aliases of many-session templates into the template’s folder', () => {
    expect(qualifiedAlias('sky', 'rig', true)).toBe('rig/sky');
    expect(qualifiedAlias('sky', 'rig', false)).toBe('sky');
    expect(qualifiedAlias('rig/sky', 'rig', true)).toBe('rig/sky');
    expect(qualifiedAlias('sky', '', true)).toBe('sky');
  });
});

const ask = (name: string, question: Partial<NameQuestion>): NameQuestion => ({
  name,
  records: [],
  configured: [],
  owner: '',
  ...question,
});

describe('whether a runtime name is free', () => {
  const configured = [{ identity: 'rig/mayor', sessionName: 'rig--mayor' }];
  const holder = (metadata: Record<string, string>, closed = false) =>
    record({ template: 'other', ...metadata }, closed ? { status: 'closed' } : {});
  const conflict = (
    name: string,
    metadata: Record<string, string>,
    closed = false,
    more: Partial<NameQuestion> = {},
  ) => sessionNameConflict(ask(name, { records: [holder(metadata, closed)], ...more })) !== undefined;

  it('is taken by the name, open or closed for ever', () => {
    expect(conflict('a', { session_name: 'a' })).toBe(true);
    expect(conflict('a', { session_name: 'a' }, true)).toBe(true);
    expect(conflict('a', { session_name: 'a-2' })).toBe(false);
  });

  it('is free again after a configured session closed, and after an identity was retired', () => {
    expect(conflict('a', { session_name: 'a', configured_named_session: 'true' }, true)).toBe(false);
    const retired = { session_name: 'a', configured_named_identity: 'x', continuity_eligible: 'false' };
    expect(conflict('a', retired, false, { owner: 'x' })).toBe(false);
    expect(conflict('a', retired, false, { owner: 'y' })).toBe(true);
  });

  it('is taken by live aliases and agents, not by those of closed sessions or of the past', () => {
    expect(conflict('a', { alias: 'a' })).toBe(true);
    expect(conflict('a', { alias: 'a' }, true)).toBe(false);
    expect(conflict('a', { alias_history: 'a' })).toBe(false);
    for (const key of ['agent_name', 'template', 'common_name']) {
      expect(conflict('a', { [key]: 'a' }), key).toBe(true);
      expect(conflict('a', { [key]: 'rig/a' }), key).toBe(true);
      expect(conflict('a', { [key]: 'rig/ba' }), key).toBe(false);
      expect(conflict('a', { [key]: 'a' }, true), key).toBe(false);
    }
  });

  it('NAM-05 is reserved by the configuration for everybody but its owner', () => {
    const foreign = sessionNameConflict(ask('rig--mayor', { configured }));
    expect(foreign).toMatchObject({ kind: 'configured', holder: 'rig/mayor' });
    expect(sessionNameConflict(ask('rig--mayor', { configured, owner: 'rig/mayor' }))).toBeUndefined();
    const owner = { configured, owner: 'rig/mayor' };
    expect(conflict('rig--mayor', { template: 'rig--mayor' }, false, owner)).toBe(false);
    expect(conflict('rig--mayor', { session_name: 'rig--mayor' }, true, owner)).toBe(false);
    expect(conflict('rig--mayor', { session_name: 'rig--mayor' }, false, owner)).toBe(true);
  });

  it('is never taken by the one who asks', () => {
    const self = holder({ session_name: 'a', alias: 'a' });
    expect(sessionNameConflict(ask('a', { records: [self], selfId: self.id }))).toBeUndefined();
    expect(aliasConflict(ask('a', { records: [self], selfId: self.id }))).toBeUndefined();
  });
});

describe('whether an alias is free', () => {
  const conflict = (
    alias: string,
    metadata: Record<string, string>,
    closed = false,
    more: Partial<NameQuestion> = {},
  ) =>
    aliasConflict(
      ask(alias, { records: [record(metadata, closed ? { status: 'closed' } : {})], ...more }),
    ) !== undefined;

  it('is taken by live names, aliases and agents', () => {
    for (const key of ['session_name', 'alias', 'agent_name']) {
      expect(conflict('a', { [key]: 'a' }), key).toBe(true);
      expect(conflict('a', { [key]: 'a' }, true), key).toBe(false);
    }
    expect(conflict('a', { template: 'a', alias_history: 'a' })).toBe(false);
  });

  it('NAM-05 lets the owner of an identity have it, beside an agent of that name', () => {
    const configured = [{ identity: 'a', sessionName: 'a' }];
    expect(conflict('a', {}, false, { configured })).toBe(true);
    expect(conflict('a', { agent_name: 'a' }, false, { configured, owner: 'a' })).toBe(false);
    expect(conflict('a', { alias: 'a' }, false, { configured, owner: 'a' })).toBe(true);
  });
});

describe('what a session is called', () => {
  it('by identity, alias, runtime name, id', () => {
    const full = { configured_named_identity: 'rig/mayor', alias: 'boss', session_name: 'rig--mayor' };
    expect(displayName(record(full))).toBe('rig/mayor');
    expect(displayName(record({ ...full, configured_named_identity: '' }))).toBe('boss');
    expect(displayName(record({ session_name: 'x' }))).toBe('x');
    expect(displayName(record({}, { id: 'gc-7' }))).toBe('gc-7');
    expect(targetName(record(full))).toBe('boss');
    expect(targetName(record({ session_name: 'x' }))).toBe('x');
  });
});
