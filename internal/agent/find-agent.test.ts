import { describe, expect, it } from 'vitest';
import { loadOk } from '../config/testing/scratch-city.ts';
import { findAgent } from './find-agent.ts';

const CITY = `workspace: { name: t }
agents:
  - { name: mayor, start_command: x, max_active_sessions: 1 }
  - { name: dog, start_command: x, max_active_sessions: 3 }
  - { name: polecat, start_command: x, dir: api }
  - { name: polecat, start_command: x, dir: web, max_active_sessions: 2 }
named_sessions: [{ template: mayor, name: chief, mode: always }]
rigs: [{ name: api, path: api }, { name: web, path: web }]
`;

describe('the agent that a word means', () => {
  it.each([
    ['mayor', '', 'mayor', 'mayor'],
    ['chief', '', 'mayor', 'chief'],
    ['dog-3', '', 'dog', 'dog-3'],
    ['dog-4', '', undefined, undefined],
    ['dog-0', '', undefined, undefined],
    ['mayor-1', '', undefined, undefined],
    ['polecat', '', undefined, undefined],
    ['polecat', 'web', 'web/polecat', 'web/polecat'],
    ['mayor', 'web', 'mayor', 'mayor'],
    ['web/polecat-2', '', 'web/polecat', 'web/polecat-2'],
    ['web/polecat-3', '', undefined, undefined],
    ['api/polecat-77', '', 'api/polecat', 'api/polecat-77'],
    ['polecat-77', '', 'api/polecat', 'api/polecat-77'],
    ['nobody', '', undefined, undefined],
  ])('%s in rig "%s"', async (word, rig, template, identity) => {
    const found = findAgent(await loadOk({ 'city.yaml': CITY }), word, rig);
    expect([found?.agent.qualifiedName, found?.identity]).toEqual([template, identity]);
  });
});
