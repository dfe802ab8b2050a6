import type { CityDatabase } from '../beads/sqlite/city-database.ts';
import type { Decision, NewDecision } from '../beads/sqlite/decision-table.ts';
import { rfc3339 } from '../platform/clock.ts';

/** A decision about one session, as it is taken. */
export type SessionDecision = Omit<NewDecision, 'sessionId'>;

/** A decision as `gc explain` shows it. */
export interface LoggedDecision {
  /** RFC 3339. */
  readonly at: string;
  readonly what: string;
  readonly why: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly lines?: readonly string[];
}

export const DECISIONS_EXPLAINED = 10;

/** Why things were done to a session. The last 50 of each are kept; a repeated one is kept once. */
export class DecisionLog {
  readonly #database: CityDatabase;

  constructor(database: CityDatabase) {
    this.#database = database;
  }

  /** For a decision that changes no record; others are committed together with what they change. */
  async record(sessionId: string, decision: SessionDecision): Promise<LoggedDecision> {
    const logged = await this.#database.transaction((tx) => tx.recordDecision({ ...decision, sessionId }));
    return toLogged(logged);
  }

  /** Newest last. */
  async last(sessionId: string, limit: number = DECISIONS_EXPLAINED): Promise<readonly LoggedDecision[]> {
    return (await this.#database.decisions(sessionId, limit)).map(toLogged);
  }
}

function toLogged(decision: Decision): LoggedDecision {
  return {
    at: rfc3339(decision.at),
    what: decision.what,
    why: decision.why,
    inputs: decision.inputs,
    ...(decision.lines ? { lines: decision.lines } : {}),
  };
}
