/** Label and type of the bead that is a session's record. */
export const SESSION_BEAD_TYPE = 'session';
export const SESSION_BEAD_LABEL = 'gc:session';

/**
 * A durable identity with a record. The metadata map is the record; this is a typed look at it.
 * Source: Gas City session bead metadata. Absent or empty keys read as `''`, `0` or `undefined`.
 */
export interface SessionRecord {
  readonly id: string;
  readonly revision: number;
  readonly closed: boolean;
  readonly title: string;
  readonly createdAt: number;
  readonly template: string;
  readonly agentName: string;
  readonly sessionName: string;
  readonly sessionNameExplicit: boolean;
  readonly alias: string;
  readonly state: string;
  readonly stateReason: string;
  readonly origin: '' | 'manual' | 'ephemeral' | 'named';
  readonly namedIdentity: string;
  readonly namedMode: string;
  readonly provider: string;
  readonly providerKind: string;
  readonly workDir: string;
  readonly command: string;
  readonly sessionKey: string;
  /** `acp`: its agent is spoken to in the Agent Client Protocol; `''`: at its terminal. Source: Gas City. */
  readonly transport: string;
  readonly generation: number;
  readonly continuationEpoch: number;
  readonly instanceToken: string;
  readonly pendingCreateClaim: boolean;
  readonly startedConfigHash: string;
  readonly startedLiveHash: string;
  /** Milliseconds since the epoch. */
  readonly lastWokeAt: number | undefined;
  readonly heldUntil: number | undefined;
  readonly quarantinedUntil: number | undefined;
  readonly sleepReason: string;
  readonly sleepIntent: string;
  readonly waitHold: boolean;
  readonly pinAwake: boolean;
  readonly restartRequested: boolean;
  readonly continuationResetPending: boolean;
  readonly dependencyOnly: boolean;
  readonly wakeMode: string;
  /** Everything, for keys that have no field of their own. */
  readonly metadata: Readonly<Record<string, string>>;
}
