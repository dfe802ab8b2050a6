/**
 * A city as the rest of the product sees it: parsed, validated, defaults filled in where the specification gives
 * one value, every duration in milliseconds. Produced only by `loadCity`.
 */
export interface City {
  /** Absolute path of the city's folder. */
  readonly root: string;
  /** Absolute path of the city file that was read. */
  readonly file: string;
  readonly workspace: Workspace;
  readonly session: SessionSettings;
  readonly daemon: Daemon;
  readonly beads: { readonly provider: string };
  readonly events: { readonly provider: string };
  readonly mail: { readonly provider: string };
  readonly api: { readonly port: number; readonly bind: string; readonly allowMutations: boolean };
  readonly chatSessions: { readonly idleTimeoutMs: number };
  readonly orders: Orders;
  readonly dolt: { readonly port: number; readonly host: string };
  readonly formulas: { readonly dir: string };
  readonly convergence: { readonly maxPerAgent: number; readonly maxTotal: number };
  readonly sessionSleep: SessionSleep;
  readonly agentDefaults: AgentDefaults;
  readonly agents: readonly Agent[];
  readonly namedSessions: readonly NamedSession[];
  readonly rigs: readonly Rig[];
  /** Presets written in the file, by name; built-in ones are in presets.ts. */
  readonly providers: Readonly<Record<string, ProviderSpec>>;
  /** Files that were read, the city file first. */
  readonly sources: readonly string[];
  /** Lowercase hex SHA-256 over all sources; equal revision means nothing to reload. */
  readonly revision: string;
  readonly provenance: Provenance;
  readonly warnings: readonly ConfigProblem[];
}

export interface Workspace {
  /** `workspace.name`, else the base name of the city's folder. */
  readonly name: string;
  readonly prefix: string;
  readonly provider: string;
  readonly startCommand: string;
  readonly suspended: boolean;
  readonly maxActiveSessions: number | undefined;
  readonly sessionTemplate: string;
  readonly installAgentHooks: readonly string[];
  readonly globalFragments: readonly string[];
}

export interface SessionSettings {
  /** `''`: not chosen. */
  readonly provider: string;
  readonly setupTimeoutMs: number;
  readonly nudgeReadyTimeoutMs: number;
  readonly nudgeRetryIntervalMs: number;
  readonly nudgeLockTimeoutMs: number;
  readonly debounceMs: number;
  readonly displayMs: number;
  readonly startupTimeoutMs: number;
  /** `''`: the city's name. */
  readonly socket: string;
  readonly remoteMatch: string;
  readonly k8s: Readonly<Record<string, string | boolean>>;
  readonly acp: {
    readonly handshakeTimeoutMs: number;
    readonly nudgeBusyTimeoutMs: number;
    readonly outputBufferLines: number;
  };
}

export interface Daemon {
  readonly patrolIntervalMs: number;
  /** 0: unlimited. */
  readonly maxRestarts: number;
  readonly restartWindowMs: number;
  readonly shutdownTimeoutMs: number;
  readonly driftDrainTimeoutMs: number;
  readonly probeConcurrency: number;
  readonly maxWakesPerTick: number;
  readonly observePaths: readonly string[];
  readonly formulaV2: boolean;
  readonly wispGcIntervalMs: number | undefined;
  readonly wispTtlMs: number | undefined;
}

export interface Orders {
  readonly skip: readonly string[];
  readonly maxTimeoutMs: number | undefined;
  readonly overrides: readonly OrderOverride[];
}

/** Absent: not written. An empty `rig` means the city's own order of that name. */
export interface OrderOverride {
  readonly name: string;
  readonly rig: string;
  readonly enabled?: boolean;
  readonly gate?: string;
  readonly intervalMs?: number;
  readonly schedule?: string;
  readonly check?: string;
  readonly on?: string;
  readonly pool?: string;
  readonly timeoutMs?: number;
}

export interface SessionSleep {
  /** A duration, `off`, or `''` for unset. */
  readonly interactiveResume: string;
  readonly interactiveFresh: string;
  readonly noninteractive: string;
}

export interface AgentDefaults {
  readonly model: string;
  readonly wakeMode: string;
  readonly defaultSlingFormula: string;
  readonly allowOverlay: readonly string[];
  readonly allowEnvOverride: readonly string[];
  readonly appendFragments: readonly string[];
}

/** An agent template. Absent optional numbers and booleans mean "not written". */
export interface Agent {
  readonly name: string;
  /** The rig's name, or `''` for the city. */
  readonly dir: string;
  readonly binding: string;
  /** `[dir/][binding.]name`. */
  readonly qualifiedName: string;
  readonly description: string;
  readonly workDir: string;
  readonly scope: '' | 'city' | 'rig';
  readonly suspended: boolean;
  readonly preStart: readonly string[];
  /** Absolute path, or `''`. */
  readonly promptTemplate: string;
  readonly nudge: string;
  readonly session: '' | 'acp';
  readonly provider: string;
  readonly startCommand: string;
  readonly args: readonly string[] | undefined;
  readonly promptMode: '' | PromptMode;
  readonly promptFlag: string;
  readonly readyDelayMs: number | undefined;
  readonly readyPromptPrefix: string | undefined;
  readonly processNames: readonly string[] | undefined;
  readonly emitsPermissionWarning: boolean | undefined;
  readonly pty: boolean;
  readonly env: Readonly<Record<string, string>>;
  readonly optionDefaults: Readonly<Record<string, string>>;
  readonly maxActiveSessions: number | undefined;
  readonly minActiveSessions: number;
  readonly scaleCheck: string;
  readonly drainTimeoutMs: number;
  readonly onBoot: string;
  readonly onDeath: string;
  /** Absolute path of the file with session names, or `''`. */
  readonly namepool: string;
  /** The names in it; empty when there is no such file. */
  readonly namepoolNames: readonly string[];
  readonly workQuery: string;
  readonly slingQuery: string;
  readonly idleTimeoutMs: number | undefined;
  readonly sleepAfterIdle: string;
  readonly installAgentHooks: readonly string[] | undefined;
  readonly hooksInstalled: boolean | undefined;
  readonly sessionSetup: readonly string[];
  readonly sessionSetupScript: string;
  readonly sessionLive: readonly string[];
  /** Absolute path, or `''`. */
  readonly overlayDir: string;
  readonly defaultSlingFormula: string | undefined;
  readonly injectFragments: readonly string[];
  readonly injectAssignedSkills: boolean;
  readonly attach: boolean;
  readonly fallback: boolean;
  /** Qualified names. */
  readonly dependsOn: readonly string[];
  readonly resumeCommand: string;
  readonly wakeMode: 'resume' | 'fresh';
  /** The file that declares it and where: for messages. */
  readonly source: SourcePosition;
  /** What `{{.ConfigDir}}` stands for in its commands: the folder of the configuration it came with. */
  readonly sourceDir: string;
}

export type PromptMode = 'arg' | 'flag' | 'none';

export interface NamedSession {
  /** `[dir/][binding.](name or template)`. */
  readonly identity: string;
  readonly template: string;
  readonly templateQualifiedName: string;
  readonly dir: string;
  readonly mode: 'always' | 'on_demand';
  readonly source: SourcePosition;
}

export interface Rig {
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  readonly prefix: string;
  readonly suspended: boolean;
  readonly maxActiveSessions: number | undefined;
  readonly formulasDir: string;
  readonly sessionSleep: SessionSleep;
  readonly defaultSlingTarget: string;
  readonly doltHost: string;
  readonly doltPort: string;
  readonly source: SourcePosition;
}

/** A preset as it is written; absent means: take the built-in's. */
export interface ProviderSpec {
  readonly displayName?: string;
  readonly command?: string;
  readonly args?: readonly string[];
  readonly promptMode?: PromptMode;
  readonly promptFlag?: string;
  readonly readyDelayMs?: number;
  readonly readyPromptPrefix?: string;
  readonly processNames?: readonly string[];
  readonly emitsPermissionWarning?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly pathCheck?: string;
  readonly supportsAcp?: boolean;
  readonly supportsHooks?: boolean;
  readonly instructionsFile?: string;
  readonly resumeFlag?: string;
  readonly resumeStyle?: 'flag' | 'subcommand';
  readonly resumeCommand?: string;
  readonly sessionIdFlag?: string;
  readonly permissionModes?: Readonly<Record<string, string>>;
  readonly optionDefaults?: Readonly<Record<string, string>>;
  readonly optionsSchema?: readonly ProviderOption[];
  readonly printArgs?: readonly string[];
  readonly titleModel?: string;
}

export interface ProviderOption {
  readonly key: string;
  readonly label: string;
  readonly type: string;
  readonly default: string;
  readonly choices: readonly {
    readonly value: string;
    readonly label: string;
    readonly flagArgs: readonly string[];
  }[];
}

/** Where a value was written. Lines and columns start at 1. */
export interface SourcePosition {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** Value path (`agents[2].prompt_template`) to the place where it was written. */
export interface Provenance {
  positionOf(path: string): SourcePosition | undefined;
}

/** One thing that is wrong, with the place and the way out. */
export interface ConfigProblem {
  readonly severity: 'error' | 'warning';
  /** Stable, kebab-case. */
  readonly code: string;
  readonly message: string;
  readonly position: SourcePosition | undefined;
  readonly hint: string | undefined;
}
