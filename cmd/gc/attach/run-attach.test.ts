import { EventEmitter, once } from 'node:events';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { AttachPlan, AttachStream, TerminalSize } from '../../../internal/runtime/provider.ts';
import { type AttachTerminal, runAttach } from './run-attach.ts';

class Keyboard extends EventEmitter {
  raw: boolean[] = [];
  paused = false;
  setRawMode(raw: boolean) {
    this.raw.push(raw);
    this.emit('raw');
  }
  pause() {
    this.paused = true;
  }
  type(text: string) {
    this.emit('data', Buffer.from(text));
  }
}

class Screen extends EventEmitter {
  columns = 100;
  rows = 30;
  shown = '';
  full = false;
  write(bytes: Uint8Array) {
    this.shown += Buffer.from(bytes).toString();
    this.emit('shown');
    return !this.full;
  }
}

class AgentTerminal implements AttachStream {
  readonly output = new PassThrough();
  typed = '';
  sizes: TerminalSize[] = [];
  closed = 0;
  write(bytes: Uint8Array) {
    this.typed += Buffer.from(bytes).toString();
    this.output.emit('typed');
  }
  resize(size: TerminalSize) {
    this.sizes.push(size);
  }
  close() {
    this.closed += 1;
    this.output.end('reset');
  }
}

function visit() {
  const input = new Keyboard();
  const output = new Screen();
  const agent = new AgentTerminal();
  const outside = new AbortController();
  const said: string[] = [];
  const plan: AttachPlan = {
    kind: 'stream',
    leave: 'Ctrl-Q',
    async open(size) {
      agent.sizes.push(size);
      return agent;
    },
  };
  const terminal: AttachTerminal = {
    input,
    output,
    env: { PATH: process.env['PATH'] },
    signal: outside.signal,
    announce: (leave) => said.push(leave),
  };
  return { input, output, agent, said, outside, end: runAttach(plan, terminal), terminal };
}

describe('a visit over a stream', () => {
  it('says how to leave, passes keys and screen, and ends at the detach key', async () => {
    const { input, output, agent, said, end } = visit();
    await once(input, 'raw');
    agent.output.write('hello');
    await once(output, 'shown');
    input.type('ls\r');
    input.type('\x1b[113;');
    input.type('5u never sent');
    expect(await end).toEqual({ kind: 'left' });
    expect([said, agent.typed, output.shown]).toEqual([['Ctrl-Q'], 'ls\r', 'helloreset']);
    expect([input.raw, input.paused]).toEqual([[true, false], true]);
    expect(input.listenerCount('data') + output.listenerCount('resize')).toBe(0);
  });

  it('opens at the size of the terminal and follows it', async () => {
    const { input, output, agent, end } = visit();
    await once(input, 'raw');
    output.columns = 40;
    output.emit('resize');
    input.type('\x11');
    await end;
    expect(agent.sizes).toEqual([
      { columns: 100, rows: 30 },
      { columns: 40, rows: 30 },
    ]);
  });

  it('passes a lone Escape on after a moment', async () => {
    const { input, agent, end } = visit();
    await once(input, 'raw');
    input.type('\x1b');
    expect(agent.typed).toBe('');
    await once(agent.output, 'typed');
    expect(agent.typed).toBe('\x1b');
    input.type('\x11');
    await end;
  });

  it('tells when the session ended under the person', async () => {
    const { input, agent, end } = visit();
    await once(input, 'raw');
    agent.output.end('bye');
    expect(await end).toEqual({ kind: 'ended' });
    expect(input.raw).toEqual([true, false]);
  });

  it('gives the terminal back when the connection breaks', async () => {
    const { input, agent, end } = visit();
    await once(input, 'raw');
    agent.output.destroy(new Error('host gone'));
    expect(await end).toMatchObject({ kind: 'ended', error: { message: 'host gone' } });
    expect(input.raw).toEqual([true, false]);
  });

  it('ends with a signal from outside, the agent untouched', async () => {
    const { input, outside, agent, end } = visit();
    await once(input, 'raw');
    outside.abort();
    expect(await end).toEqual({ kind: 'left' });
    expect(agent.typed).toBe('');
  });

  it('waits for a slow terminal', async () => {
    const { input, output, agent, end } = visit();
    await once(input, 'raw');
    output.full = true;
    agent.output.write('one');
    await once(output, 'shown');
    agent.output.write('two');
    await new Promise((resolve) => setImmediate(resolve));
    expect(output.shown).toBe('one');
    output.full = false;
    output.emit('drain');
    agent.output.end();
    await end;
    expect(output.shown).toBe('onetwo');
  });
});

describe('a visit by another program', () => {
  const run = (argv: readonly string[]) => {
    const { terminal, said, input } = visit();
    input.type('\x11');
    return { said, end: runAttach({ kind: 'spawn', argv, env: {}, leave: 'Ctrl-b d' }, terminal) };
  };

  it('has its exit code', async () => {
    const { said, end } = run([process.execPath, '-e', 'process.exit(7)']);
    expect(await end).toEqual({ kind: 'exited', code: 7 });
    expect(said).toContain('Ctrl-b d');
  });

  it('has the code of its signal', async () => {
    const { end } = run([
      process.execPath,
      '-e',
      'process.kill(process.pid, "SIGTERM"); setTimeout(() => {}, 9e4)',
    ]);
    expect(await end).toEqual({ kind: 'exited', code: 143 });
  });

  it('fails with its name when it is not there', async () => {
    await expect(run(['/no/such/tmux']).end).rejects.toMatchObject({ code: 'attach-failed' });
  });
});
