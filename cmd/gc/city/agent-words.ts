import { type FoundAgent, findAgent } from '../../../internal/agent/find-agent.ts';
import type { City } from '../../../internal/config/city.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import type { Context } from '../context.ts';

/** A hook's input comes at once or not at all. Source: Gas City. */
const HOOK_INPUT_MS = 500;

/**
 * The agent that a command inside a session is about: the template of the session it runs in, else its alias, else what
 * `GC_AGENT` says. Source: Gas City.
 */
export function agentInEnvironment({ env }: Pick<Context, 'env'>): string | undefined {
  const inSession = env['GC_SESSION_NAME'] || env['GC_SESSION_ID'];
  return (inSession ? env['GC_TEMPLATE'] : undefined) || env['GC_ALIAS'] || env['GC_AGENT'] || undefined;
}

/** The agent that a word means here. @throws GcError `unknown-agent` */
export function agentNamed({ env }: Pick<Context, 'env'>, city: City, word: string): FoundAgent {
  const found = findAgent(city, word, env['GC_RIG'] ?? '');
  if (found) return found;
  throw new GcError('unknown-agent', `agent "${word}" not found in config`, { next: 'gc config show' });
}

/** What is given on stdin within half a second; `''` at a terminal. */
export async function quickStdin(
  context: Pick<Context, 'stdinIsTTY' | 'readStdin' | 'clock' | 'signal'>,
): Promise<string> {
  if (context.stdinIsTTY()) return '';
  const over = new AbortController();
  const limit = context.clock.sleep(HOOK_INPUT_MS, AbortSignal.any([over.signal, context.signal])).then(
    () => '',
    () => '',
  );
  try {
    return await Promise.race([context.readStdin(), limit]);
  } catch {
    return ''; // a closed stdin says nothing
  } finally {
    over.abort();
  }
}
