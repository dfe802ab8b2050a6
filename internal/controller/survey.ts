import { messageOf } from '../platform/errors.ts';
import { surveySessions } from '../runtime/probe-sessions.ts';
import type { Provider, Survey } from '../runtime/provider.ts';
import type { LivedTime } from './lived-time.ts';

/** A look that takes longer has told nothing. Commands wait 10 s for an answer that contains one. */
const SURVEY_TIMEOUT_MS = 8_500;
/** A look that took so long and told nothing is not repeated at once by everybody who asks. */
const SLOW_MS = 2_000;
const SLOW_KEPT_MS = 5_000;

/** The looks of one process. */
export class Looks {
  readonly #provider: Provider;
  readonly #time: LivedTime;
  #untold: { readonly survey: Survey; readonly until: number } | undefined;

  constructor(provider: Provider, time: LivedTime) {
    this.#provider = provider;
    this.#time = time;
  }

  /** One look at all sessions. Never throws: what could not be told is `unknown`. */
  async now(): Promise<Survey> {
    const begun = this.#time.lived();
    if (this.#untold && begun < this.#untold.until) return this.#untold.survey;
    const survey = await surveyOf(this.#provider, this.#time);
    const ended = this.#time.lived();
    const isSlow = survey.kind === 'unknown' && ended - begun >= SLOW_MS;
    this.#untold = isSlow ? { survey, until: ended + SLOW_KEPT_MS } : undefined;
    return survey;
  }
}

/** One look at all sessions. Never throws: what could not be told is `unknown`. */
async function surveyOf(provider: Provider, time: LivedTime): Promise<Survey> {
  const over = new AbortController();
  const timeout = time.sleepUntil(time.lived() + SURVEY_TIMEOUT_MS, over.signal).then((): Survey => {
    const reason = `${provider.kind} gave no answer within ${SURVEY_TIMEOUT_MS / 1_000}s`;
    return { kind: 'unknown', reason };
  });
  // Rejected by our own abort below, when the look was faster.
  timeout.catch(() => undefined);
  try {
    return await Promise.race([surveySessions(provider), timeout]);
  } catch (error) {
    return { kind: 'unknown', reason: messageOf(error) };
  } finally {
    over.abort();
  }
}
