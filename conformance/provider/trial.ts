import { mkdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Clock, systemClock } from '../../internal/platform/clock.ts';
import { messageOf } from '../../internal/platform/errors.ts';
import type { Provider, StartResult } from '../../internal/runtime/provider.ts';
import type { RuntimeConfig } from '../../internal/runtime/runtime-config.ts';
import { type Agent, type Facts, GO_FILE, installAgent } from './agents.ts';
import type { ProviderCase, ProviderSubject } from './case.ts';

/** A promise that was not kept: what was expected and what was seen. */
export class ConformanceFailure extends Error {}

const START_TIMEOUT_MS = 30_000;
const UNTIL_TIMEOUT_MS = 15_000;
const UNTIL_POLL_MS = 30;

let counter = 0;

/** One run of one case: starts sessions under unique names, asserts, and ends what it started. */
export class Trial {
  readonly subject: ProviderSubject;
  readonly provider: Provider;
  readonly clock: Clock;
  readonly #patienceMs: number;
  readonly #signal: AbortSignal | undefined;
  readonly #started = new Set<string>();

  constructor(
    subject: ProviderSubject,
    patienceMs = UNTIL_TIMEOUT_MS,
    clock: Clock = systemClock,
    signal?: AbortSignal,
  ) {
    this.subject = subject;
    this.provider = subject.provider;
    this.clock = clock;
    this.#patienceMs = patienceMs;
    this.#signal = signal;
  }

  /** A session name that no other trial uses and that is no prefix of another's. */
  name(hint = 's'): string {
    counter += 1;
    return `gct-${hint}-${process.pid}-${counter}-x`;
  }

  /** A private folder of one session, its work dir on this machine. What agents leave is read with `readFile`. */
  folder(name: string): string {
    const path = join(this.subject.scratch, 'work', name);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return path;
  }

  /** The subject's long-running agent in a folder of its own. */
  config(name: string, overrides: Partial<RuntimeConfig> = {}): RuntimeConfig {
    return { ...this.subject.config(), workDir: this.folder(name), ...overrides };
  }

  /** One of the suite's own agents, with what is needed to know that it is ready. */
  agent(name: string, agent: Agent, overrides: Partial<RuntimeConfig> = {}): RuntimeConfig {
    const folder = this.folder(name);
    const installed = this.subject.agent?.(agent, folder, name) ?? installAgent(agent, folder);
    return { ...this.subject.config(), workDir: folder, ...installed, ...overrides };
  }

  /** The session's work dir as its agent sees it. */
  agentFolder(name: string): string {
    const folder = this.folder(name);
    return this.subject.agentFolder?.(name, folder) ?? folder;
  }

  /** Text of a file in the agent's work dir, `undefined` while there is none. */
  async readFile(name: string, file: string): Promise<string | undefined> {
    const folder = this.folder(name);
    if (this.subject.readAgentFile) return this.subject.readAgentFile(name, folder, file);
    try {
      return await readFile(join(folder, file), 'utf8');
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** Strings that an agent wrote as JSON lines, oldest first; empty when it wrote none yet. */
  async readLines(name: string, file: string): Promise<readonly string[]> {
    const text = (await this.readFile(name, file)) ?? '';
    // What follows the last line break is still being written.
    return text
      .slice(0, text.lastIndexOf('\n') + 1)
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => String(JSON.parse(line)));
  }

  /** What the `facts` agent found, `undefined` until it did. */
  async readFacts(name: string): Promise<Facts | undefined> {
    const text = await this.readFile(name, 'facts.json');
    return text === undefined ? undefined : (JSON.parse(text) as Facts);
  }

  /** Tells a `ready` shell agent to go on with its script. */
  async letGo(name: string): Promise<void> {
    const folder = this.folder(name);
    if (this.subject.letGo) return this.subject.letGo(name, folder);
    await writeFile(join(folder, GO_FILE), '');
  }

  async start(
    name: string,
    config: RuntimeConfig = this.config(name),
    signal?: AbortSignal,
  ): Promise<StartResult> {
    this.#started.add(name);
    const ends = [AbortSignal.timeout(START_TIMEOUT_MS), signal, this.#signal];
    return this.provider.start(name, config, {
      signal: AbortSignal.any(ends.filter((end) => end !== undefined)),
    });
  }

  /** Another provider object on the same sessions, of a subject that offers `shared`. */
  async second(): Promise<Provider> {
    const other = await this.subject.second?.();
    if (other) return other;
    throw new ConformanceFailure('expected a second provider object from a subject that offers `shared`');
  }

  ok(condition: boolean, expected: string): void {
    if (!condition) throw new ConformanceFailure(`expected ${expected}`);
  }

  equal<T>(seen: T, expected: T, what: string): void {
    if (isDeepStrictEqual(seen, expected)) return;
    throw new ConformanceFailure(`${what}: expected ${show(expected)}, got ${show(seen)}`);
  }

  /** The promise rejects; answers the error. */
  async rejects(work: Promise<unknown>, what: string): Promise<Error & { code?: string }> {
    const outcome = await work.then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
    );
    if (!outcome) throw new ConformanceFailure(`${what}: expected an error, got success`);
    return outcome;
  }

  /** Asks again until the answer is not `undefined` or `false`. */
  async until<T>(
    what: string,
    ask: () => Promise<T | undefined | false> | T | undefined | false,
    limitMs = this.#patienceMs,
  ): Promise<T> {
    const started = this.clock.monotonic();
    for (;;) {
      this.#signal?.throwIfAborted();
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
      if (this.clock.monotonic() - started > limitMs)
        throw new ConformanceFailure(`not within ${limitMs} ms: ${what}`);
      await this.clock.sleep(UNTIL_POLL_MS);
    }
  }

  /** Ends every session that this trial started. */
  async cleanUp(): Promise<void> {
    const results = await Promise.allSettled(
      [...this.#started].map((name) => this.provider.stop(name, { graceMs: 200 })),
    );
    const failed = results.find((r) => r.status === 'rejected');
    if (failed?.status === 'rejected')
      throw new ConformanceFailure(`clean-up: stop failed: ${messageOf(failed.reason)}`);
  }
}

export type CaseResult =
  | { readonly kind: 'passed' }
  | { readonly kind: 'failed'; readonly reason: string }
  /** `seen`: what came of it, where it was tried all the same. */
  | { readonly kind: 'not-applicable'; readonly missing: readonly string[]; readonly seen?: string };

/**
 * Runs one case against one subject. Never throws for a broken provider. `patienceMs` bounds each of its waits; what it
 * waits for is given up when `signal` aborts, and what it started is ended all the same.
 */
export async function runCase(
  test: ProviderCase,
  subject: ProviderSubject,
  patienceMs?: number,
  signal?: AbortSignal,
): Promise<CaseResult> {
  const missing = test.needs.filter((need) => !subject.offers.has(need));
  if (missing.length > 0) return { kind: 'not-applicable', missing };
  const trial = new Trial(subject, patienceMs, systemClock, signal);
  let reason: string | undefined;
  try {
    await test.run(trial);
  } catch (error) {
    reason = messageOf(error);
  }
  try {
    await trial.cleanUp();
  } catch (error) {
    reason ??= messageOf(error);
  }
  return reason === undefined ? { kind: 'passed' } : { kind: 'failed', reason };
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 300 ? `${text.slice(0, 300)}… (${text.length} characters)` : text;
}
