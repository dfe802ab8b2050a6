import { HttpCityApi } from '../../../internal/api/http/city-client.ts';
import type { CityStatus } from '../../../internal/controller/city-api.ts';
import { apiSocketPath } from '../../../internal/controller/control-socket-client.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { isUnreachable } from '../city/access.ts';
import type { Context } from '../context.ts';
import { onePlainLine } from '../output/plain.ts';
import {
  countText,
  failedCommands,
  nameColumnsOf,
  nextCommands,
  pictureOf,
  type StartPicture,
  type StartRow,
  startHeader,
  startLines,
} from '../output/progress.ts';

const POLL_MS = 150;
/** Not a limit of the whole start: only of a time in which nothing moved. */
const NO_PROGRESS_TIMEOUT_MS = 120_000;
/** What cannot be told for so long is not only slow: the runtime itself is out of reach. */
const UNTOLD_TIMEOUT_MS = 5_000;

/**
 * Shows how the sessions of a city come up and ends when each is up, waits for a person or has failed. Exit code 0
 * when none failed. `phase` is what the supervisor says about the city, `''` once it has begun to run: before that its
 * list of sessions is not complete. It throws when the city will not start.
 */
export async function watchStart(
  context: Context,
  root: string,
  phase: () => Promise<string>,
): Promise<number> {
  const api = new HttpCityApi(apiSocketPath(root, context.env), context.clock);
  const screen = new StartScreen(context);
  let key = '';
  let movedAt = context.clock.monotonic();
  let toldAt = context.clock.monotonic();
  let hasBegun = false;
  for (;;) {
    // Asked before the list of sessions: a list from before the beginning says nothing.
    const waitsFor: string = hasBegun ? '' : await phase();
    const status = await statusOrUndefined(api);
    const picture = status ? pictureOf(status) : undefined;
    hasBegun = status !== undefined && waitsFor === '';
    const now = context.clock.monotonic();
    const seen = picture?.key ?? waitsFor;
    if (seen !== key) movedAt = now;
    key = seen;
    if (!picture || !hasBegun || !isUntold(picture)) toldAt = now;
    if (status && picture) screen.show(status, picture);
    if (context.signal.aborted) return screen.leave();
    if (status && picture?.settled && hasBegun) return screen.finish(status, picture);
    if (status && picture && now - toldAt > UNTOLD_TIMEOUT_MS) return screen.untold(status, picture);
    if (now - movedAt > NO_PROGRESS_TIMEOUT_MS) return screen.giveUp(status, picture);
    try {
      await context.clock.sleep(POLL_MS, context.signal);
    } catch {
      return screen.leave(); // Ctrl-C ends the watching, not the city
    }
  }
}

async function statusOrUndefined(api: HttpCityApi): Promise<CityStatus | undefined> {
  try {
    return await api.status();
  } catch (error) {
    if (isUnreachable(error) || (error instanceof GcError && error.code === 'controller-lost'))
      return undefined;
    throw error;
  }
}

const isSettled = (row: StartRow): boolean =>
  row.stage !== 'pending' && row.stage !== 'starting' && row.stage !== 'unknown';

/** Nothing else is waited for than what nobody can tell. */
function isUntold({ rows }: StartPicture): boolean {
  const open = rows.filter((row) => !isSettled(row));
  return open.length > 0 && open.every((row) => row.stage === 'unknown');
}

/** A choice that is not followed is said: nobody finds it by looking for it elsewhere. */
function unusedChoice({ provider }: CityStatus, env: Context['env']): string {
  const chosen = env['GC_SESSION'] ?? '';
  const isInside = (env['GC_SESSION_NAME'] ?? '') !== '';
  if (chosen === '' || isInside || chosen === provider.name) return '';
  return `GC_SESSION=${onePlainLine(chosen)} is not used: sessions live in ${provider.name} (gc stop, then gc start)\n`;
}

/** The lines of one start: drawn again at a terminal, printed once each into a pipe. */
class StartScreen {
  readonly #context: Context;
  readonly #begun: number;
  #headerShown = false;
  #drawnLines = 0;
  #printed = new Set<string>();

  constructor(context: Context) {
    this.#context = context;
    this.#begun = context.clock.monotonic();
  }

  show(status: CityStatus, picture: StartPicture): void {
    const { out } = this.#context;
    if (!this.#headerShown)
      out.write(`${startHeader(status, out.style)}\n${unusedChoice(status, this.#context.env)}`);
    this.#headerShown = true;
    if (out.isTTY) this.#redraw(picture.rows);
    else this.#printSettled(picture.rows.filter(isSettled), picture.rows);
  }

  /** Ctrl-C. */
  leave(): number {
    const line = 'The city keeps starting; Ctrl-C here does not stop it.';
    this.#context.out.write(`${line}\n`);
    return 0;
  }

  finish(status: CityStatus, picture: StartPicture): number {
    const { out, gc } = this.#context;
    const failed = picture.rows.some((row) => row.stage === 'failed' || row.stage === 'blocked');
    const keeps = failed ? ' The city keeps trying.' : '';
    out.write(`${countText(picture.rows)}${keeps}\n`);
    // Also when an agent failed: the city itself runs, and scripts wait for this line.
    if (!out.isTTY) out.write('City started under supervisor.\n');
    if (failed) out.write(`\n${failedCommands(picture.rows, gc)}`);
    else if (picture.rows.length > 0) out.write(`\n${nextCommands(status, picture.rows, gc)}`);
    return failed ? 1 : 0;
  }

  giveUp(status: CityStatus | undefined, picture: StartPicture | undefined): number {
    if (status && picture) {
      if (!this.#context.out.isTTY) this.#printSettled(picture.rows, picture.rows);
      this.#context.out.write(`${countText(picture.rows)} The city keeps trying.\n`);
    }
    throw new GcError('start-stalled', `nothing moved for ${NO_PROGRESS_TIMEOUT_MS / 1_000}s`, {
      next: 'gc status, gc explain <session>, gc supervisor logs',
    });
  }

  untold(status: CityStatus, picture: StartPicture): number {
    const { out } = this.#context;
    if (!out.isTTY) this.#printSettled(picture.rows.filter(isSettled), picture.rows);
    out.write(`${countText(picture.rows)} Nothing is started or stopped meanwhile; the city keeps trying.\n`);
    const why = status.sessions.find((session) => session.condition === 'unknown')?.detail;
    throw new GcError('runtime-unknown', why ?? 'the sessions could not be looked at', {
      next: 'mend that: the city goes on by itself. After a change of the environment: gc stop, then gc start',
    });
  }

  #redraw(rows: readonly StartRow[]): void {
    const { out } = this.#context;
    const up = this.#drawnLines > 0 ? `\x1b[${this.#drawnLines}A` : '';
    const lines = rows
      .flatMap((row) => this.#lines(row, rows, out.columns))
      .map((line) => `\x1b[2K${line}\n`);
    out.write(`${up}${lines.join('')}\x1b[J`);
    this.#drawnLines = lines.length;
  }

  #printSettled(settled: readonly StartRow[], rows: readonly StartRow[]): void {
    for (const row of settled) {
      const key = `${row.name} ${row.stage}`;
      if (this.#printed.has(key)) continue;
      this.#printed.add(key);
      for (const line of this.#lines(row, rows, Number.POSITIVE_INFINITY))
        this.#context.out.write(`${line}\n`);
    }
  }

  #lines(row: StartRow, rows: readonly StartRow[], columns: number): readonly string[] {
    const { out, gc, clock } = this.#context;
    const style = { columns, style: out.style, gc };
    return startLines(row, nameColumnsOf(rows, columns), clock.monotonic() - this.#begun, style);
  }
}
