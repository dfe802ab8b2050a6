import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { runLogWriter, type WriterLine, type WriterOrder } from './log-writer-program.ts';

/** A writer process, as its parent sees it. */
export class LogWriter {
  readonly #child: ChildProcess;
  readonly #lines: WriterLine[] = [];
  /** Its store is open, or it has ended. */
  readonly ready: Promise<void>;
  /** When it has ended and everything that it said was read. */
  readonly ended: Promise<void>;

  constructor(child: ChildProcess) {
    this.#child = child;
    let heard: () => void = () => {};
    this.ready = new Promise((resolve) => {
      heard = resolve;
    });
    const exited = new Promise<void>((resolve) => {
      child.once('close', () => resolve());
    });
    this.ended = exited.then(heard);
    if (!child.stdout) return;
    createInterface({ input: child.stdout }).on('line', (line) => {
      heard();
      // The last line of a killed writer may be cut: then nothing was acknowledged by it.
      if (line.endsWith('}')) this.#lines.push(JSON.parse(line) as WriterLine);
    });
  }

  get appended(): readonly Extract<WriterLine, { kind: 'appended' }>[] {
    return this.#lines.filter((line) => line.kind === 'appended');
  }

  get failures(): readonly Extract<WriterLine, { kind: 'failed' }>[] {
    return this.#lines.filter((line) => line.kind === 'failed');
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }
}

/** Starts writer processes. Their program is bundled once: a thousand of them start in a tenth of the time. */
export class LogWriters {
  readonly #dir = mkdtempSync(join(tmpdir(), 'gc-log-writer-'));
  #program: Promise<string> | undefined;

  async start(order: WriterOrder): Promise<LogWriter> {
    this.#program ??= this.#bundle();
    const program = await this.#program;
    const root = join(import.meta.dirname, '../../../..');
    const child = spawn(process.execPath, [program, JSON.stringify(order)], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, NODE_PATH: join(root, 'node_modules') },
    });
    return new LogWriter(child);
  }

  dispose(): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }

  async #bundle(): Promise<string> {
    const outfile = join(this.#dir, 'writer.cjs');
    await build({
      stdin: {
        contents: `import { ${runLogWriter.name} } from './log-writer-program.ts';
          void ${runLogWriter.name}(JSON.parse(process.argv[2]));`,
        resolveDir: import.meta.dirname,
      },
      outfile,
      bundle: true,
      platform: 'node',
      format: 'cjs',
      external: ['better-sqlite3'],
      // Writers start no threads, which is all that needs to know where the program is.
      logLevel: 'error',
    });
    return outfile;
  }
}
