import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type City, type Run, Stage } from './stage.ts';

type Words = readonly [line: string, says: string];

const each = (
  words: readonly Words[],
  check: (args: string[], says: readonly string[]) => Promise<unknown>,
) => Promise.all(words.map(([line, says]) => check(line.split(' '), says === '' ? [] : [says])));

/** What scripts look for in what the program says, of a city that was never started. */
export function saysTheWords(run?: Run): void {
  describe('the words of the program', () => {
    let stage: Stage;
    let city: City;
    beforeAll(async () => {
      stage = new Stage(run);
      city = await stage.init('words');
    });
    afterAll(() => stage.dispose());

    describe('the program', () => {
      it('tells its version and its commands', async () => {
        expect((await stage.ok(['version'])).trim()).not.toBe('');
        await stage.ok(['version', '--long'], ['commit:', 'built:']);
        const help = ['init', 'start', 'stop', 'status', 'rig', 'config', 'version'];
        expect(await stage.ok(['--help'], help)).toBe(await stage.ok([]));
      });

      it('names what it does not know', async () => {
        await stage.refused(['no-such-command'], ['gc: unknown command "no-such-command"']);
        await stage.refused(['status', '--no-such-option'], ['--no-such-option']);
      });

      it.each([
        ['agent', 'add'],
        ['beads', 'health'],
        ['convoy', 'create, list, status, target, add, close, check, stranded, land'],
        ['event', 'emit'],
        ['mail', 'archive, check, count, delete, inbox'],
        ['order', 'list'],
        ['rig', 'add'],
        ['service', 'list, doctor, restart'],
        ['session', 'new, list, attach'],
      ])('gc %s alone and with a wrong word is an error', async (group, words) => {
        const [bare] = await Promise.all([
          city.refused([group], ['missing subcommand', `gc ${group}:`]),
          city.refused([group, 'bogus'], ['unknown subcommand "bogus"']),
        ]);
        for (const word of words.split(', ')) expect(bare).toContain(word);
      });

      it.each([
        'config',
        'supervisor',
        'nudge',
        'runtime',
        'trace',
        'pack',
        'formula',
        'import',
        'converge',
        'skill',
      ])('gc %s alone is not a crash', async (group) => {
        const { all } = await city.gc([group]);
        expect(all).toMatch(/usage|missing/i);
      });
    });

    describe('outside of a city', () => {
      it('every command that needs one fails, in one way', async () => {
        const lines = [
          'status',
          'stop',
          'restart',
          'session list',
          'nudge status test',
          'service list',
          'wait list',
          'graph gc-1',
          'convoy list',
          'converge list',
          'beads health',
          'mail inbox',
          'rig list',
          'agent list',
          'config show',
          'pack list',
          'order list',
          'formula list',
          'suspend',
          'events',
          'trace status',
          'doctor',
          'hook mayor',
        ];
        await each(
          lines.map((line) => [line, ''] as const),
          (args) => stage.refused(args),
        );
      });

      it('an agent is told something all the same, and an event is no failure', async () => {
        await stage.ok(['prime', 'whoever'], ['# Gas City Agent', 'bd ready', 'bd show', 'bd close']);
        await stage.ok(['event', 'emit', 'x.y'], ['not recorded']);
      });
    });

    describe('a city that was never started', () => {
      it('is seen as it is', async () => {
        await city.ok(
          ['status', city.dir],
          [city.dir, 'Controller: stopped', 'Suspended:  no', 'Agents:', 'agents running'],
        );
        expect(await city.ok(['status', '--json', city.dir])).toMatch(/^\{/);
        await city.ok(['session', 'list'], ['No sessions found']);
        expect(await city.json(['session', 'list', '--json'])).toEqual([]);
        await city.ok(['session', 'prune'], ['No sessions to prune']);
        await city.ok(['stop', city.dir], ['stopped']);
      });

      it('says what is missing', async () => {
        const words: readonly Words[] = [
          ['session new', ''],
          ['session new nobody', 'not found'],
          ['session close nobody', 'session not found: "nobody"'],
          ['session kill nobody', 'not found'],
          ['session wake nobody', 'not found'],
          ['session peek nobody', 'not found'],
          ['session rename nobody title', 'not found'],
          ['nudge status', ''],
          ['wait inspect', ''],
          ['wait inspect gc-999', ''],
          ['wait cancel', ''],
          ['wait ready gc-999', ''],
          ['hook', 'agent not specified'],
          ['hook nobody', 'not found'],
          ['handoff', ''],
          ['handoff subject', 'not in session context'],
          ['handoff --target nobody subject text', 'not found'],
          ['handoff one two three', ''],
          ['agent add', 'missing'],
          ['agent suspend', 'missing'],
          ['agent resume', 'missing'],
          ['runtime drain', 'missing'],
          ['runtime bogus', 'unknown subcommand'],
          ['trace start', 'missing'],
          ['trace start --template mayor --for soon', 'duration'],
          ['trace bogus', 'unknown subcommand'],
        ];
        await each(words, (args, says) => city.refused(args, says));
      });

      it('has nothing yet', async () => {
        const words: readonly Words[] = [
          ['wait list', 'WAIT'],
          ['wait list --state pending', ''],
          ['convoy list', 'No open convoys'],
          ['convoy stranded', 'No stranded work'],
          ['convoy check', '0 convoy(s) auto-closed'],
          ['converge list', 'No convergence loops found'],
          ['converge list --json', '[]'],
          ['service list', 'No services configured'],
          ['beads health', 'healthy'],
          ['mail inbox mayor', 'No unread messages for mayor'],
          ['mail count mayor', '0 total, 0 unread'],
          ['mail check mayor --inject', ''],
          ['hook mayor --inject', ''],
          ['pack list', 'No remote packs configured'],
          ['config show', '[workspace]'],
          ['config show --validate', 'Config valid.'],
          ['config explain', 'Agent:'],
          ['unregister', ''],
          ['prime', ''],
        ];
        await each(words, (args, says) => city.ok(args, says));
      });
    });
  });
}
