import type { Provider } from '../../internal/runtime/provider.ts';
import type { RuntimeConfig } from '../../internal/runtime/runtime-config.ts';
import type { Ability } from './abilities.ts';
import type { Agent } from './agents.ts';
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

/**
 * The implementation under test.
 *
 * The suite's agents are small programs of this machine that run in the work dir and leave what they saw in files there
 * (agents.ts). Where agents run elsewhere, or do not speak through a terminal, the last four members translate:
 * - an agent that speaks a protocol: `agent` answers the command of a server of it that records the same files;
 * - an agent in a container: `agentFolder` is its work dir as seen from inside, `readAgentFile` reads there (through the
 *   provider's own way of running a command), `letGo` makes the file `go` there.
 * Cases never touch a work dir but through `Trial`: `readFile`, `readLines`, `readFacts`, `letGo`, `agentFolder`.
 */
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
  /** The config's parts that run one of the suite's agents. Default: `installAgent`, which writes a program into `folder`, the work dir. */
  agent?(agent: Agent, folder: string, name: string): Partial<RuntimeConfig>;
  /** The work dir as the agent sees it. Default: the work dir. */
  agentFolder?(name: string, workDir: string): string;
  /** Text of a file that the agent wrote, `file` relative to its work dir; `undefined` while there is none. Default: read in the work dir. */
  readAgentFile?(name: string, workDir: string, file: string): Promise<string | undefined>;
  /** Tells a `ready` shell agent to go on: makes the file `go` in its work dir. */
  letGo?(name: string, workDir: string): Promise<void>;
}
