import type { Writable } from 'node:stream';
import type { Environment } from '../../../internal/platform/paths.ts';
import type { Sink } from '../context.ts';
import { createStyle, wantsColour } from './style.ts';

const FALLBACK_COLUMNS = 80;

export interface OutputStream extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** A sink over one of the process's streams. `onGone` is called once when its reader has closed it. */
export function streamSink(stream: OutputStream, env: Environment, onGone: () => void): Sink {
  let gone = false;
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    if (!gone) onGone();
    gone = true;
  });
  const isTTY = stream.isTTY === true;
  return {
    isTTY,
    get columns() {
      return isTTY ? stream.columns || FALLBACK_COLUMNS : Number(env['COLUMNS']) || FALLBACK_COLUMNS;
    },
    get gone() {
      return gone;
    },
    style: createStyle(wantsColour(env, isTTY)),
    write(text) {
      if (!gone && text !== '') stream.write(text);
    },
    flush: () =>
      new Promise((resolve) => {
        if (gone || stream.writableLength === 0) return resolve();
        const done = () => {
          stream.removeListener('error', done);
          resolve();
        };
        stream.once('error', done);
        stream.write('', done);
      }),
  };
}
