import { execFileSync } from 'node:child_process';
import { WHOLE_SUITES } from '../../internal/platform/testing/campaign.ts';

/** What tests run cities on, and whether this machine can. */
export const PROVIDERS: readonly { readonly provider: 'tmux' | 'subprocess'; readonly available: boolean }[] =
  [
    { provider: 'subprocess', available: true },
    { provider: 'tmux', available: has('tmux') },
  ];

export const HAS_TMUX = has('tmux');

/** One of them where the other adds little and takes long; both where whole suites are asked for. */
export const mainly = (provider: 'tmux' | 'subprocess'): typeof PROVIDERS =>
  WHOLE_SUITES || !HAS_TMUX ? PROVIDERS : PROVIDERS.filter((each) => each.provider === provider);

function has(program: string): boolean {
  try {
    execFileSync(program, ['-V'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** A city of agents that wait quietly. */
export function sleepers(count: number, more = ''): string {
  const names = Array.from({ length: count }, (_, i) => `a${i + 1}`);
  return [
    'workspace: { name: sleepers }',
    'agents:',
    ...names.map((n) => `  - { name: ${n}, start_command: "sleep 3600", prompt_mode: none }`),
    'named_sessions:',
    ...names.map((n) => `  - { template: ${n}, mode: always }`),
    more,
    '',
  ].join('\n');
}
