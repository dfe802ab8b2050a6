import type { BeadsSettings } from './bead-provider.ts';
import type { Daemon } from './daemon-settings.ts';
import type { PromptMode, ProviderSpec } from './preset/provider-spec.ts';

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
  readonly beads: BeadsSettings;
  readonly events: { readonly provider: string };
  readonly mail: { readonly provider: string };
  readonly api: ApiSettings;
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
  readonly services: readonly Service[];
  /** Every pack in use, each folder once per scope, in load order. */
  readonly packs: readonly PackUse[];
  /** `gc <binding> <words>`; shallow ones first, then by words. */
  readonly commands: readonly PackCommand[];
  readonly doctors: readonly PackDoctor[];
  readonly layers: Layers;
  /** `<city>/skills` and `<city>/mcp`, or `''`. */
  readonly skillsDir: string;
  readonly mcpDir: string;
  /** Files that were read, the city file first. */
  readonly sources: readonly string[];
  /** Lowercase hex SHA-256 over all sources; equal revision means nothing to reload. */
  readonly revision: string;
  readonly provenance: Provenance;
  readonly warnings: readonly ConfigProblem[];
  /** What is tolerated for the sake of old files. */
  readonly notes: readonly ConfigProblem[];
}

export interface ApiSettings {
  readonly port: number;
  readonly bind: string;
  readonly allowMutations: boolean;
  /** `host:port` of the Sessions service; absent: on the socket in `.gc` only. */
  readonly grpc?: string;
  /** `host:port` of the HarnessRegistry; absent: nowhere. */
  readonly registry?: string;
  /** Counts from the city's folder; its first line is what callers of `grpc` must show. */
  readonly tokenFile?: string;
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
  /** As written; the packs themselves are in `City.packs`. */
  readonly includes: readonly string[];
  /** What `gc rig add` writes into a rig when no pack is named. */
  readonly defaultRigIncludes: readonly string[];
}

/**
 * Folders that packs contribute, absolute, weakest first; each holds for the city, and per rig (by name) what its own
 * packs add. Source: Gas City formula, script and overlay layers.
 */
export interface Layers {
  readonly packDirs: ScopedFolders;
  readonly overlays: ScopedFolders;
  readonly scripts: ScopedFolders;
  /** A rig's list holds the city's layers first. */
  readonly formulas: ScopedFolders;
}

export interface ScopedFolders {
  readonly city: readonly string[];
  readonly rigs: Readonly<Record<string, readonly string[]>>;
}

/** How a pack came in. */
export interface PackUse {
  readonly name: string;
  readonly version: string;
  /** Absolute. */
  readonly dir: string;
  readonly via: 'city' | 'include' | 'import' | 'system' | 'implicit';
  /** The name of the import that brought it; `''` for includes. */
  readonly binding: string;
  /** The rig it was loaded for; `''` for the city. */
  readonly rig: string;
  /** As written: a path or a remote source. */
  readonly source: string;
  /** Dir of the pack that asked for it; the city's root at the top. */
  readonly parent: string;
}

export interface PackCommand {
  readonly binding: string;
  readonly packName: string;
  readonly packDir: string;
  readonly words: readonly string[];
  readonly description: string;
  /** Absolute path of the long help, or `''`. */
  readonly helpFile: string;
  /** Absolute path, or a template with `{{` that is expanded when it runs. */
  readonly run: string;
  /** The folder that a relative expanded template starts from. */
  readonly dir: string;
}

export interface PackDoctor {
  /** Its check is called `<binding or pack>:<name>`. */
  readonly name: string;
  readonly binding: string;
  readonly packName: string;
  readonly packDir: string;
  readonly description: string;
  readonly run: string;
  readonly helpFile: string;
  /** The rig whose pack brought it; `''` for the city. */
  readonly rig: string;
}

/** A process or workflow that a pack publishes under `/svc/<name>`. Loaded and validated here. */
export interface Service {
  readonly name: string;
  readonly kind: 'workflow' | 'proxy_process';
  readonly publishMode: 'private' | 'direct';
  /** Relative to the city, below `.gc/services/`. */
  readonly stateRoot: string;
  readonly publication: {
    readonly visibility: 'private' | 'public' | 'tenant';
    readonly hostname: string;
    readonly allowWebsockets: boolean;
  };
  readonly workflow: { readonly contract: string };
  readonly process: { readonly command: readonly string[]; readonly healthPath: string };
  /** The pack's folder, or the city's. */
  readonly sourceDir: string;
  readonly source: SourcePosition;
}

/** A git worktree of the rig for each session of an agent. */
export interface Worktree {
  /** Template of the branch name: the fields of `work_dir`. */
  readonly branch: string;
  /** What a new branch starts from; `''`: the rig's current commit. */
  readonly base: string;
  /** Shell commands in a new worktree, once. */
  readonly setup: readonly string[];
  /** Shell commands in a worktree that is about to be removed. */
  readonly archive: readonly string[];
  /** Untracked files and folders of the rig that a new worktree gets, as glob patterns. */
  readonly copy: readonly string[];
  /** Ports that each worktree has for itself; 0: none. */
  readonly ports: number;
}

/** Amounts as Kubernetes writes them: `500m`, `1Gi`. */
export interface K8sSessionSettings {
  readonly namespace: string;
  readonly image: string;
  /** `''`: the current one of the kubeconfig. */
  readonly context: string;
  readonly cpuRequest: string;
  readonly memRequest: string;
  readonly cpuLimit: string;
  readonly memLimit: string;
  readonly prebaked: boolean;
  /** `''`: the namespace's default one. */
  readonly serviceAccount: string;
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
  readonly k8s: K8sSessionSettings;
  readonly acp: {
    readonly handshakeTimeoutMs: number;
    readonly nudgeBusyTimeoutMs: number;
    readonly outputBufferLines: number;
  };
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
  readonly worktree: Worktree | undefined;
  /** The pack that declares it, or `''`. */
  readonly packName: string;
  /** Made from a configured preset, not written by anybody. */
  readonly implicit: boolean;
  /** Its own skills and MCP catalog, absolute, or `''`. */
  readonly skillsDir: string;
  readonly mcpDir: string;
  /** Who set `sleepAfterIdle`; `''`: nobody. */
  readonly sleepSource: '' | 'agent' | 'agent_patch' | 'rig_override';
  /** The file that declares it and where: for messages. */
  readonly source: SourcePosition;
  /** What `{{.ConfigDir}}` stands for in its commands: the folder of the configuration it came with. */
  readonly sourceDir: string;
}

export interface NamedSession {
  /** `[dir/][binding.](name or template)`. */
  readonly identity: string;
  readonly template: string;
  readonly templateQualifiedName: string;
  readonly dir: string;
  readonly mode: 'always' | 'on_demand';
  readonly source: SourcePosition;
}

export interface RigImport {
  readonly binding: string;
  readonly source: string;
  readonly version: string;
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
  /** As written. */
  readonly includes: readonly string[];
  readonly imports: readonly RigImport[];
  readonly source: SourcePosition;
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
  /** Who wrote it: `city.toml`, `pack gastown`, `patch in pack gastown`, `override of rig api`. */
  layerOf(path: string): string | undefined;
}

/** One thing that is wrong, with the place and the way out. */
export interface ConfigProblem {
  /** `note`: tolerated for the sake of old files; shown by the commands that inspect a config, not by every command. */
  readonly severity: 'error' | 'warning' | 'note';
  /** Stable, kebab-case. */
  readonly code: string;
  readonly message: string;
  readonly position: SourcePosition | undefined;
  readonly hint: string | undefined;
}
