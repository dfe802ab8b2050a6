import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FileBeadTable, FileBeadView } from './bead-table.ts';
import { type BeadDocument, documentText, parseDocument } from './document.ts';
import { MirrorTable } from './mirror-table.ts';

const NOW = Date.parse('2026-02-03T04:05:06.789Z');
const FILE = '/c/.gc/beads.json';

const parse = (value: unknown): BeadDocument => parseDocument(JSON.stringify(value), FILE);
const written = (document: BeadDocument) =>
  JSON.parse(documentText(document)) as Record<string, unknown> & { beads: Record<string, unknown>[] };
const rawOf = (table: FileBeadTable, id: string) =>
  written(table.result).beads.find((raw) => raw['id'] === id);

describe('a bead file', () => {
  it('is written in the published layout', () => {
    const table = new FileBeadTable(parse({ seq: 4, beads: [] }), NOW);
    const { id } = table.create({
      title: 'a',
      assignee: 'me',
      labels: ['x'],
      needs: ['waits-for:gc-2'],
      metadata: { k: 'v' },
    });
    expect(written(table.result)).toEqual({
      seq: 5,
      beads: [
        {
          id: 'gc-5',
          title: 'a',
          status: 'open',
          issue_type: 'task',
          created_at: '2026-02-03T04:05:06.789Z',
          assignee: 'me',
          needs: ['waits-for:gc-2'],
          labels: ['x'],
          metadata: { k: 'v', 'gc.updated_at': '2026-02-03T04:05:06.789Z' },
        },
      ],
      deps: [{ issue_id: id, depends_on_id: 'gc-2', type: 'waits-for' }],
    });
    expect(documentText(table.result)).toContain('\n  "beads": [\n');
  });

  it('keeps what others put there, wherever it stands', () => {
    const document = parse({
      seq: 2,
      beads: [
        { id: 'gc-1', title: 'a', status: 'open', estimate: 3, metadata: { n: 7, yes: true } },
        'no bead',
        { title: 'without an id' },
        { id: 'gc-1', title: 'again' },
      ],
      deps: [7, { issue_id: 'gc-1', depends_on_id: 'gc-9', type: 'related', since: 'x' }, 'odd'],
      theirs: { a: [1] },
    });
    const table = new FileBeadTable(document, NOW);
    table.update('gc-1', { title: 'b' });
    const after = written(table.result);
    expect(after['theirs']).toEqual({ a: [1] });
    expect(after['deps']).toEqual([
      { issue_id: 'gc-1', depends_on_id: 'gc-9', type: 'related', since: 'x' },
      7,
      'odd',
    ]);
    expect(after.beads).toHaveLength(4);
    // Text only: the original's reader takes nothing else.
    expect(rawOf(table, 'gc-1')).toMatchObject({
      title: 'b',
      estimate: 3,
      metadata: { n: '7', yes: 'true' },
    });
    expect(written(document).beads[0]).toMatchObject({ title: 'a', metadata: { n: 7 } });
  });

  it.each(['beads', 'deps'])('is refused when its %s are no list', (key) => {
    expect(() => parse({ seq: 1, [key]: { a: 1 } })).toThrow(`"${key}" is not a list`);
    expect(parse({ seq: 1, [key]: null }).seq).toBe(1);
  });

  it('gives no number that a bead has, whatever the file counts', () => {
    const table = new FileBeadTable(parse({ seq: 1, beads: [{ id: 'gc-41', title: 'x' }] }), NOW);
    expect(table.create({ title: 'y' }).id).toBe('gc-42');
  });

  it('has no place for a state of others but as work that nobody begins', () => {
    const view = new FileBeadView(parse({ beads: [{ id: 'gc-1', title: 'x', status: 'deferred' }] }));
    expect(view.get('gc-1').status).toBe('in_progress');
    expect(view.ready()).toEqual([]);
    const table = new FileBeadTable(parse({ beads: [{ id: 'gc-1', title: 'x', status: 'deferred' }] }), NOW);
    table.update('gc-1', { title: 'y' });
    expect(rawOf(table, 'gc-1')).toMatchObject({ status: 'deferred', title: 'y' });
  });

  it('hides what it keeps in metadata, and lets nobody write there', () => {
    const table = new FileBeadTable(parse({}), NOW);
    const { id } = table.create({ title: 'a', notes: 'half done' });
    table.addComment(id, { author: 'me', text: 'why?' });
    table.close(id, { close_reason: 'done' });
    expect(table.get(id)).toMatchObject({
      notes: 'half done',
      closed_at: '2026-02-03T04:05:06.789Z',
      metadata: { close_reason: 'done' },
    });
    expect(Object.keys(table.get(id).metadata)).toEqual(['close_reason']);
    for (const key of ['gc.notes', 'gc.comments', 'gc.updated_at', 'gc.closed_at']) {
      expect(() => table.update(id, { metadata: { [key]: 'x' } })).toThrow(key);
      expect(() => table.create({ title: 'b', metadata: { [key]: 'x' } })).toThrow(key);
    }
    expect(table.update(id, { status: 'open', notes: '' }).notes).toBeUndefined();
    expect(table.get(id).closed_at).toBeUndefined();
  });

  it('sorts by moments, not by how they are written', () => {
    const beads = [
      { id: 'gc-1', title: 'late', created_at: '2026-01-01T12:00:00.5Z' },
      { id: 'gc-2', title: 'early', created_at: '2026-01-01T12:30:00.123456789+01:00' },
      { id: 'gc-3', title: 'unknown', created_at: 'yesterday' },
    ];
    const found = new FileBeadView(parse({ beads })).list({ type: 'task', sort: 'created_asc' });
    expect(found.map(({ title }) => title)).toEqual(['unknown', 'early', 'late']);
  });

  it('counts along where a later version of the original counts', () => {
    const table = new FileBeadTable(
      parse({ beads: [{ id: 'gc-1', title: 'a' }], revisions: { 'gc-1': 5, 'gc-2': 1 } }),
      NOW,
    );
    table.update('gc-1', { title: 'b' });
    expect(written(table.result)['revisions']).toEqual({ 'gc-1': 6, 'gc-2': 1 });
  });

  it.each([
    ['', 'JSON'],
    ['[]', 'no JSON object'],
    ['{"beads": {}}', '"beads" is not a list'],
    ['{"beads": [', 'JSON'],
  ])('is refused when it is none: %s', (text, why) => {
    expect(() => parseDocument(text, FILE)).toThrow(why);
    expect(() => parseDocument(text, FILE)).toThrow(FILE);
  });

  it('comes back as it was, whatever JSON it holds', () => {
    fc.assert(
      fc.property(
        fc.record({
          seq: fc.nat(),
          beads: fc.array(fc.oneof(fc.jsonValue(), fc.record({ id: fc.string(), title: fc.jsonValue() }))),
          more: fc.jsonValue(),
        }),
        (root) => {
          const document = parse(root);
          const again = parseDocument(documentText(document), FILE);
          expect(documentText(again)).toBe(documentText(document));
          const count = (value: unknown) => JSON.stringify(value);
          const before = (JSON.parse(JSON.stringify(root)) as typeof root).beads.map(count).toSorted();
          expect(written(document).beads.map(count).toSorted()).toEqual(before);
          expect(() => new FileBeadView(document).list({ allowScan: true })).not.toThrow();
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('copies of records', () => {
  const session = (id: string, title: string, metadata: Record<string, string> = {}) => ({
    id,
    title,
    status: 'open' as const,
    issue_type: 'session',
    created_at: '2026-01-01T00:00:00Z',
    labels: ['gc:session'],
    metadata,
  });

  it('follow the records, and leave the beads of others alone', () => {
    const first = new MirrorTable(parse({ seq: 9, beads: [{ id: 'gc-s2', title: 'a task' }] }), NOW);
    const records = [
      session('gc-s1', 'a', { instance_token: 'secret', alias: 'x' }),
      session('gc-s2', 'b'),
      session('gc-s3', 'c'),
    ];
    expect(first.mirror(records)).toBe(2);
    expect(rawOf(first, 'gc-s1')).toMatchObject({ issue_type: 'session', metadata: { alias: 'x' } });
    expect(documentText(first.result)).not.toContain('secret');
    expect(first.get('gc-s2').title).toBe('a task');
    expect(first.ready().map(({ id }) => id)).toEqual(['gc-s2']);

    const same = new MirrorTable(first.result, NOW + 1_000);
    expect(same.mirror(records)).toBe(0);
    expect(same.isChanged).toBe(false);

    const next = new MirrorTable(first.result, NOW);
    expect(next.mirror([session('gc-s3', 'renamed')])).toBe(2);
    expect(next.list({ allowScan: true }).map(({ id, title }) => [id, title])).toEqual([
      ['gc-s2', 'a task'],
      ['gc-s3', 'renamed'],
    ]);
    expect(written(next.result)['seq']).toBe(9);
  });
});
