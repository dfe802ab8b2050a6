import { systemClock } from '../../internal/platform/clock.ts';
import { invokedAs } from './city/invocation.ts';
import { streamSink } from './output/sink.ts';
import { runProgram } from './program.ts';

const interrupt = new AbortController();
const env = process.env;
const out = streamSink(process.stdout, env, () => interrupt.abort(new Error('nobody reads the output')));
const err = streamSink(process.stderr, env, () => undefined);

/** A long-lived process goes on in a copy of this file; a signal that comes while the copy loads is heard here only. */
const EARLY: unique symbol = Symbol.for('gc.signal-before-the-copy');
const shared = globalThis as typeof globalThis & { [EARLY]?: string };
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => {
    shared[EARLY] ??= name;
    interrupt.abort(new Error(name));
  });
}
if (shared[EARLY] !== undefined) interrupt.abort(new Error(shared[EARLY]));

async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}

const code = await runProgram(process.argv.slice(2), {
  env,
  cwd: process.cwd(),
  out,
  err,
  clock: systemClock,
  signal: interrupt.signal,
  gc: invokedAs(env),
  self: [process.execPath, ...process.execArgv, import.meta.filename],
  stdinIsTTY: () => process.stdin.isTTY === true,
  readStdin,
});
await Promise.all([out.flush(), err.flush()]);
process.exit(code);
