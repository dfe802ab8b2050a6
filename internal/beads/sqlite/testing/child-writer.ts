import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** A process of its own that commits one change after another and says so after each. */
export interface ChildWriter {
  readonly process: ChildProcess;
  /** How many commits were acknowledged so far. */
  acknowledged(): number;
  readonly ended: Promise<void>;
}

const DATABASE = new URL('../city-database.ts', import.meta.url).href;
const CLOCK = new URL('../../../platform/clock.ts', import.meta.url).href;

const PROGRAM = `
  const [file, label, count] = process.argv.slice(1);
  const { openCityDatabase } = await import(${JSON.stringify(DATABASE)});
  const { systemClock } = await import(${JSON.stringify(CLOCK)});
  const database = openCityDatabase(file, systemClock);
  for (let n = 1; n <= Number(count); n += 1) {
    await database.transaction((tx) => {
      const bead = tx.createBead({ title: label + n, metadata: { pad: 'x'.repeat(2000) } });
      for (const type of ['one', 'two', 'three']) {
        tx.recordEvent({ type, actor: label, subject: bead.id, message: 'y'.repeat(500) });
      }
      tx.recordDecision({ sessionId: bead.id, what: 'start', why: label, inputs: { n } });
      tx.state.set('count.' + label, String(n));
    });
    process.stdout.write(n + '\\n');
  }
  database.close();
`;

/** Each commit is one bead, three events that name it, one decision and a counter. */
export function startChildWriter(file: string, label: string, count: number): ChildWriter {
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '-e', PROGRAM, file, label, String(count)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let acknowledged = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    acknowledged = Number(line);
  });
  return {
    process: child,
    acknowledged: () => acknowledged,
    ended: new Promise((resolve) => child.once('close', () => resolve())),
  };
}
