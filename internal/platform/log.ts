import { closeSync, existsSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';
import { pino } from 'pino';
import { ensurePrivateDirFor } from './atomic-file.ts';
import { GcError, messageOf } from './errors.ts';

export type LogFields = Readonly<Record<string, unknown>>;

/** What a long-lived process writes down about itself: one JSON object per line. Never prompts, texts or environments. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** The same log with fields added to every line. */
  child(fields: LogFields): Log;
}

export interface FileLog extends Log {
  close(): void;
}

export interface LogOptions {
  readonly level?: 'debug' | 'info' | 'warn' | 'error';
  /** A file that grows past this is kept once as `<file>.1`. */
  readonly maxBytes?: number;
}

const OWNER_ONLY = 0o600;
const LOG_MAX_BYTES = 16 * 1024 * 1024;

/** Field names whose values never reach the file, wherever they stand up to two levels deep. */
const SECRET_FIELDS = [
  'authorization',
  'cookie',
  'env',
  'key',
  'password',
  'prompt',
  'secret',
  'text',
  'token',
];

/** Opens (and makes, owner-only) a log file for appending. Lines are written at once, so a killed process loses none. @throws GcError `log-unwritable` */
export function openLog(file: string, options: LogOptions = {}): FileLog {
  const sink = new RollingFile(file, options.maxBytes ?? LOG_MAX_BYTES);
  const logger = pino(
    {
      level: options.level ?? 'info',
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: SECRET_FIELDS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
        censor: '[hidden]',
      },
    },
    sink,
  );
  return { ...adapt(logger), close: () => sink.close() };
}

function adapt(logger: pino.Logger): Log {
  return {
    debug: (message, fields) => logger.debug(fields ?? {}, message),
    info: (message, fields) => logger.info(fields ?? {}, message),
    warn: (message, fields) => logger.warn(fields ?? {}, message),
    error: (message, fields) => logger.error(fields ?? {}, message),
    child: (fields) => adapt(logger.child(fields)),
  };
}

/** A file that two processes may append to; it starts anew when it is full. */
class RollingFile {
  readonly #file: string;
  readonly #maxBytes: number;
  #fd: number | undefined;
  #bytes = 0;

  constructor(file: string, maxBytes: number) {
    this.#file = file;
    this.#maxBytes = maxBytes;
    this.#open();
  }

  write(line: string): void {
    if (this.#fd === undefined) return;
    try {
      if (this.#bytes > this.#maxBytes) this.#roll();
      this.#bytes += writeSync(this.#fd, line);
    } catch {
      // A full disk must not end what the log is about; the line is lost, the next one may fit again.
    }
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #open(): void {
    try {
      ensurePrivateDirFor(this.#file);
      this.#fd = openSync(this.#file, 'a', OWNER_ONLY);
      this.#bytes = fstatSync(this.#fd).size;
    } catch (error) {
      throw new GcError('log-unwritable', `cannot write the log ${this.#file}: ${messageOf(error)}`, {
        cause: error,
        next: 'check who owns that folder and its permissions',
      });
    }
  }

  #roll(): void {
    this.close();
    if (existsSync(this.#file)) renameSync(this.#file, `${this.#file}.1`);
    this.#open();
  }
}
