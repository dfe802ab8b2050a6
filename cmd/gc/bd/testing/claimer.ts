import { type ChildProcess, spawn } from 'node:child_process';

/** A process of its own that takes the first ready bead again and again until none is left. */
export interface Claimer {
  readonly process: ChildProcess;
  /** The ids that it was told it has; rejects when the process fails. */
  readonly claimed: Promise<readonly string[]>;
}

const RUN_IN = new URL('../../testing/fake-city.ts', import.meta.url).href;

const PROGRAM = `
  const [root, actor] = process.argv.slice(1);
  const { runIn } = await import(${JSON.stringify(RUN_IN)});
  const bd = (...words) => runIn(['bd', ...words], { cwd: root, env: process.env });
  process.stdout.write('up\\n');
  await new Promise((resolve) => process.stdin.once('data', resolve));
  for (;;) {
    const ready = await bd('ready', '--unassigned', '--json', '--limit=1');
    if (ready.code !== 0) throw new Error(ready.err);
    const [bead] = JSON.parse(ready.out);
    if (!bead) break;
    const claim = await bd('update', bead.id, '--claim', '--actor', actor);
    if (claim.code === 0) process.stdout.write(bead.id + '\\n');
    else if (!claim.err.includes('already claimed by')) throw new Error(claim.err);
  }
  process.exit(0);
`;

/** Starts a claimer; resolves when it waits for `go` on its stdin. */
export async function startClaimer(root: string, actor: string, env: NodeJS.ProcessEnv): Promise<Claimer> {
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '-e', PROGRAM, root, actor],
    { stdio: ['pipe', 'pipe', 'inherit'], env },
  );
  let printed = '';
  const up = new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString('utf8');
      if (printed.startsWith('up\n')) resolve();
    });
  });
  const claimed = new Promise<readonly string[]>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(printed.split('\n').slice(1, -1));
      else reject(new Error(`the claimer ${actor} ended with ${code}`));
    });
  });
  await Promise.race([up, claimed]);
  return { process: child, claimed };
}
