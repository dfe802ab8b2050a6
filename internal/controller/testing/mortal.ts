import type { Clock } from '../../platform/clock.ts';
import { GcError } from '../../platform/errors.ts';
import type { FakeProvider } from '../../runtime/fake.ts';
import type { RuntimeEvent, Survey } from '../../runtime/provider.ts';

const NEVER = new Promise<never>(() => undefined);

/** The clock of one process: it can stand still while time goes on, and after its death nobody is woken by it. */
export class MortalClock implements Clock {
  readonly #clock: Clock;
  dead = false;
  /** For so long the process was stopped so far, milliseconds. */
  frozenMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now() + this.frozenMs;
  }

  monotonic(): number {
    return this.#clock.monotonic() + this.frozenMs;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (this.dead) return NEVER;
    await this.#clock.sleep(ms, signal);
    if (this.dead) await NEVER;
  }
}

export interface Faults {
  /** Called for each call of the provider: what goes wrong with it. */
  next(method: string): 'fine' | 'fails' | 'fails after its effect' | 'dies before' | 'dies after';
  /** Before a call takes effect. */
  before?(method: string, name: string): void;
}

/** One process's view of the runtime: its calls can fail, and stop for good when the process dies. */
export function mortalProvider(
  provider: FakeProvider,
  faults: Faults,
  life: { readonly dead: boolean },
  kill: () => void,
): FakeProvider {
  const die = () => {
    kill();
    return NEVER;
  };
  const faulty = async (method: string, name: string, call: () => Promise<unknown>): Promise<unknown> => {
    if (life.dead) return NEVER;
    const fate = faults.next(method);
    if (fate === 'dies before') return die();
    if (fate === 'fails') return failure(method);
    faults.before?.(method, name);
    const result = await call();
    if (life.dead) return NEVER;
    if (fate === 'dies after') return die();
    return fate === 'fails after its effect' ? failure(method) : result;
  };
  return new Proxy(provider, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      const bound = (...args: readonly unknown[]): unknown => Reflect.apply(value, target, args);
      if (property === 'watch')
        return (signal: AbortSignal) => mortalEvents(target.watch(signal), () => life.dead);
      if (typeof property !== 'string' || !FALLIBLE.has(property)) return bound;
      return (...args: readonly unknown[]) =>
        faulty(property, String(args[0] ?? ''), async () => bound(...args));
    },
  });
}

const FALLIBLE = new Set([
  'start',
  'continueStart',
  'stop',
  'observe',
  'interrupt',
  'setMeta',
  'removeMeta',
  'runLive',
  'waitForIdle',
  'listRunning',
  'peek',
]);

function failure(method: string): Promise<Survey> | Survey {
  if (method === 'observe') return { kind: 'unknown', reason: 'a fault' };
  return Promise.reject(new GcError('fault', `${method} failed`));
}

async function* mortalEvents(
  events: AsyncIterable<RuntimeEvent>,
  dead: () => boolean,
): AsyncGenerator<RuntimeEvent> {
  for await (const event of events) {
    if (dead()) return;
    yield event;
  }
}
