import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { agentNames, loadToml, sessionNames } from './testing/scratch-packs.ts';

const docs = readFileSync(new URL('../../docs/packs.md', import.meta.url), 'utf8');

describe('docs/packs.md', () => {
  it('shows a pack that loads, without a warning or a note', async () => {
    const section = docs.slice(docs.indexOf('## Writing a pack'), docs.indexOf('## Commands'));
    const files = [...section.matchAll(/^`([^`\n]+)`:\n\n```\w+\n([\s\S]*?)```$/gm)].map(
      ([, name = '', text = '']) => [`review/${name}`, text] as const,
    );
    const { result } = await loadToml(
      `[workspace]
start_command = "sh"
[imports.review]
source = "review"
[[rigs]]
name = "proj"
path = "."
[rigs.imports.review]
source = "review"
`,
      Object.fromEntries(files),
    );
    if (result.kind !== 'ok') throw new Error(result.problems.map(({ message }) => message).join('\n'));
    const { city } = result;
    expect([...city.warnings, ...city.notes]).toEqual([]);
    expect(agentNames(city)).toEqual(['review.lead', 'proj/review.reader']);
    expect(sessionNames(city)).toEqual(['review.lead always']);
    expect(city.commands.map(({ binding, words }) => [binding, ...words])).toEqual([['review', 'open']]);
    expect(city.agents[1]?.promptTemplate).toBe(`${city.root}/review/agents/reader/prompt.template.md`);
  });
});
