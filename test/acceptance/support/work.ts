import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type City, type Run, Stage } from './stage.ts';

/** Work, mail and events of a city, from outside of every session; no controller is needed for any of it. */
export function worksOnWork(run?: Run): void {
  describe('work', () => {
    let stage: Stage;
    let city: City;
    beforeAll(async () => {
      stage = new Stage(run);
      city = await stage.city('work', {
        'city.toml': [
          '[workspace]',
          'name = "work"',
          '',
          '[beads]',
          'provider = "file"',
          '',
          '[[agent]]',
          'name = "mayor"',
          'start_command = "sh run.sh"',
          '',
          '[[agent]]',
          'name = "worker"',
          'start_command = "sh run.sh"',
          'max_active_sessions = 3',
          '',
          '[[named_session]]',
          'template = "mayor"',
          'mode = "on_demand"',
          '',
        ].join('\n'),
        'run.sh': 'while :; do sleep 1; done\n',
        'formulas/mol-review.formula.toml': [
          'formula = "mol-review"',
          'description = "Look at it twice"',
          'version = 1',
          '',
          '[[steps]]',
          'id = "look"',
          'title = "Look"',
          '',
          '[[steps]]',
          'id = "again"',
          'title = "Look again"',
          'needs = ["look"]',
          '',
        ].join('\n'),
      });
    });
    afterAll(() => stage.dispose());

    /** Ids stand in the first column, below the header. */
    const firstId = (table: string): string => /^([a-z]{2,}-\d+)\b/m.exec(table)?.[1] ?? 'no id in it';
    const created = async (title: string): Promise<string> =>
      /^Created bead: (\S+)/m.exec(await city.ok(['bd', 'create', title]))?.[1] ?? '';

    describe('mail', () => {
      it('is sent, read, answered and put away', async () => {
        await city.ok(
          ['mail', 'send', 'mayor', '--from', 'human', '-s', 'Plans', '-m', 'Where are they?'],
          ['Sent message', 'to mayor'],
        );
        const inbox = await city.ok(['mail', 'inbox', 'mayor'], ['ID', 'FROM', 'SUBJECT', 'BODY', 'Plans']);
        const id = firstId(inbox);
        expect(id).toMatch(/^gc-\d+$/);
        await city.ok(['mail', 'check', 'mayor'], ['1 unread message(s) for mayor']);
        await city.ok(['mail', 'check', 'mayor', '--inject'], ['<system-reminder>']);
        await city.ok(['mail', 'peek', id], ['From:', 'human', 'Plans', 'Where are they?']);
        await city.ok(['mail', 'count', 'mayor'], ['1 total, 1 unread for mayor']);
        await city.ok(['mail', 'read', id], ['From:', 'Subject:', 'Where are they?']);
        await city.refused(['mail', 'check', 'mayor'], []).catch(() => undefined);
        expect((await city.gc(['mail', 'check', 'mayor'])).code).toBe(1);
        await city.ok(['mail', 'mark-unread', id], [`Marked ${id} as unread`]);
        await city.ok(['mail', 'mark-read', id], [`Marked ${id} as read`]);
        await city.ok(
          ['mail', 'reply', id, '-s', 'Here', '-m', 'On the shelf'],
          [`Replied to ${id}`, 'sent message'],
        );
        await city.ok(['mail', 'thread', id], ['Plans', 'Here']);
        await city.ok(['mail', 'archive', id], [`Archived message ${id}`]);
        await city.ok(['mail', 'archive', id], [`Already archived ${id}`]);
        await city.ok(['mail', 'inbox', 'mayor'], ['No unread messages for mayor']);
      });

      it('says what is missing', async () => {
        await city.refused(['mail', 'send'], ['usage']);
        await city.refused(['mail', 'send', 'nobody', 'text'], ['nobody']);
        for (const word of [
          'read',
          'peek',
          'reply',
          'mark-read',
          'mark-unread',
          'thread',
          'archive',
          'delete',
        ]) {
          await city.refused(['mail', word]);
        }
        await city.refused(['mail', 'delete', 'gc-99999']);
      });

      it('without a subject shows its text, and is known by an event', async () => {
        await city.ok(['mail', 'send', 'mayor', 'Only a text']);
        await city.ok(['mail', 'inbox', 'mayor'], ['Only a text']);
        await city.ok(['events', '--type', 'mail.sent'], ['mail.sent']);
      });
    });

    describe('handing out work', () => {
      it.each([
        [[], 'requires 1 or 2 arguments'],
        [['a', 'b', 'c'], 'requires 1 or 2 arguments'],
        [['mayor', 'gc-1', '--merge', 'squash'], 'must be direct, mr, or local'],
        [['mayor', 'gc-1', '--owned', '--no-convoy'], 'cannot use with --no-convoy'],
        [['mayor', 'gc-1', '--stdin'], '--stdin requires exactly 1 argument'],
        [['some words alone'], 'inline text requires explicit target'],
        [['nobody', 'some words'], 'not found'],
      ])('refuses gc sling %j', async (words, says) => {
        await city.refused(['sling', ...words], [says]);
      });

      it('changes nothing when it is only tried', async () => {
        const id = await created('try it');
        const before = city.read('.gc/beads.json');
        await city.ok(['sling', 'worker', id, '--dry-run'], ['No side effects executed', 'Target:']);
        expect(city.read('.gc/beads.json')).toBe(before);
      });

      it('says who has it then, and it is seen', async () => {
        const id = await created('do it');
        await city.ok(['sling', 'mayor', id], [`Slung ${id}`, 'mayor']);
        await city.ok(['bd', 'show', id], ['mayor']);
        // Its work query calls `bd`, which is the built program.
        if (run !== undefined) return;
        await city.ok(['hook', 'mayor'], [id]);
        await city.ok(['hook', 'mayor', '--inject'], ['<system-reminder>', id]);
      });
    });

    describe('work in a file', () => {
      it('is as other programs read it', async () => {
        const id = await created('in a file');
        const { seq, beads } = JSON.parse(city.read('.gc/beads.json')) as {
          seq: number;
          beads: { id: string; status: string; metadata?: Record<string, unknown> }[];
        };
        expect(beads.find((bead) => bead.id === id)).toMatchObject({ id: `gc-${seq}`, status: 'open' });
        const values = beads.flatMap((bead) => Object.values(bead.metadata ?? {}));
        expect(values.every((value) => typeof value === 'string')).toBe(true);
      });

      it('tells when it comes and goes', async () => {
        const id = await created('short');
        await city.ok(['bd', 'close', id]);
        await city.ok(['events', '--type', 'bead.created'], [id]);
        await city.ok(['events', '--type', 'bead.closed'], [id]);
      });
    });

    describe('convoys', () => {
      it('say what they need', async () => {
        await city.refused(['convoy', 'create'], ['missing convoy name']);
        for (const word of ['status', 'close', 'land']) {
          await city.refused(['convoy', word], ['missing convoy ID']);
        }
        await city.refused(['convoy', 'add', 'gc-1'], ['usage']);
        await city.refused(['convoy', 'target', 'gc-1'], ['usage']);
        await city.refused(['convoy', 'status', await created('no convoy')], ['not a convoy']);
      });

      it('go on by themselves until all is closed', async () => {
        const issues = [await created('first'), await created('second')] as const;
        const made = await city.ok(
          [
            'convoy',
            'create',
            'Release 2',
            ...issues,
            '--owner',
            'mayor',
            '--merge',
            'mr',
            '--target',
            'main',
          ],
          ['Created convoy', '"Release 2"', 'tracking 2 issue(s)'],
        );
        const id = /Created convoy (\S+)/.exec(made)?.[1] ?? '';
        await city.ok(['convoy', 'list'], [id, 'Release 2', '0/2 closed']);
        await city.ok(['convoy', 'stranded'], [id, issues[0]]);
        await city.ok(['convoy', 'target', id, 'next'], [`Set target of convoy ${id} to next`]);
        await city.ok(['bd', 'close', issues[0]]);
        await city.ok(['convoy', 'status', id], ['1/2 closed', 'mayor', 'mr', 'next', 'ASSIGNEE']);
        await city.ok(['convoy', 'check'], ['0 convoy(s) auto-closed']);
        await city.ok(['graph', id], [...issues]);
        await city.ok(['bd', 'close', issues[1]]);
        await city.ok(['convoy', 'status', id], ['2/2 closed', 'closed']);
        await city.ok(['events', '--type', 'convoy.closed'], [id]);
        expect(await city.ok(['convoy', 'list'])).not.toContain(id);
      });

      it('are closed by a look at all, when something else closed their work', async () => {
        const issue = await created('closed by another program');
        const made = await city.ok(['convoy', 'create', 'Elsewhere', issue]);
        const id = /Created convoy (\S+)/.exec(made)?.[1] ?? '';
        const file = JSON.parse(city.read('.gc/beads.json')) as { beads: { id: string; status: string }[] };
        for (const bead of file.beads) if (bead.id === issue) bead.status = 'closed';
        city.write('.gc/beads.json', JSON.stringify(file));
        await city.ok(
          ['convoy', 'check'],
          [`Auto-closed convoy ${id} "Elsewhere"`, '1 convoy(s) auto-closed'],
        );
      });

      it('are closed, and the owned ones land', async () => {
        const plain = /Created convoy (\S+)/.exec(await city.ok(['convoy', 'create', 'Plain']))?.[1] ?? '';
        await city.refused(['convoy', 'land', plain], ['not owned']);
        await city.ok(['convoy', 'close', plain], [`Closed convoy ${plain}`]);
        expect(await city.ok(['convoy', 'list'])).not.toContain(plain);

        const issue = await created('of the owned one');
        const made = await city.ok(['convoy', 'create', 'Mine', '--owned']);
        const owned = /Created convoy (\S+)/.exec(made)?.[1] ?? '';
        await city.ok(['convoy', 'status', owned], ['owned']);
        await city.ok(['convoy', 'add', owned, issue], [`Added ${issue} to convoy ${owned}`]);
        await city.refused(['convoy', 'land', owned], [issue, 'Use --force to land anyway']);
        await city.ok(['convoy', 'land', owned, '--force', '--dry-run'], ['Would land']);
        await city.ok(['convoy', 'land', owned, '--force'], [`Landed convoy ${owned} "Mine"`]);
        await city.ok(['convoy', 'list'], ['No open convoys']);
      });
    });

    describe('events', () => {
      it('of anybody are kept and found', async () => {
        await city.ok(['event', 'emit', 'deploy.done', '--message', 'release 2', '--subject', 'shop']);
        await city.ok(['event', 'emit', 'deploy.done', '--payload', 'not json'], ['payload']);
        await city.ok(['events'], ['deploy.done', 'release 2', 'SEQ']);
        await city.ok(['events', '--type', 'deploy.done', '--since', '1m'], ['deploy.done']);
        await city.ok(['events', '--type', 'no.such'], ['No events.']);
        expect(await city.ok(['events', '--seq'])).toMatch(/^\d+\n$/);
        const [event] = await city.json<{ type: string; message: string }[]>([
          'events',
          '--type',
          'deploy.done',
          '--json',
        ]);
        expect(event).toMatchObject({ type: 'deploy.done', message: 'release 2', subject: 'shop' });
      });

      it('that do not come are no failure', async () => {
        const { code, out, err } = await city.gc([
          'events',
          '--watch',
          '--type',
          'never',
          '--timeout',
          '300ms',
        ]);
        expect([code, out, err]).toEqual([0, '', '']);
      });
    });

    describe('formulas and orders', () => {
      it('are shown', async () => {
        await city.ok(['formula', 'list'], ['mol-review']);
        await city.ok(['formula', 'show', 'mol-review'], ['Formula:', 'Steps', 'Look again']);
        await city.refused(['formula', 'show', 'mol-none']);
        expect(await city.ok(['order', 'list'])).toMatch(/NAME|No orders/);
        await city.refused(['order', 'show', 'none']);
        await city.refused(['order', 'run', 'none']);
      });
    });
  });
}
