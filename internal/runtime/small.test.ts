import { describe, expect, it } from 'vitest';
import { beaconPrompt, formatBeacon } from './beacon.ts';
import { flattenContent, textContent } from './content-blocks.ts';
import { assertSessionName } from './name-rule.ts';
import type { ContentBlock } from './provider.ts';

describe('formatBeacon', () => {
  const at = new Date(2026, 0, 31, 9, 5, 7).getTime();

  it('is city, agent, bullet, local time', () => {
    expect(formatBeacon('bright', 'rig/polecat', at)).toBe('[bright] rig/polecat • 2026-01-31T09:05:07');
  });

  it('tells an agent without hooks to prime itself', () => {
    expect(formatBeacon('c', 'a', at, true)).toBe(
      '[c] a • 2026-01-31T09:05:07\n\nRun `gc prime` to initialize your context.',
    );
  });

  it('goes before the prompt', () => {
    expect(beaconPrompt('B', 'P')).toBe('B\n\nP');
    expect(beaconPrompt('B', '')).toBe('B');
  });
});

describe('flattenContent', () => {
  it('joins texts and names files', () => {
    const content: ContentBlock[] = [
      { type: 'text', text: 'a' },
      { type: 'text', text: '' },
      { type: 'file_path', path: '/x/y.txt' },
      { type: 'file_path', path: '' },
    ];
    expect(flattenContent(content)).toBe('a\n[File: y.txt]');
  });

  it('is empty for nothing', () => {
    expect(flattenContent([])).toBe('');
    expect(flattenContent(textContent(''))).toBe('');
  });

  it('takes a block of a later version for text', () => {
    const unknown: unknown = { type: 'image', text: 'alt' };
    expect(flattenContent([unknown as ContentBlock, { type: 'text', text: 'b' }])).toBe('alt\nb');
    const bare: unknown = { type: 'image' };
    expect(flattenContent([bare as ContentBlock])).toBe('');
  });
});

describe('assertSessionName', () => {
  it('takes letters, digits, underscore and dash only', () => {
    for (const good of ['a', 'A-1_b', 'x'.repeat(200)]) expect(() => assertSessionName(good)).not.toThrow();
    for (const bad of ['', 'a.b', 'a b', 'a\n', 'é', 'x'.repeat(201)])
      expect(() => assertSessionName(bad)).toThrow('invalid session name');
  });
});
