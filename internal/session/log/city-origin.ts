/** `origin.source` of the logs that a city writes for its agents. */
export const CITY_SOURCE = 'gascity';
/** The harness of those logs: known, and never served. A fork of one is a plain session and has another. */
export const CITY_HARNESS = 'gascity';
