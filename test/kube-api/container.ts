import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ContainerLog } from './container-log.ts';
import { type LocalProcess, type OutputName, startLocal } from './local-process.ts';
import { enterArgv, findProgram, hostPath, isChildOf, joinArgv, type Mount, prepareRoot } from './sandbox.ts';
import type { ContainerSpec } from './shapes.ts';

const KILLED_CODE = 137;
const MESSAGE_BYTES = 4_096;
const FALLBACK_LINES = 80;
const FALLBACK_BYTES = 2_048;
const DEFAULT_MESSAGE_FILE = '/dev/termination-log';
/** A container whose first process has not said its number by now failed to start. */
const ENTER_MS = 20_000;

export interface ContainerSetup {
  readonly id: string;
  readonly folder: string;
  readonly spec: ContainerSpec;
  readonly mounts: readonly Mount[];
  readonly env: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
  readonly hostName: string;
  readonly ownEtc: boolean;
  readonly reportTo: string;
  /** Resolves with the number of the first process, when that reports. */
  readonly entered: Promise<number>;
}

export interface ContainerEnd {
  readonly exitCode: number;
  readonly reason: string;
  readonly message: string | undefined;
}

type Listener = (from: OutputName, bytes: Buffer) => void;

/** One container: a root folder, namespaces of its own, and a first process whose end is the container's. */
export class Container {
  readonly spec: ContainerSpec;
  readonly log = new ContainerLog();
  readonly root: string;
  readonly mounts: readonly Mount[];
  readonly env: Readonly<Record<string, string>>;
  readonly #setup: ContainerSetup;
  readonly #listeners = new Set<Listener>();
  #process: LocalProcess | undefined;
  #pid: number | undefined;
  #outOfMemory = false;
  #killWanted = false;
  #end: ContainerEnd | undefined;
  readonly ended: Promise<ContainerEnd>;
  #tellEnd: (end: ContainerEnd) => void = () => {};

  constructor(setup: ContainerSetup) {
    this.#setup = setup;
    this.spec = setup.spec;
    this.root = join(setup.folder, 'root');
    this.mounts = setup.mounts;
    this.env = setup.env;
    this.ended = new Promise((resolve) => {
      this.#tellEnd = resolve;
    });
  }

  get workingDir(): string {
    return this.spec.workingDir ?? '/';
  }

  /** The number of the first process on this machine, while it runs. */
  get pid(): number | undefined {
    return this.#end ? undefined : this.#pid;
  }

  get running(): boolean {
    return this.pid !== undefined;
  }

  hostPath(path: string): string {
    return hostPath(this.root, this.mounts, path);
  }

  /** Resolves when the command runs, or when it could not. @throws Error what a runtime calls CreateContainerError */
  async start(): Promise<void> {
    const { folder, spec, argv, env, id, hostName, reportTo, ownEtc } = this.#setup;
    mkdirSync(this.root, { recursive: true });
    const table = join(folder, 'mounts');
    writeFileSync(table, prepareRoot({ root: this.root, mounts: this.mounts, ownEtc }));
    mkdirSync(this.hostPath(this.workingDir), { recursive: true });
    writeFileSync(join(this.root, DEFAULT_MESSAGE_FILE), '');
    const missing = this.missingProgram(argv);
    if (missing !== undefined) {
      const message = `failed to create containerd task: failed to create shim task: ${missing}`;
      this.#finish({ exitCode: 128, reason: 'StartError', message });
      return;
    }
    const { runAsUser: user, runAsGroup: group } = spec.securityContext ?? {};
    const tty = spec.tty === true;
    this.#process = startLocal(
      {
        argv: enterArgv({
          id,
          root: this.root,
          table,
          reportTo,
          hostName,
          workingDir: this.workingDir,
          tty,
          user,
          group,
          argv,
        }),
        env,
        tty,
        stdin: spec.stdin === true,
      },
      { onOutput: (from, bytes) => this.#output(from, bytes), onEnd: (code) => this.#ended(code) },
    );
    await Promise.race([this.#enter(), this.ended]);
  }

  /** What a runtime says when the command's program is not there. */
  missingProgram(argv: readonly string[]): string | undefined {
    const name = argv[0] ?? '';
    const found = findProgram(name, this.env['PATH'] ?? '', (path) => this.hostPath(path), this.workingDir);
    if (found !== undefined) return undefined;
    const why = name.includes('/')
      ? `stat ${name}: no such file or directory`
      : 'executable file not found in $PATH';
    return `OCI runtime create failed: runc create failed: unable to start container process: exec: "${name}": ${why}: unknown`;
  }

  /** @throws Error when the container does not run */
  exec(
    argv: readonly string[],
    tty: boolean,
    stdin: boolean,
    onOutput: Listener,
    onEnd: (code: number) => void,
  ): LocalProcess {
    const { pid } = this;
    if (pid === undefined) throw new Error(`container not found ("${this.spec.name}")`);
    const env = tty ? { ...this.env, TERM: this.env['TERM'] ?? 'xterm' } : this.env;
    return startLocal(
      { argv: joinArgv(pid, this.workingDir, tty, argv), env, tty, stdin },
      { onOutput, onEnd },
    );
  }

  /** Output from now on. */
  onOutput(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  write(bytes: Buffer): void {
    this.#process?.write(bytes);
  }

  endInput(): void {
    this.#process?.endInput();
  }

  resize(columns: number, rows: number): void {
    this.#process?.resize(columns, rows);
  }

  /** To the first process only, as a runtime does. The kernel takes every other one down with it. */
  signal(name: 'SIGTERM' | 'SIGKILL'): void {
    if (this.#end) return;
    if (name === 'SIGKILL') this.#killWanted = true;
    const child = this.#process;
    if (!child || this.#pid === undefined || !isChildOf(this.#pid, child.pid)) return;
    process.kill(this.#pid, name);
  }

  killForMemory(): void {
    this.#outOfMemory = true;
    this.signal('SIGKILL');
  }

  async #enter(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), ENTER_MS).unref();
    });
    this.#pid = await Promise.race([this.#setup.entered, late]);
    clearTimeout(timer);
    if (this.#pid === undefined) this.#process?.kill();
    if (this.#killWanted) this.signal('SIGKILL');
  }

  #output(from: OutputName, bytes: Buffer): void {
    this.log.append(bytes);
    for (const listener of [...this.#listeners]) listener(from, bytes);
  }

  #ended(code: number): void {
    const exitCode = this.#outOfMemory ? KILLED_CODE : code;
    const reason = this.#outOfMemory ? 'OOMKilled' : exitCode === 0 ? 'Completed' : 'Error';
    this.#finish({ exitCode, reason, message: this.#message(exitCode) });
  }

  #finish(end: ContainerEnd): void {
    if (this.#end) return;
    this.#end = end;
    this.#tellEnd(end);
  }

  #message(exitCode: number): string | undefined {
    const file = this.spec.terminationMessagePath ?? DEFAULT_MESSAGE_FILE;
    const written = readStart(this.hostPath(file)) || readStart(join(this.root, file));
    if (written !== '') return written;
    if (exitCode === 0 || this.spec.terminationMessagePolicy !== 'FallbackToLogsOnError') return undefined;
    const tail = this.log.read({ tailLines: FALLBACK_LINES, limitBytes: undefined, sinceMs: undefined });
    return tail.subarray(-FALLBACK_BYTES).toString('utf8') || undefined;
  }
}

function readStart(file: string): string {
  try {
    return readFileSync(file).subarray(0, MESSAGE_BYTES).toString('utf8');
  } catch {
    return ''; // not written
  }
}
