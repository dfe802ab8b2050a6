import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Agent, City } from '../config/city.ts';
import { isToml } from '../config/document/read-source.ts';
import { setSuspended } from '../config/edit/edit-city.ts';
import { writeFileAtomic } from '../platform/atomic-file.ts';
import type { Clock } from '../platform/clock.ts';
import { GcError } from '../platform/errors.ts';
import { acquireLifetimeLock } from '../platform/lifetime-lock.ts';

const EDIT_LOCK_WAIT_MS = 5_000;
const EDIT_LOCK_POLL_MS = 50;
const NEW_FILE_MODE = 0o644;

/**
 * Writes `suspended` where the agent is declared, and nothing else of the file. A pack is not edited: it belongs to others.
 * @throws EditError, GcError `config-locked`, `agent-in-pack`
 */
export async function suspendAgentInFile(
  place: { readonly gcDir: string; readonly clock: Clock },
  city: City,
  agent: Agent,
  suspended: boolean,
): Promise<void> {
  if (agent.packName !== '' || agent.implicit) {
    if (agent.suspended === suspended) return;
    throw definedElsewhere(city, agent, suspended);
  }
  await setSuspended(city, { kind: 'agent', qualifiedName: agent.qualifiedName }, suspended, {
    withLock: (_file, work) => withEditLock(place, work),
    write: async (file, text) => writeFileAtomic(file, text, await modeOf(file)),
    remove: (file) => rm(file),
  });
}

/** Source: Gas City's message for the agents of packs. */
function definedElsewhere(city: City, agent: Agent, suspended: boolean): GcError {
  const name = JSON.stringify(agent.qualifiedName);
  const where = agent.implicit ? 'made from a provider' : 'defined by a pack';
  const lines = isToml(city.file)
    ? ['[[patches.agent]]', `name = ${name}`, `suspended = ${suspended}`]
    : ['patches:', '  agent:', `    - { name: ${name}, suspended: ${suspended} }`];
  return new GcError('agent-in-pack', `agent ${name} is ${where} — use [[patches]] to override`, {
    next: [`add to ${city.file}:`, ...lines.map((line) => `    ${line}`)].join('\n'),
  });
}

async function withEditLock<T>(
  place: { readonly gcDir: string; readonly clock: Clock },
  work: () => Promise<T>,
): Promise<T> {
  const { gcDir, clock } = place;
  const deadline = clock.monotonic() + EDIT_LOCK_WAIT_MS;
  for (;;) {
    const lock = acquireLifetimeLock(join(gcDir, 'config-edit.lock'), {});
    if (lock) {
      try {
        return await work();
      } finally {
        lock.release();
      }
    }
    if (clock.monotonic() > deadline) {
      throw new GcError('config-locked', 'another command is editing the config', {
        next: 'try again in a moment',
      });
    }
    await clock.sleep(EDIT_LOCK_POLL_MS);
  }
}

async function modeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).mode & 0o777;
  } catch {
    // A new file.
    return NEW_FILE_MODE;
  }
}
