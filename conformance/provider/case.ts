import type { Provider } from '../../internal/runtime/provider.ts';
import type { RuntimeConfig } from '../../internal/runtime/runtime-config.ts';
import type { Trial } from './trial.ts';

/** One promise of the provider contract, as plain data, for every test runner and for `gc conformance`. */
export interface ProviderCase {
  readonly name: string;
  /** `lifecycle` and `session` are Gas City's published cases; `beyond` are ours. */
  readonly group: 'lifecycle' | 'session' | 'beyond';
  /** What the provider must offer for the case to make sense. */
  readonly needs: readonly Ability[];
  /** What a user loses when it fails. */
  readonly proves: string;
  run(trial: Trial): Promise<void>;
}

export type Ability =
  /** Runs the command of a RuntimeConfig as real processes on this machine. */
  | 'commands'
  /** Gives the agent a terminal: nudge, peek and keys reach it. */
  | 'terminal'
  | 'observe'
  | 'watch'
  | 'idle'
  /** `attach` answers a plan. */
  | 'attach'
  /** Start environment is readable as metadata. */
  | 'env-as-meta'
  /** Keeps every byte of a program that prints and exits at once. tmux 3.3a now and then drops the last ones. */
  | 'drains-output'
  /** Another provider object, as another process would have it, sees the same sessions. */
  | 'shared';

/** The implementation under test. */
export interface ProviderSubject {
  readonly title: string;
  readonly provider: Provider;
  readonly offers: ReadonlySet<Ability>;
  /** A private folder of this subject; the caller removes it. */
  readonly scratch: string;
  /** An agent that runs until it is stopped. */
  config(): RuntimeConfig;
  /** For `shared`: a second provider object on the same sessions. The caller closes it. */
  second?(): Promise<Provider>;
}
