import { GcError, messageOf } from '../../../internal/platform/errors.ts';
import { ScriptUnsupportedError } from '../../../internal/runtime/exec/errors.ts';
import type { Provider } from '../../../internal/runtime/provider.ts';

/** Sessions of this run, by the names that its trials make. */
export const isOwn = (name: string, pid: number): boolean =>
  name.startsWith('gct-') && name.includes(`-${pid}-`);

/**
 * Ends what the cases left running. A script may show sessions of other people: they are left alone.
 * @throws GcError `left-running` when that could not be found out or done
 */
export async function endOwnSessions(provider: Provider, pid: number): Promise<void> {
  try {
    const names = (await provider.listRunning('')).filter((name) => isOwn(name, pid));
    const ends = await Promise.allSettled(names.map((name) => provider.stop(name)));
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  } catch (error) {
    if (isUnlisted(error)) return;
    const message = `sessions of the suite (gct-...-${pid}-...) may still run: ${messageOf(error)}`;
    throw new GcError('left-running', message, { cause: error });
  }
}

/** A script that cannot list: each case has ended what it started. */
function isUnlisted(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return error instanceof ScriptUnsupportedError || cause instanceof ScriptUnsupportedError;
}
