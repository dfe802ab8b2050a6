import { GcError } from '../../platform/errors.ts';
import { SessionExistsError, StartFailedError } from '../errors.ts';
import type { StartOptions, StartResult } from '../provider.ts';
import { isDeadline } from './start-errors.ts';

interface RunningStart {
  readonly token: string;
  readonly abort: AbortController;
  readonly done: Promise<unknown>;
}

/** The starts that are under way in this process: one per name, and a stop of the name cancels it. */
export class RunningStarts {
  readonly #starts = new Map<string, RunningStart>();

  /** @throws SessionExistsError while another start of the name is under way; StartFailedError `start-timeout` */
  async run(
    name: string,
    token: string,
    options: StartOptions,
    work: (options: StartOptions) => Promise<StartResult>,
  ): Promise<StartResult> {
    if (this.#starts.has(name)) throw new SessionExistsError(name, ' is being started');
    const abort = new AbortController();
    const signal = AbortSignal.any([options.signal, abort.signal]);
    let at = 'begin';
    const result = work({
      signal,
      onProgress: (progress) => {
        if (progress.kind === 'step') at = progress.step;
        options.onProgress?.(progress);
      },
    });
    const done = result.then(
      () => undefined,
      () => undefined, // the caller of start gets it; a stop only waits for the end
    );
    this.#starts.set(name, { token, abort, done });
    try {
      return await result;
    } catch (error) {
      if (error !== signal.reason || !isDeadline(error)) throw error;
      throw new StartFailedError(
        'start-timeout',
        `the start of session "${name}" did not end in time, at ${at}`,
        { cause: error },
      );
    } finally {
      this.#starts.delete(name);
    }
  }

  /** Cancels the start of the name and waits for its end. With a token: only the start of that incarnation. */
  async cancel(name: string, token: string | undefined): Promise<void> {
    const running = this.#starts.get(name);
    if (!running || (token !== undefined && token !== running.token)) return;
    running.abort.abort(
      new GcError('start-cancelled', `the start of session "${name}" was cancelled by a stop`),
    );
    await running.done;
  }
}
