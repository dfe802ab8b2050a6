import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Clock, systemClock } from '../../internal/platform/clock.ts';
import { messageOf } from '../../internal/platform/errors.ts';
import type { Provider, StartResult } from '../../internal/runtime/provider.ts';
import type { RuntimeConfig } from '../../internal/runtime/runtime-config.ts';
import { type Agent, installAgent } from './agents.ts';
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
  readonly #started = new Set<string>();

  constructor(subject: ProviderSubject, patienceMs = UNTIL_TIMEOUT_MS, clock: Clock = systemClock) {
    this.subject = subject;
    this.provider = subject.provider;
    this.clock = clock;
    this.#patienceMs = patienceMs;
  }

  /** A session name that no other trial uses and that is no prefix of another's. */
  name(hint = 's'): string {
    counter += 1;
    return `gct-${hint}-${process.pid}-${counter}-x`;
  }

  /** A private folder of one session. */
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
    const installed = installAgent(agent, folder);
    return { ...this.subject.config(), workDir: folder, ...installed, ...overrides };
  }

  async start(
    name: string,
    config: RuntimeConfig = this.config(name),
    signal?: AbortSignal,
  ): Promise<StartResult> {
    this.#started.add(name);
    const deadline = AbortSignal.timeout(START_TIMEOUT_MS);
    return this.provider.start(name, config, {
      signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
    });
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
  | { readonly kind: 'not-applicable'; readonly missing: readonly string[] };

/** Runs one case against one subject. Never throws for a broken provider. `patienceMs` bounds each of its waits. */
export async function runCase(
  test: ProviderCase,
  subject: ProviderSubject,
  patienceMs?: number,
): Promise<CaseResult> {
  const missing = test.needs.filter((need) => !subject.offers.has(need));
  if (missing.length > 0) return { kind: 'not-applicable', missing };
  const trial = new Trial(subject, patienceMs);
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
