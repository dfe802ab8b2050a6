import type { Clock } from '../../platform/clock.ts';
import type { ControlTransport } from './control-transport.ts';
import type { PlainTransport } from './plain-transport.ts';
import type { Command } from './quote.ts';
import type { Reply, RunOptions, Transport } from './transport.ts';

/** After the control channel was refused, plain commands are used for this long before it is tried again. */
const CONTROL_RETRY_MS = 60_000;

/** The control connection where it can be had, plain commands where the server is there but refuses it. */
export class AutoTransport implements Transport {
  readonly #control: ControlTransport;
  readonly #plain: PlainTransport;
  readonly #clock: Clock;
  readonly #onNotice: (text: string) => void;
  #plainUntil = 0;
  #told = false;

  constructor(
    control: ControlTransport,
    plain: PlainTransport,
    clock: Clock,
    onNotice: (text: string) => void,
  ) {
    this.#control = control;
    this.#plain = plain;
    this.#clock = clock;
    this.#onNotice = onNotice;
  }

  get kind(): 'control' | 'plain' {
    return this.#usesPlain() ? 'plain' : 'control';
  }

  get argumentLimit(): number {
    return this.#usesPlain() ? this.#plain.argumentLimit : this.#control.argumentLimit;
  }

  async run(commands: readonly Command[], options: RunOptions = {}): Promise<Reply> {
    if (this.#usesPlain()) return this.#plain.run(commands, options);
    const connection = await this.#control.connect(options.startServer ?? false);
    if (connection.kind !== 'refused') return this.#control.run(commands, options);
    this.#plainUntil = this.#clock.monotonic() + CONTROL_RETRY_MS;
    if (!this.#told)
      this.#onNotice(`tmux control connection refused, using plain commands: ${connection.detail}`);
    this.#told = true;
    return this.#plain.run(commands, options);
  }

  park(): Promise<void> {
    return this.#control.park();
  }

  async close(): Promise<void> {
    await Promise.all([this.#control.close(), this.#plain.close()]);
  }

  #usesPlain(): boolean {
    return this.#clock.monotonic() < this.#plainUntil;
  }
}
