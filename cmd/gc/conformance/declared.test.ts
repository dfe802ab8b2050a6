import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ALL_ABILITIES } from '../../../conformance/provider/abilities.ts';
import { PROVIDER_CASES } from '../../../conformance/provider/suite.ts';
import { ACP_LACKS } from '../../../conformance/provider/testing/acp-subject.ts';
import { renderCapabilities } from './capabilities-page.ts';
import { JUDGED, LACKS, lacksOf } from './declared.ts';

describe('what providers are said to offer', () => {
  it('docs/capabilities.md says it too (npm run docs)', () => {
    expect(readFileSync(join(import.meta.dirname, '../../../docs/capabilities.md'), 'utf8')).toBe(
      renderCapabilities(),
    );
  });

  it('is what their tests run with', () => {
    expect([...lacksOf('acp')].sort()).toEqual([...ACP_LACKS].sort());
  });

  it('leaves nothing out without a reason', () => {
    for (const kind of JUDGED)
      for (const ability of lacksOf(kind)) expect(LACKS[kind][ability]?.length).toBeGreaterThan(10);
  });

  it('is judged: every ability has a case', () => {
    const needed = new Set(PROVIDER_CASES.flatMap(({ needs }) => needs));
    expect(ALL_ABILITIES.filter((each) => !needed.has(each))).toEqual([]);
  });
});
