import { describe, expect, it } from 'vitest';
import { allCommands, groups } from '../table/table.ts';
import { UsageError } from './input.ts';
import { helpText, type Parsed, parse } from './parser.ts';

function run(...argv: string[]): Extract<Parsed, { kind: 'run' }> {
  const parsed = parse(groups, argv);
  if (parsed.kind !== 'run') throw new Error(`not a command: ${JSON.stringify(parsed)}`);
  return parsed;
}

function usage(...argv: string[]): string {
  const parsed = parse(groups, argv);
  if (parsed.kind !== 'usage') throw new Error(`understood: ${argv.join(' ')}`);
  return `gc${parsed.path ? ` ${parsed.path}` : ''}: ${parsed.message}`;
}

describe('command lines', () => {
  it('know arguments, options and their defaults', () => {
    const { spec, input, json, city } = run('session', 'peek', 'mayor', '-n', '20', '--json', '--city', '/c');
    expect([spec.path, input.arg('session'), input.count('lines'), json, city]).toEqual([
      'session peek',
      'mayor',
      20,
      true,
      '/c',
    ]);
    expect(run('session', 'peek', 'mayor').input.count('lines')).toBe(50);
  });

  it('take --city before the command too', () => {
    expect(run('--city', '/c', 'status').city).toBe('/c');
  });

  it('know switches that begin with no-', () => {
    expect(run('session', 'new', 'a', '--no-attach').input.flag('no-attach')).toBe(true);
    expect(run('session', 'new', 'a').input.flag('no-attach')).toBe(false);
  });

  it('collect repeatable options', () => {
    const { input } = run('events', '--payload-match', 'a=1', '--payload-match', 'b=2');
    expect(input.texts('payload-match')).toEqual(['a=1', 'b=2']);
  });

  it('take prose that starts with a dash as prose', () => {
    const { input } = run('nudge', 'mayor', '- fix the parser', '-5 degrees out', '--wait', '5s');
    expect(input.rest('text')).toEqual(['- fix the parser', '-5 degrees out']);
    expect(input.duration('wait')).toBe(5_000);
    expect(run('nudge', 'mayor', '--', '--json').input.rest('text')).toEqual(['--json']);
    expect(run('nudge', 'mayor', '-').input.rest('text')).toEqual(['-']);
  });

  it('keep a value with blanks of an option written with =', () => {
    expect(run('session', 'new', 'a', '--title=two words').input.text('title')).toBe('two words');
  });

  it('keep a text of a megabyte', () => {
    const text = 'x'.repeat(1_000_000);
    expect(run('nudge', 'mayor', text).input.rest('text')).toEqual([text]);
  });
});

describe('wrong command lines', () => {
  it.each([
    [['statsu'], 'gc: unknown command "statsu"; did you mean "status"?'],
    [
      ['session'],
      'gc session: missing subcommand (new, list, attach, peek, submit, nudge, pending, respond, wait, interrupt, kill, suspend, wake, pin, unpin, reset, close, rename, prune, logs, fork)',
    ],
    [['agent'], 'gc agent: missing subcommand (list, add, suspend, resume, scale)'],
    [['session', 'lst'], 'gc session: unknown subcommand "lst"; did you mean "list"?'],
    [['--nope'], 'gc: unknown option "--nope"'],
    [['nudge'], "gc nudge: missing required argument 'session'"],
    [['nudge', 'mayor'], "gc nudge: missing required argument 'text'"],
    [['status', 'a', 'b'], "gc status: too many arguments for 'status'. Expected 1 argument but got 2."],
  ])('%j', (argv, message) => {
    expect(usage(...argv)).toBe(message);
  });

  it('offer the option that was meant', () => {
    expect(usage('status', '--jsn')).toContain('--json');
  });

  it('say what is wrong with a value', () => {
    expect(() => run('session', 'peek', 'a', '--lines', 'many').input.count('lines')).toThrow(UsageError);
    expect(() => run('nudge', 'a', 'b', '--wait', 'soon').input.duration('wait')).toThrow(
      /--wait must be a duration/,
    );
  });
});

describe('help', () => {
  it('of the program names the commands', () => {
    const parsed = parse(groups, []);
    const text = parsed.kind === 'print' ? parsed.text : '';
    for (const word of ['init', 'start', 'stop', 'status', 'config', 'version', 'session', 'nudge']) {
      expect(text).toContain(`  ${word}`);
    }
    expect(text).not.toContain('__complete');
  });

  it('is at most 80 columns wide everywhere', () => {
    for (const words of [[], ...allCommands.map((spec) => spec.path.split(' '))]) {
      const lines = helpText(groups, words)?.split('\n') ?? [];
      const own = lines.slice(0, lines.findIndex((line) => line.startsWith('Examples:')) >>> 0);
      for (const line of own) expect(line.length, `${words.join(' ')}: ${line}`).toBeLessThanOrEqual(80);
    }
  });

  it.each(allCommands.map((spec) => [spec.path, spec] as const))('of gc %s has an example', (path, spec) => {
    expect(spec.examples.length).toBeGreaterThan(0);
    const text = helpText(groups, path.split(' '));
    expect(text).toContain(spec.summary.slice(0, 30));
    for (const example of spec.examples) {
      expect(text).toContain(example.command);
      expect(example.command).toContain(`gc ${path}`);
    }
  });

  it.each([
    [['config'], 'show'],
    [['supervisor'], 'run'],
  ])('is what bare gc %j prints', (argv, word) => {
    const parsed = parse(groups, argv);
    expect(parsed.kind === 'print' && parsed.text).toContain(`  ${word}`);
  });
});

describe('every command', () => {
  it.each(allCommands.map((spec) => [spec.path, spec] as const))('gc %s can be loaded', async (_, spec) => {
    expect(typeof (await spec.load())).toBe('function');
  });

  it('has a path of its own', () => {
    const paths = allCommands.map((spec) => spec.path);
    expect(new Set(paths).size).toBe(paths.length);
  });
});
