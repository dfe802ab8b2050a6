/**
 * The right to act on a city, where more than the city's own lock gives it: a city in a cluster has one controller in
 * the whole cluster. Held while the controller runs; without it nothing is started, ended or written by the plan.
 */
export interface Tenure {
  /** Whether it holds at this moment, by this process's own clocks. */
  held(): boolean;
}

/** A tenure that is one of a row: what it writes outside this machine carries its number. */
export interface FencedTenure extends Tenure {
  /** Of two controllers that believe to have the city, the one with the higher number is right. */
  readonly fence: number;
}
