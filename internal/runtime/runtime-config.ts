/**
 * Everything a provider needs to run one session, fully resolved: templates expanded, environment merged, prompt
 * quoted. The runtime knows nothing of cities, beads or policy. Source: Gas City `runtime.Config`.
 */
export interface RuntimeConfig {
  /** Absolute; created by the caller before the start. */
  readonly workDir: string;
  /** A shell command; `''` is the default shell. */
  readonly command: string;
  /** An empty value means: unset in the session. */
  readonly env: Readonly<Record<string, string>>;
  readonly readyPromptPrefix: string;
  readonly readyDelayMs: number;
  readonly processNames: readonly string[];
  readonly emitsPermissionWarning: boolean;
  /** Typed after the agent is ready. */
  readonly nudge: string;
  readonly preStart: readonly string[];
  readonly sessionSetup: readonly string[];
  readonly sessionSetupScript: string;
  readonly sessionLive: readonly string[];
  /** The agent preset's kind (`claude`, `codex` ...): picks overlay slots, dialog rules and submit timing. */
  readonly providerName: string;
  readonly installAgentHooks: readonly string[];
  readonly packOverlayDirs: readonly string[];
  readonly overlayDir: string;
  readonly copyFiles: readonly CopyEntry[];
  /** Data that only the fingerprint sees. */
  readonly fingerprintExtra: Readonly<Record<string, string>>;
  /** The shell-quoted prompt, given to the command as an argument. */
  readonly promptSuffix: string;
  /** Placed before `promptSuffix`. */
  readonly promptFlag: string;
  /**
   * The agent's own id of the conversation to go on with, for providers that speak a protocol to it; `''`: a new one.
   * Programs that take it as an argument have it in `command`. No fingerprint sees it.
   */
  readonly conversation: string;
  /** `false`: pipes instead of a terminal, where the provider has the choice. */
  readonly pty: boolean;
  /** Each pre_start, setup and live command may take this long, milliseconds. */
  readonly setupTimeoutMs: number;
}

export interface CopyEntry {
  readonly src: string;
  /** Relative to the work dir; `''` is its root. */
  readonly relDst: string;
  /** Found by looking at the disk, not named in the config. */
  readonly probed: boolean;
  /** Lowercase hex SHA-256, `''` when it could not be read. */
  readonly contentHash: string;
}

export const DEFAULT_SETUP_TIMEOUT_MS = 10_000;

export const EMPTY_RUNTIME_CONFIG: RuntimeConfig = Object.freeze({
  workDir: '',
  command: '',
  env: {},
  readyPromptPrefix: '',
  readyDelayMs: 0,
  processNames: [],
  emitsPermissionWarning: false,
  nudge: '',
  preStart: [],
  sessionSetup: [],
  sessionSetupScript: '',
  sessionLive: [],
  providerName: '',
  installAgentHooks: [],
  packOverlayDirs: [],
  overlayDir: '',
  copyFiles: [],
  fingerprintExtra: {},
  promptSuffix: '',
  promptFlag: '',
  conversation: '',
  pty: true,
  setupTimeoutMs: DEFAULT_SETUP_TIMEOUT_MS,
});
