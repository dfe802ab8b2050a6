import type { HostedCity } from '../../../internal/api/hosted-city.ts';
import { messageOf } from '../../../internal/platform/errors.ts';

/** 128 + SIGINT, as shells report it. */
const EXIT_INTERRUPTED = 130;
/** The right to control the city went to another controller. */
export const EXIT_LEASE_LOST = 4;
/** Others may take over five seconds after the loss is known here; what is under way ends before that, or is left. */
const LOST_GRACE_MS = 3_000;

/** How a standalone controller ends; what the signals mean is said in `runStandalone`. They count from the first moment. */
export class StandaloneEnd {
  readonly #print: (line: string) => void;
  readonly #starting = new AbortController();
  #city: HostedCity | undefined;
  #want: 'nothing' | 'stop' | 'detach' = 'nothing';
  /** There is nothing yet that would have to be stopped. */
  #waiting = false;
  #lost = false;
  #leave: (code: number) => void = () => undefined;

  constructor(print: (line: string) => void) {
    this.#print = print;
    process.on('SIGINT', () => this.#interrupted());
    process.on('SIGTERM', () => this.#ask('detach'));
    process.on('SIGHUP', () => this.#ask('detach'));
  }

  /** Aborts when the controller is to end before its city has started. */
  get startAborted(): AbortSignal {
    return this.#starting.signal;
  }

  /** The exit code when it ended before its city had started. */
  get codeWithoutCity(): number {
    return this.#lost ? EXIT_LEASE_LOST : 0;
  }

  /** Waits for something before the city is touched: any signal ends that. */
  async waiting<T>(what: Promise<T>): Promise<T> {
    this.#waiting = true;
    try {
      return await what;
    } finally {
      this.#waiting = false;
    }
  }

  /** Another controller may have the city from now on: nothing more is done to it, whatever was asked before. */
  lose(why: string): void {
    this.#print(`${why}: this controller ends; the sessions keep running`);
    this.#lost = true;
    // What is being stopped goes on being stopped until this process is gone.
    const graceMs = this.#want === 'stop' ? 0 : LOST_GRACE_MS;
    this.#want = 'detach';
    this.#act();
    setTimeout(() => this.#leave(EXIT_LEASE_LOST), graceMs).unref();
  }

  /** The exit code, once the city has ended. */
  async of(city: HostedCity): Promise<number> {
    const left = new Promise<number>((resolve) => {
      this.#leave = resolve;
    });
    this.#city = city;
    this.#act();
    const ended = city.ended.then(() => {
      if (this.#lost) return EXIT_LEASE_LOST;
      const outcome = city.outcome();
      return outcome && (outcome.left.length > 0 || outcome.reason !== undefined) ? 1 : 0;
    });
    return Promise.race([ended, left]);
  }

  #interrupted(): void {
    if (this.#want === 'nothing') this.#ask('stop');
    else if (this.#city) this.#leave(EXIT_INTERRUPTED);
    else this.#starting.abort();
  }

  #ask(want: 'stop' | 'detach'): void {
    if (this.#want !== 'nothing') return;
    this.#want = want;
    this.#print(
      want === 'stop'
        ? 'Stopping the city. Ctrl-C again leaves what still runs to the next controller.'
        : 'Ending; the sessions keep running and are adopted by the next controller.',
    );
    this.#act();
  }

  /** What is to be stopped must come up first: only then are the sessions of an earlier controller known. */
  #act(): void {
    const city = this.#city;
    if (!city && (this.#want === 'detach' || (this.#want === 'stop' && this.#waiting)))
      this.#starting.abort();
    if (this.#want === 'nothing' || !city) return;
    const work = this.#want === 'stop' ? city.stop() : city.detach();
    work.catch((error: unknown) => this.#print(`gc start: ${messageOf(error)}`));
  }
}
