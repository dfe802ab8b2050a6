import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fullScreenAgent, script } from './testing/agents.ts';
import { eventually, hasTmux, PrivateServer, TRANSPORTS, tmuxNote } from './testing/private-server.ts';
import type { TmuxBackend } from './tmux-backend.ts';

const never = new AbortController().signal;

describe.skipIf(!hasTmux).each(TRANSPORTS)(`tmux captures over %s${tmuxNote}`, (transport) => {
  let server: PrivateServer;
  let backend: TmuxBackend;

  beforeEach(() => {
    server = new PrivateServer();
    backend = server.backend(transport);
  });
  afterEach(() => server.dispose());

  const show = async (name: string, text: string, lastLine: string) => {
    await backend.create(name, server.launch(script(`${text}; exec sleep 300`)), never);
    await eventually(
      'it is on the screen',
      async () => (await backend.capture(name, 0)).lines.at(-1) === lastLine,
    );
  };

  it('TMX-23 joins wrapped lines and invents no blanks', async () => {
    const long = 'abcdefghij'.repeat(20);
    await show('p', `printf '%s\\n' '${long}' 'two trailing  ' '  indented'; printf '> '`, '>');
    const screen = await backend.capture('p', 20);
    expect(screen.lines).toEqual([long, 'two trailing', '  indented', '>']);
    expect(screen.visibleRows).toBe(4);
    expect(screen.cursor).toEqual({ row: 3, column: 2 });
    expect(screen.bracketedPaste).toBeUndefined();
  });

  it('puts the cursor behind a wrapped line that it stands in', async () => {
    const long = 'x'.repeat(100);
    await show('p', `printf 'first\\n%s' '${long}'`, long);
    expect((await backend.capture('p', 0)).cursor).toEqual({ row: 1, column: 100 });
    expect((await backend.capture('p', 1)).cursor).toEqual({ row: 0, column: 100 });
  });

  it('counts lines: the last ones, the screen alone, or everything', async () => {
    await show('p', `i=1; while [ $i -le 200 ]; do echo "line $i"; i=$((i+1)); done; printf 'end'`, 'end');
    const lines = (from: number) =>
      Array.from({ length: 201 - from }, (_, i) => `line ${from + i}`).concat('end');
    expect((await backend.capture('p', 3)).lines).toEqual(['line 199', 'line 200', 'end']);
    expect((await backend.capture('p', 3)).visibleRows).toBe(3);
    const screen = await backend.capture('p', 0);
    expect(screen.lines).toEqual(lines(178));
    expect(screen.visibleRows).toBe(24);
    expect(screen.cursor).toEqual({ row: 23, column: 3 });
    const fifty = await backend.capture('p', 50);
    expect(fifty.lines).toEqual(lines(152));
    expect(fifty.visibleRows).toBe(24);
    expect(fifty.cursor).toEqual({ row: 23, column: 3 });
    expect((await backend.capture('p', -1)).lines).toEqual(lines(1));
    await backend.clearScrollback('p');
    expect((await backend.capture('p', -1)).lines).toEqual(lines(178));
  });

  it('TMX-11 reads the alternate screen', async () => {
    await backend.create('full', server.launch(fullScreenAgent()), never);
    await eventually('it draws', async () => (await backend.capture('full', 0)).lines.includes('FULL>'));
    expect(await backend.capture('full', 0)).toMatchObject({
      lines: ['FULL>'],
      cursor: { row: 0, column: 6 },
    });
    expect((await backend.capture('full', 10)).lines.at(-1)).toBe('FULL>');
  });

  it('takes lines that look like the guards of a control connection for what they are', async () => {
    const fake = ['%begin 1 2 1', '%end 1 2 1', '%error 1 2 1', '%exit', '%session-changed $0 x'];
    await show('p', `printf '%s\\n' ${fake.map((line) => `'${line}'`).join(' ')} end`, 'end');
    expect((await backend.capture('p', 0)).lines).toEqual([...fake, 'end']);
    expect((await backend.inspect('p')).kind).toBe('present');
  });

  it('keeps letters of every width whole', async () => {
    const wide = '漢字'.repeat(30);
    const text = `${wide} é ü 👩 end`;
    await show('p', `printf '%s' '${text}'`, text);
    expect((await backend.capture('p', 5)).lines).toEqual([text]);
  });

  it('answers an empty screen with no lines', async () => {
    await backend.create('p', server.launch(['sleep', '300']), never);
    expect(await backend.capture('p', 10)).toMatchObject({
      lines: [],
      visibleRows: 0,
      cursor: { row: 0, column: 0 },
    });
  });

  it('shows what a dead agent left, without the note that tmux adds', async () => {
    await backend.create('p', server.launch(script('echo one; echo two; sleep 0.1; exit 4')), never);
    await eventually('it is dead', async () => {
      const found = await backend.inspect('p');
      return found.kind === 'present' && found.session.state.kind === 'dead';
    });
    expect(await backend.capture('p', -1)).toMatchObject({ lines: ['one', 'two'], cursor: undefined });
  });

  it('carries a large history without holding up other requests', async () => {
    await show(
      'p',
      `i=0; while [ $i -lt 1990 ]; do echo "line $i of a history"; i=$((i+1)); done; printf end`,
      'end',
    );
    const [everything, found] = await Promise.all([backend.capture('p', -1), backend.inspect('p')]);
    expect(everything.lines.length).toBe(1_991);
    expect(everything.lines.at(-2)).toBe('line 1989 of a history');
    expect(found.kind).toBe('present');
  });
});
