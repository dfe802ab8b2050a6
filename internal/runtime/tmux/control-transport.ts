import type { Clock } from '../../platform/clock.ts';
import { GcError, messageOf } from '../../platform/errors.ts';
import { ControlClient } from './control-client.ts';
import { attachKeeper, type City } from './ownership.ts';
import { PlainTransport } from './plain-transport.ts';
import type { Command } from './quote.ts';
import { probeServer, serverSocketPath, type TmuxServer } from './server.ts';
import type { Reply, RunOptions, Transport } from './transport.ts';
import { tmuxVersion } from './version.ts';

/** One mebibyte arrives in about 0.3 s; beyond it the data goes through a standard input. */
const CONTROL_ARGUMENT_LIMIT_BYTES = 1_100_000;
/** After a refused connection the next one is not tried before this. */
const REFUSED_PAUSE_MS = 1_000;

/** Whether the control channel can be had now. */
export type Connection =
  | { readonly kind: 'ready'; readonly client: ControlClient }
  /** There is a server, and this transport is parked: plain commands until it may start a server again. */
  | { readonly kind: 'parked' }
  | { readonly kind: 'no-server'; readonly detail: string }
  | { readonly kind: 'silent'; readonly detail: string }
  | { readonly kind: 'refused'; readonly detail: string };

/**
 * Commands over one long control-mode connection, made on demand and made again after a loss. For long-lived
 * processes: each new connection is a small risk to the server (see `ControlClient`), so a short command uses plain ones.
 */
export class ControlTransport implements Transport {
  readonly kind = 'control';
  readonly argumentLimit = CONTROL_ARGUMENT_LIMIT_BYTES;
  readonly #server: TmuxServer;
  readonly #city: City;
  readonly #clock: Clock;
  readonly #silenceMs: number;
  /** Large answers and large data have a connection of their own. */
  readonly #plain: PlainTransport;
  #client: ControlClient | undefined;
  #opening: Promise<Connection> | undefined;
  #versionChecked = false;
  #refused: { readonly until: number; readonly connection: Connection } | undefined;
  #parked = false;
  #closed = false;

  constructor(server: TmuxServer, city: City, clock: Clock, silenceMs: number) {
    this.#server = server;
    this.#city = city;
    this.#clock = clock;
    this.#silenceMs = silenceMs;
    this.#plain = new PlainTransport(server, silenceMs);
  }

  async run(commands: readonly Command[], options: RunOptions = {}): Promise<Reply> {
    for (let attempt = 1; ; attempt += 1) {
      const connection = await this.connect(options.startServer ?? false);
      if (connection.kind === 'no-server') return connection;
      if (connection.kind === 'silent' || connection.kind === 'refused') {
        return { kind: 'no-answer', detail: connection.detail };
      }
      if (connection.kind === 'parked' || options.stdin || options.bulk)
        return this.#plain.run(commands, options);
      const reply = await connection.client.request(commands);
      if (reply.kind === 'silent') return { kind: 'no-answer', detail: reply.reason };
      if (reply.kind !== 'lost') return reply;
      const fact = await probeServer(serverSocketPath(this.#server));
      if (fact.kind === 'absent') return { kind: 'no-server', detail: fact.detail };
      if (!options.repeatable || attempt > 1) return { kind: 'no-answer', detail: reply.reason };
    }
  }

  /** Opens the connection when there is none. A server is started only when that is asked for. */
  async connect(startServer: boolean): Promise<Connection> {
    if (this.#closed) return { kind: 'silent', detail: 'the tmux connection was closed' };
    const client = this.#client;
    if (client && !client.signal.aborted) return this.#connectionOf(client);
    if (this.#opening) {
      const got = await this.#opening;
      const again = startServer && (got.kind === 'no-server' || got.kind === 'parked');
      return again ? this.connect(true) : got;
    }
    const done = this.#open(startServer).finally(() => {
      this.#opening = undefined;
    });
    this.#opening = done;
    return done;
  }

  async park(): Promise<void> {
    this.#parked = true;
    await this.#letGo('the tmux connection was parked');
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#letGo('the tmux connection was closed');
    await this.#plain.close();
  }

  async #letGo(reason: string): Promise<void> {
    await this.#opening;
    await this.#client?.close(reason);
    this.#client = undefined;
  }

  async #open(startServer: boolean): Promise<Connection> {
    if (startServer) this.#parked = false;
    else {
      const fact = await probeServer(serverSocketPath(this.#server));
      if (fact.kind === 'absent') return { kind: 'no-server', detail: fact.detail };
      if (this.#parked) return { kind: 'parked' };
    }
    if (this.#refused && this.#clock.monotonic() < this.#refused.until) return this.#refused.connection;
    const unfit = await this.#whyUnfit();
    if (unfit) return this.#refuse(unfit);
    this.#client = new ControlClient({
      server: this.#server,
      clock: this.#clock,
      attach: attachKeeper(this.#city),
      startServer,
      silenceMs: this.#silenceMs,
    });
    return this.#connectionOf(this.#client);
  }

  async #connectionOf(client: ControlClient): Promise<Connection> {
    const state = await client.state();
    switch (state.kind) {
      case 'ready':
        return { kind: 'ready', client };
      case 'silent':
        return { kind: 'silent', detail: state.reason };
      case 'ended': {
        const fact = await probeServer(serverSocketPath(this.#server));
        return fact.kind === 'absent'
          ? { kind: 'no-server', detail: fact.detail }
          : this.#refuse(state.reason);
      }
    }
  }

  #refuse(detail: string): Connection {
    const connection: Connection = { kind: 'refused', detail };
    this.#refused = { until: this.#clock.monotonic() + REFUSED_PAUSE_MS, connection };
    return connection;
  }

  /** Before 3.3 the server crashes when a pane dies that a control client looks at, which the keeper's does at once. */
  async #whyUnfit(): Promise<string | undefined> {
    if (this.#versionChecked) return undefined;
    try {
      const version = await tmuxVersion(this.#server);
      if (!version.controlMode) return `control mode of tmux ${version.text} is not safe to use`;
      this.#versionChecked = true;
      return undefined;
    } catch (error) {
      return error instanceof GcError ? error.message : messageOf(error);
    }
  }
}
