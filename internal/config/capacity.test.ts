import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  allowsGeneric,
  instanceName,
  isPool,
  limitOf,
  resolvedMax,
  supportsExpansion,
  supportsMultiple,
} from './capacity.ts';
import type { City } from './city.ts';
import { scaleCheckOf } from './default-commands.ts';

const sized = (max: number | undefined, namepoolNames: readonly string[] = []) => ({
  maxActiveSessions: max,
  namepoolNames,
});

type Pooled = Parameters<typeof isPool>;

const namedCity = (...templates: readonly string[]) =>
  ({
    namedSessions: templates.map((templateQualifiedName) => ({ templateQualifiedName })),
  }) as unknown as Pooled[0];

const pooled = (over: object) =>
  ({
    qualifiedName: 'worker',
    maxActiveSessions: 1,
    minActiveSessions: 0,
    scaleCheck: '',
    namepoolNames: [],
    ...over,
  }) as unknown as Pooled[1];

describe('how many sessions an agent may have', () => {
  it.each([
    [undefined, true, true, true],
    [-1, true, true, true],
    [0, false, true, false],
    [1, true, false, false],
    [2, true, true, true],
  ])('max %s', (max, generic, multiple, expansion) => {
    const agent = sized(max);
    expect([allowsGeneric(agent), supportsMultiple(agent), supportsExpansion(agent)]).toEqual([
      generic,
      multiple,
      expansion,
    ]);
  });

  it('a name pool makes several of one', () => {
    expect(supportsMultiple(sized(1, ['tom']))).toBe(true);
    expect(supportsExpansion(sized(1, ['tom']))).toBe(true);
  });

  it('is the agent’s own number, else its rig’s, else the city’s', () => {
    const city = (rig: number | undefined, all: number | undefined) =>
      ({
        rigs: [{ name: 'R', maxActiveSessions: rig }],
        workspace: { maxActiveSessions: all },
      }) as unknown as City;
    const inRig = (max: number | undefined) => ({ dir: 'R', maxActiveSessions: max });
    expect(resolvedMax(city(3, 4), inRig(2))).toBe(2);
    expect(resolvedMax(city(3, 4), inRig(undefined))).toBe(3);
    expect(resolvedMax(city(undefined, 4), inRig(undefined))).toBe(4);
    expect(resolvedMax(city(3, undefined), { dir: '', maxActiveSessions: undefined })).toBeUndefined();
    expect(resolvedMax(city(3, 4), inRig(-1))).toBeUndefined();
    expect(limitOf(0)).toBe(0);
  });
});

describe('a pool', () => {
  it.each<[string, object, readonly string[], boolean]>([
    ['several sessions', { maxActiveSessions: 3 }, ['worker'], true],
    ['no limit', { maxActiveSessions: undefined }, [], true],
    ['names to give', { namepoolNames: ['ann'] }, [], true],
    ['one session and nothing that asks for it', {}, [], false],
    ['one session and a floor', { minActiveSessions: 1 }, [], true],
    ['one session and a command that counts', { scaleCheck: 'echo 1' }, [], true],
    ['one session that is a named one', { scaleCheck: 'echo 1', minActiveSessions: 1 }, ['worker'], false],
    ['no session', { maxActiveSessions: 0, minActiveSessions: 1 }, [], false],
  ])('with %s', (_, over, named, isOne) => {
    expect(isPool(namedCity(...named), pooled(over))).toBe(isOne);
  });
});

it('instances are named from the pool, then numbered, in the folder and binding of their agent', () => {
  const agent = { name: 'cat', dir: 'R', binding: 'b', namepoolNames: ['tom'] };
  expect(instanceName(agent, 1)).toBe('R/b.tom');
  expect(instanceName(agent, 2)).toBe('R/b.cat-2');
});

describe('the default scale check', () => {
  it('adds up what waits, whatever a part prints, without further programs', () => {
    const dir = mkdtempSync(join(tmpdir(), 'gc-bd-'));
    try {
      const bead = (id: string) =>
        JSON.stringify({ id, title: 'say "id": now', dependencies: [{ issue_id: id }] });
      const script = [
        '#!/bin/sh',
        `case "$*" in`,
        `  ready*gc.routed_to=R/polecat*--unassigned*) echo '[${bead('a-1')},${bead('a-2')}]';;`,
        `  *--status=in_progress*) echo '[{ "id" : "a-3" }]';;`,
        '  *molecule*) echo broken >&2; exit 1;;',
        'esac',
        '',
      ];
      writeFileSync(join(dir, 'bd'), script.join('\n'));
      chmodSync(join(dir, 'bd'), 0o755);
      const command = scaleCheckOf({ scaleCheck: '', qualifiedName: 'R/polecat' });
      const env = { PATH: [dir, process.env['PATH']].join(delimiter) };
      expect(execFileSync('/bin/sh', ['-c', command], { env }).toString().trim()).toBe('3');
      const none = { PATH: '/usr/bin:/bin' };
      expect(execFileSync('/bin/sh', ['-c', command], { env: none }).toString().trim()).toBe('0');
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });

  it('is the agent’s own command where it has one', () => {
    expect(scaleCheckOf({ scaleCheck: 'echo 3', qualifiedName: 'a' })).toBe('echo 3');
  });
});
