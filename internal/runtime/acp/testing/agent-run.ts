import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { signalGroup } from '../../../platform/process-group.ts';
import type { AcpAgent } from '../../host/agent-process.ts';
import type { WireAcpQuestion, WireAcpState } from '../../host/protocol.ts';
import type { ExitInfo } from '../../provider.ts';
import type { JournalFact, JournalLine } from '../agent/journal-fact.ts';
import { startAcpAgent } from '../agent/start-acp-agent.ts';
import { type AgentScript, scriptedAgent } from './scripted-agent.ts';

const HANDSHAKE_MS = 10_000;
const WAIT_MS = 10_000;
const POLL_MS = 5;
const PATH = '/usr/local/bin:/usr/bin:/bin';

export interface RunOptions {
  readonly conversation?: string;
  readonly handshakeMs?: number;
  /** A folder of an earlier run, with its work dir and its journal. */
  readonly dir?: string;
  readonly argv?: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
  /** Where the conversation is written down. */
  readonly journal?: string;
}

/** A folder of its own for several lives of one session. */
export async function withFolder(use: (dir: string) => Promise<void>): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'gc-acp-'));
  try {
    await use(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The real clock, on which waits of this length end when the test says so. */
export function heldClock(heldMs: number): Clock & { release(): void } {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const sleep = (ms: number, signal?: AbortSignal) => (ms === heldMs ? held : systemClock.sleep(ms, signal));
  return { now: systemClock.now, monotonic: systemClock.monotonic, sleep, release };
}

/** One real scripted agent process, and everything that was told about it. */
export class AgentRun {
  readonly dir: string;
  readonly agent: AcpAgent;
  readonly #told: Told;

  private constructor(dir: string, agent: AcpAgent, told: Told) {
    this.dir = dir;
    this.agent = agent;
    this.#told = told;
  }

  static async #start(script: AgentScript, options: RunOptions, dir: string): Promise<AgentRun> {
    const scripted = scriptedAgent(script);
    const told: Told = { output: [], exit: undefined, outputEnds: 0, changes: 0 };
    const agent = await startAcpAgent(
      {
        name: 'a',
        command: {
          argv: options.argv ?? scripted.argv,
          cwd: options.cwd ?? dir,
          env: { PATH, ...scripted.env, ...options.env },
          columns: 80,
          rows: 24,
        },
        acp: {
          conversation: options.conversation ?? '',
          handshakeMs: options.handshakeMs ?? HANDSHAKE_MS,
          clientVersion: '1.0.0',
        },
        journal: options.journal ?? join(dir, 'journal.jsonl'),
      },
      {
        onOutput: (bytes) => told.output.push(bytes),
        onOutputEnd: () => {
          told.outputEnds += 1;
        },
        onExit: (exit) => {
          told.exit = exit;
        },
        onChanged: () => {
          told.changes += 1;
        },
      },
      options.clock ?? systemClock,
    );
    return new AgentRun(dir, agent, told);
  }

  /** Runs one and ends it, whatever happens in between. */
  static async with(
    script: AgentScript,
    use: (run: AgentRun) => Promise<void>,
    options: RunOptions = {},
  ): Promise<void> {
    if (options.dir === undefined)
      return withFolder((dir) => AgentRun.with(script, use, { ...options, dir }));
    const run = await AgentRun.#start(script, options, options.dir);
    try {
      await use(run);
    } finally {
      run.agent.close();
      signalGroup(run.agent.process.pid, 'SIGKILL');
    }
  }

  get exit(): ExitInfo | undefined {
    return this.#told.exit;
  }

  get outputEnds(): number {
    return this.#told.outputEnds;
  }

  get changes(): number {
    return this.#told.changes;
  }

  get outputBytes(): number {
    return this.#told.output.reduce((sum, bytes) => sum + bytes.length, 0);
  }

  /** What `peek` shows, with plain line ends. */
  get text(): string {
    return Buffer.concat(this.#told.output).toString('utf8').replaceAll('\r\n', '\n');
  }

  get journal(): readonly JournalLine[] {
    const file = join(this.dir, 'journal.jsonl');
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as JournalLine);
  }

  get facts(): readonly JournalFact[] {
    return this.journal.map((line) => line.fact);
  }

  ready(): Promise<WireAcpState> {
    return this.agent.wait('ready', WAIT_MS);
  }

  idle(): Promise<WireAcpState> {
    return this.agent.wait('idle', WAIT_MS);
  }

  /** Waits until it is ready, prompts, and waits for the end of the turn. */
  async turn(text: string): Promise<WireAcpState> {
    await this.ready();
    await this.agent.prompt([{ type: 'text', text }]);
    return this.idle();
  }

  async prompt(text: string): Promise<void> {
    await this.ready();
    await this.agent.prompt([{ type: 'text', text }]);
  }

  async question(): Promise<WireAcpQuestion> {
    return this.until('a question', () => this.agent.state().questions[0]);
  }

  async until<T>(what: string, look: () => T | undefined | false): Promise<T> {
    const deadline = systemClock.monotonic() + WAIT_MS;
    for (;;) {
      const found = look();
      if (found !== undefined && found !== false) return found;
      if (systemClock.monotonic() > deadline) throw new Error(`never: ${what}\n${this.text}`);
      await systemClock.sleep(POLL_MS);
    }
  }
}

interface Told {
  readonly output: Buffer[];
  exit: ExitInfo | undefined;
  outputEnds: number;
  changes: number;
}
