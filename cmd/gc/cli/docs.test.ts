import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { allCommands, groups } from '../table/table.ts';
import { renderCliDocs } from './docs.ts';

describe('docs/cli.md', () => {
  it('is up to date (npm run docs)', () => {
    const file = new URL('../../../docs/cli.md', import.meta.url);
    expect(readFileSync(file, 'utf8')).toBe(renderCliDocs(groups));
  });

  it('has every command that is not hidden', () => {
    const text = renderCliDocs(groups);
    for (const spec of allCommands) {
      expect(text.includes(`### gc ${spec.path}\n`), spec.path).toBe(spec.hidden !== true);
    }
  });
});
