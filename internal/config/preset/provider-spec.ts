export type PromptMode = 'arg' | 'flag' | 'none';

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
  /** The program that speaks the Agent Client Protocol, when that is another one than `command`. */
  readonly acpCommand?: string;
  /** What makes it speak the protocol; replaces `args`. */
  readonly acpArgs?: readonly string[];
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
