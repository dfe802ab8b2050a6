import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** A process of its own that works on a bead file. */
export interface ChildWork {
  readonly process: ChildProcess;
  /** What it said so far, a line each. */
  readonly lines: readonly string[];
  readonly ended: Promise<void>;
  go(): void;
}

const URLS = Object.fromEntries(
  ['../file-work.ts', '../../sqlite/city-database.ts', '../../../platform/clock.ts'].map((path) => [
    path.replace(/^.*\//, ''),
    new URL(path, import.meta.url).href,
  ]),
);

const PROGRAM = `
  const [folder, label, count] = process.argv.slice(1);
  const { FileWork } = await import(${JSON.stringify(URLS['file-work.ts'])});
  const { openCityDatabase } = await import(${JSON.stringify(URLS['city-database.ts'])});
  const { systemClock } = await import(${JSON.stringify(URLS['clock.ts'])});
  const city = openCityDatabase(folder + '/city.db', systemClock);
  const work = new FileWork({ file: folder + '/beads.json', city, path: process.env.PATH });
  const say = (line) => process.stdout.write(line + '\\n');
  say('up');
  await new Promise((resolve) => process.stdin.once('data', resolve));
  process.stdin.unref();
  for (let n = 1; n <= Number(count); n += 1) {
    const { id } = await work.transaction((tx) => {
      const bead = tx.createBead({ title: label + n, description: 'x'.repeat(3000) });
      tx.recordEvent({ type: 'bead.created', actor: label, subject: bead.id });
      return bead;
    });
    say('made ' + id);
    for (const bead of await work.ready({ assignee: '', labels: ['race'], limit: 3 })) {
      const mine = await work.claim(bead.id, label).then(() => true, (error) => {
        if (error.code !== 'bead-claimed') throw error;
        return false;
      });
      if (mine) say('won ' + bead.id);
    }
  }
  city.close();
`;

/** Makes so many beads, and claims between them what is labelled `race`. Resolves when it waits for `go`. */
export async function startChildWork(folder: string, label: string, count: number): Promise<ChildWork> {
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '-e', PROGRAM, folder, label, String(count)],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const lines: string[] = [];
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const up = new Promise<void>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line === 'up') resolve();
      else lines.push(line);
    });
  });
  await Promise.race([up, ended]);
  child.stdin.on('error', () => undefined);
  return { process: child, lines, ended, go: () => child.stdin.write('go\n') };
}
