import type { Environment } from '../../../internal/platform/paths.ts';

/**
 * How the person called the program, so that printed commands can be pasted: `npx gc` when npm or npx started it
 * from a checkout, else `gc`. `GC_INVOKED_AS` decides when it is set.
 */
export function invokedAs(env: Environment): string {
  const said = env['GC_INVOKED_AS'];
  if (said) return said;
  return env['npm_lifecycle_event'] || env['npm_command'] === 'exec' ? 'npx gc' : 'gc';
}

/** `text` with each command in it written as the person types it. */
export function typed(text: string, gc: string): string {
  if (gc === 'gc') return text;
  return text.replace(/(^|[\s`"'(])gc (?=[a-z])(?!npx)/gm, (_, before: string) => `${before}${gc} `);
}
