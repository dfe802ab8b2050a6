import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { BUILTIN_PRESETS } from './preset/presets.ts';
import { cityJsonSchema } from './schema/schema-city.ts';
import {
  COMMAND_FIELDS,
  PROMPT_FIELDS,
  SESSION_NAME_FIELDS,
  WORK_DIR_FIELDS,
} from './template/template-fields.ts';
import { loadOk } from './testing/scratch-city.ts';

const docs = readFileSync(new URL('../../docs/config.md', import.meta.url), 'utf8');

function keysOf(schema: unknown, found = new Set<string>()): ReadonlySet<string> {
  if (typeof schema !== 'object' || schema === null) return found;
  if ('properties' in schema && typeof schema.properties === 'object' && schema.properties !== null) {
    for (const key of Object.keys(schema.properties)) found.add(key);
  }
  for (const value of Object.values(schema)) keysOf(value, found);
  return found;
}

describe('docs/config.md', () => {
  it('names every key, every preset option and every template variable', () => {
    const options = Object.values(BUILTIN_PRESETS).flatMap((preset) => preset.optionsSchema ?? []);
    const words = [
      ...[...keysOf(cityJsonSchema())].filter((key) => key !== 'rig'),
      ...options.flatMap(({ key, choices }) => [key, ...choices.map(({ value }) => value)]),
      ...WORK_DIR_FIELDS,
      ...COMMAND_FIELDS,
      ...SESSION_NAME_FIELDS,
      ...PROMPT_FIELDS,
    ];
    expect(words.filter((word) => !new RegExp(`(?<![\\w-])${word}(?![\\w-])`).test(docs))).toEqual([]);
  });

  it('begins with an example that loads, and shows providers that do', async () => {
    const [example = '', providers = ''] = [...docs.matchAll(/```yaml\n([\s\S]*?)```/g)].map(
      (match) => match[1] ?? '',
    );
    const city = await loadOk({
      'city.yaml': example,
      'prompts/mayor.template.md': 'You are {{.AgentName}}.',
    });
    expect(city.namedSessions.map(({ identity }) => identity)).toEqual(['mayor', 'proj/reviewer']);
    const own = await loadOk({
      'city.yaml': `${providers}agents: [{name: a, provider: mine}, {name: b, provider: fast}]\n`,
    });
    expect(Object.keys(own.providers)).toEqual(['fast', 'mine']);
  });
});
