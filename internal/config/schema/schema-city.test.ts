import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { cityJsonSchema } from './schema-city.ts';

describe('docs/city-schema.json', () => {
  it('is what the loader checks; after a change run: npm run docs', () => {
    const committed = readFileSync(new URL('../../../docs/city-schema.json', import.meta.url), 'utf8');
    expect(committed).toBe(`${JSON.stringify(cityJsonSchema(), null, 2)}\n`);
  });

  it('knows both spellings and forbids unknown keys', () => {
    const schema = cityJsonSchema();
    expect(schema).toMatchObject({
      additionalProperties: false,
      $schema: 'https://json-schema.org/draft/2020-12/schema',
    });
    for (const key of [
      'agent',
      'agents',
      'named_session',
      'named_sessions',
      'rigs',
      'providers',
      'workspace',
    ]) {
      expect(schema['properties']).toHaveProperty(key);
    }
    expect(schema['$defs']).toHaveProperty('AgentManifest');
    const open = JSON.stringify(schema).match(/"type":"object","properties"/g) ?? [];
    const closed = JSON.stringify(schema).match(/"additionalProperties":false/g) ?? [];
    expect(closed.length).toBe(open.length);
  });
});
