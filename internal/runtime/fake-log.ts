import type { ContentBlock } from './provider.ts';
import type { RuntimeConfig } from './runtime-config.ts';

/** One call that a double received. Names and fields are Gas City's fake's. */
export interface FakeCall {
  readonly method: FakeMethod;
  readonly name: string;
  readonly config?: RuntimeConfig;
  /** The flattened nudge, the keys joined by a space, or the text of a response. */
  readonly message?: string;
  readonly content?: readonly ContentBlock[];
  readonly key?: string;
  readonly value?: string;
  readonly src?: string;
  readonly dst?: string;
  readonly requestId?: string;
  readonly action?: string;
}

export type FakeMethod =
  | 'Start'
  | 'ContinueStart'
  | 'Stop'
  | 'Interrupt'
  | 'IsRunning'
  | 'IsAttached'
  | 'Attach'
  | 'ProcessAlive'
  | 'Nudge'
  | 'Pending'
  | 'Respond'
  | 'SetMeta'
  | 'GetMeta'
  | 'RemoveMeta'
  | 'Peek'
  | 'ListRunning'
  | 'GetLastActivity'
  | 'ClearScrollback'
  | 'WaitForIdle'
  | 'CopyTo'
  | 'SendKeys'
  | 'RunLive'
  | 'Observe';

/** Every call in order, also those that fail. */
export class FakeLog {
  readonly calls: FakeCall[] = [];

  record(method: FakeMethod, name: string, more: Omit<FakeCall, 'method' | 'name'> = {}): void {
    this.calls.push({ method, name, ...more });
  }

  count(method: FakeMethod, name?: string): number {
    return this.calls.filter((call) => call.method === method && (name === undefined || call.name === name))
      .length;
  }

  /** The config of the newest start of a name. */
  lastStartConfig(name: string): RuntimeConfig | undefined {
    return this.calls.findLast((call) => call.method === 'Start' && call.name === name)?.config;
  }
}
