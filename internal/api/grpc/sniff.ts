import type { Socket } from 'node:net';

/** What every HTTP/2 connection begins with, as far as no HTTP/1.1 request does. Source: RFC 9113, section 3.4. */
const PREFACE = Buffer.from('PRI');

/**
 * Which HTTP a connection speaks, by its first bytes; they stay in the socket. `undefined` when it ended before it said.
 * It is not destroyed when it says nothing: who asks sets the limit.
 */
export function httpVersionOf(socket: Socket): Promise<1 | 2 | undefined> {
  return new Promise((resolve) => {
    let seen = Buffer.alloc(0);
    const settle = (version: 1 | 2 | undefined) => {
      socket.off('readable', look);
      socket.off('close', gone);
      // Back once and not before: what is put back is announced again at once.
      if (version !== undefined) socket.unshift(seen);
      resolve(version);
    };
    const gone = () => settle(undefined);
    const look = () => {
      for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read()) {
        seen = Buffer.concat([seen, chunk]);
      }
      const begin = seen.subarray(0, PREFACE.length);
      if (!PREFACE.subarray(0, begin.length).equals(begin)) settle(1);
      else if (begin.length === PREFACE.length) settle(2);
    };
    socket.on('readable', look);
    socket.once('close', gone);
    look();
  });
}
