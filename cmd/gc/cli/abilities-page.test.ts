import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { BUILTIN_PRESETS } from '../../../internal/config/preset/presets.ts';
import { PROGRAM_ABILITIES } from '../../../internal/config/preset/program-abilities.ts';
import { profileOf } from '../../../internal/runtime/profiles.ts';
import { withAbilities } from './abilities-page.ts';

const page = (): string => readFileSync(new URL('../../../docs/agents.md', import.meta.url), 'utf8');

describe('the table of programs in docs/agents.md', () => {
  it('is up to date (npm run docs)', () => {
    expect(page()).toBe(withAbilities(page()));
  });

  it('needs a place', () => {
    expect(() => withAbilities('# Agents\n')).toThrow('the page lacks');
  });

  it.each(Object.entries(PROGRAM_ABILITIES))(
    'says of %s what its preset and its profile allow',
    (name, can) => {
      const preset = BUILTIN_PRESETS[name];
      expect(can.start).toBe(preset?.promptMode === 'none' ? 'typed' : 'argument');
      expect(can.resume).toBe(preset?.sessionIdFlag ? 'given-key' : preset?.resumeFlag ? 'own-key' : 'no');
      // Without a known input box nothing tells whether a message arrived.
      expect(profileOf(name).composer !== undefined).toBe(can.nudge);
    },
  );
});
