import { describe, expect, it } from 'vitest';
import { UsageError } from '../cli/input.ts';
import { parse } from '../cli/parser.ts';
import { groups } from '../table/table.ts';
import { createRequest, listQuery, readyFilter, updatePatch, verbOf } from './request.ts';
import { BD_OPTIONS, EVERYWHERE, VERBS } from './verbs.ts';

function inputOf(...words: readonly string[]) {
  const parsed = parse(groups, ['bd', ...words]);
  if (parsed.kind !== 'run') throw new Error(`not run: ${JSON.stringify(parsed)}`);
  return parsed.input;
}

describe('the verbs', () => {
  it('name only options that exist, and every option has a verb', () => {
    const known = BD_OPTIONS.map(({ name }) => name);
    const used = new Set([...EVERYWHERE, ...VERBS.flatMap(({ options }) => options)]);
    expect([...used].filter((name) => !known.includes(name))).toEqual([]);
    expect(known.filter((name) => !used.has(name))).toEqual([]);
  });

  it('refuse options of others', () => {
    expect(() => verbOf(inputOf('close', 'a-1', '--status', 'open'), 'close')).toThrow(
      'close does not take --status',
    );
    expect(() => verbOf(inputOf('ready', '--claim'), 'ready')).toThrow('ready does not take --claim');
    expect(verbOf(inputOf('list', '--json', '--rig', 'x', '-n', '0'), 'list').name).toBe('list');
  });

  it('that are unknown name what is meant', () => {
    expect(() => verbOf(inputOf('mol', 'burn'), 'mol')).toThrow(UsageError);
    expect(() => verbOf(inputOf('raedy'), 'raedy')).toThrow('did you mean "ready"?');
  });
});

describe('create', () => {
  it('takes the title as words or as an option, and everything else', () => {
    expect(createRequest(inputOf('create', 'Parse', 'dates')).bead).toMatchObject({
      title: 'Parse dates',
      priority: 2,
    });
    const words = ['--title', 'T', '-t', 'bug', '-p', 'P0', '-d', '- text', '--parent', 'a-1', '-a', 'me'];
    const more = [
      '-l',
      'x,y',
      '--labels',
      'y,z',
      '--deps',
      'a-2,related:a-3',
      '--metadata',
      '{"k":1,"l":{"m":2}}',
    ];
    expect(createRequest(inputOf('create', ...words, ...more))).toEqual({
      bead: {
        title: 'T',
        issue_type: 'bug',
        priority: 0,
        description: '- text',
        parent: 'a-1',
        assignee: 'me',
        notes: '',
        labels: ['x', 'y', 'z'],
        metadata: { k: '1', l: '{"m":2}' },
      },
      needs: [
        { depends_on_id: 'a-2', type: 'blocks' },
        { depends_on_id: 'a-3', type: 'related' },
      ],
    });
  });

  it.each([
    [['create'], 'create needs a title'],
    [['create', 'a', '--title', 'b'], 'the title is given twice'],
    [['create', 'a', '-p', '5'], 'the priority is 0 to 4'],
    [['create', 'a', '-p', 'high'], 'the priority is 0 to 4'],
    [['create', 'a', '--metadata', '[1]'], '--metadata wants a JSON object'],
    [['create', 'a', '--metadata', '{"a'], '--metadata wants a JSON object'],
    [['create', 'a', '--deps', 'blocks:'], '--deps wants id or type:id'],
    [['create', 'a', '-t', 'session'], 'made by the city alone'],
  ])('refuses %j', (words, message) => {
    expect(() => createRequest(inputOf(...words))).toThrow(message);
  });
});

describe('update', () => {
  it('changes what is named only', () => {
    expect(updatePatch(inputOf('update', 'a-1'))).toEqual({});
    expect(updatePatch(inputOf('update', 'a-1', '--assignee', ''))).toEqual({ assignee: '' });
    expect(updatePatch(inputOf('update', 'a-1', '--assignee='))).toEqual({ assignee: '' });
    expect(updatePatch(inputOf('update', 'a-1', '--no-assignee'))).toEqual({ assignee: '' });
    expect(updatePatch(inputOf('update', 'a-1', '-s', 'open', '--add-label', 'x', '--notes', 'n'))).toEqual({
      status: 'open',
      addLabels: ['x'],
      notes: 'n',
    });
  });

  it('merges metadata: the object first, single keys after it', () => {
    const words = [
      '--metadata',
      '{"a":"1","b":null}',
      '--set-metadata',
      'a=2=3',
      '--set-metadata',
      'c=',
      '--unset-metadata',
      'd',
    ];
    expect(updatePatch(inputOf('update', 'a-1', ...words))).toEqual({
      metadata: { a: '2=3', b: '', c: '', d: '' },
    });
  });

  it.each([
    [['--status', 'blocked'], 'the status is open, in_progress, closed, not "blocked"'],
    [['--set-metadata', 'branch'], '--set-metadata wants key=value, not "branch"'],
    [['--metadata', '{"":"x"}'], '--metadata has an empty key'],
    [['--title', ' \n'], 'the title is empty'],
    [['--type', 'two words'], 'the type is one word, not "two words"'],
    [['--add-label', 'one\ntwo'], 'a label has no line ends'],
  ])('refuses %j', (words, message) => {
    expect(() => updatePatch(inputOf('update', 'a-1', ...words))).toThrow(message);
  });
});

describe('the filters', () => {
  it('of ready are those of the default work query', () => {
    const words = ['--metadata-field', 'gc.routed_to=rig/worker', '--unassigned', '--json', '--limit=1'];
    expect(readyFilter(inputOf('ready', ...words))).toEqual({
      metadata: { 'gc.routed_to': 'rig/worker' },
      assignee: '',
      limit: 1,
      sort: 'priority',
    });
    expect(readyFilter(inputOf('ready'))).toEqual({ limit: 100, sort: 'priority' });
  });

  it('of list hide what is not work unless its type is named', () => {
    expect(listQuery(inputOf('list')).notTypes).toEqual(
      expect.arrayContaining(['session', 'message', 'gate']),
    );
    expect(listQuery(inputOf('list', '--type=session'))).toMatchObject({ type: 'session' });
    expect(listQuery(inputOf('list', '--type=session')).notTypes).toBeUndefined();
    expect(listQuery(inputOf('list', '--include-infra')).notTypes).toEqual(['gate']);
  });

  it('of list take states and times', () => {
    expect(listQuery(inputOf('list', '--status', 'open,in_progress')).statuses).toEqual([
      'open',
      'in_progress',
    ]);
    expect(listQuery(inputOf('list', '--all')).includeClosed).toBe(true);
    expect(listQuery(inputOf('list', '--status=all'))).toMatchObject({ includeClosed: true });
    expect(listQuery(inputOf('list', '--closed-after', '2026-01-31T12:00:00+01:00')).closedAfter).toBe(
      Date.UTC(2026, 0, 31, 11),
    );
    expect(() => listQuery(inputOf('list', '--closed-after', 'yesterday'))).toThrow(
      '--closed-after wants a time',
    );
    expect(() => listQuery(inputOf('list', '--assignee', 'a', '-u'))).toThrow('exclude each other');
    expect(() => listQuery(inputOf('list', '--limit', 'x'))).toThrow('--limit must be a whole number');
  });
});
