import { execFileSync } from 'node:child_process';
import { constants, openSync } from 'node:fs';
import { Socket } from 'node:net';

/** A named pipe into which containers tell the number of their first process: one short line each. */
export class Reports {
  readonly path: string;
  readonly #pipe: Socket;
  readonly #waiting = new Map<string, (pid: number) => void>();
  #rest = '';

  constructor(path: string) {
    this.path = path;
    execFileSync('mkfifo', ['-m', '600', path]);
    // Opened for writing too: it has no end when one writer closes it.
    const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    this.#pipe = new Socket({ fd, readable: true, writable: false });
    this.#pipe.on('data', (bytes: Buffer) => this.#read(bytes.toString('latin1')));
    this.#pipe.unref();
  }

  expect(id: string): Promise<number> {
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  forget(id: string): void {
    this.#waiting.delete(id);
  }

  close(): void {
    this.#pipe.destroy();
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const [id = '', pid] = line.split(' ');
      this.#waiting.get(id)?.(Number(pid));
      this.#waiting.delete(id);
    }
  }
}
