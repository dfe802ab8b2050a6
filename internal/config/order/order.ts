import type { SourcePosition } from '../city.ts';

export const GATES = ['cooldown', 'cron', 'condition', 'event', 'manual'] as const;
export type Gate = (typeof GATES)[number];

/** Work that comes by itself: a formula or a command, and the gate that says when. */
export interface Order {
  readonly name: string;
  /** The rig whose packs bring it; `''`: the city. */
  readonly rig: string;
  /** `name`, or `name:rig:<rig>`. */
  readonly scopedName: string;
  readonly description: string;
  /** Exactly one of the two is not empty. */
  readonly formula: string;
  readonly exec: string;
  readonly gate: Gate;
  /** Of `cooldown`. */
  readonly intervalMs: number | undefined;
  /** Of `cron`: five fields. */
  readonly schedule: string;
  /** Of `condition`: a shell command. */
  readonly check: string;
  /** Of `event`: a type of event. */
  readonly on: string;
  /** The agent that a formula's work goes to; qualified by the rig. */
  readonly pool: string;
  readonly timeoutMs: number;
  /** The folder of its file, and the pack or the city that it belongs to. */
  readonly dir: string;
  readonly packDir: string;
  readonly source: SourcePosition;
}
