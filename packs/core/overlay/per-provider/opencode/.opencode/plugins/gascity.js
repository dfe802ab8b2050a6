// Connects an opencode session to its city: who it is, what was said to it, what work waits. Without a city it does nothing.
// opencode loads every function that a file in .opencode/plugins exports (https://opencode.ai/docs/plugins).
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const QUICK_MS = 30_000;
/** A handoff answers by ending this program; this long it may take. */
const HANDOFF_MS = 120_000;

export const GasCity = async ({ client, directory }) => {
  const { GC_SESSION_NAME: session, GC_CITY_RUNTIME_DIR: runtime, GC_BIN: program } = process.env;
  if (!session) return {};

  const gc = (args, timeout = QUICK_MS) =>
    new Promise((resolve) => {
      const child = execFile(program || 'gc', args, { cwd: directory, timeout }, (error, stdout) =>
        resolve(error ? '' : stdout.trim()),
      );
      child.stdin?.end();
    });
  /** Spawns nothing unless the city has left word that there may be something to say. */
  const gcThisTurn = async (args) =>
    runtime && existsSync(join(runtime, 'turns', session)) ? await gc(args) : '';

  const primed = new Map();
  const followed = new Map();
  const helpers = new Set();
  const stopped = new Set();

  const prime = (id) => {
    if (!primed.has(id)) primed.set(id, gc(['prime', '--hook']));
    return primed.get(id);
  };

  return {
    event: async ({ event }) => {
      const id = event.properties?.sessionID ?? event.properties?.info?.id;
      if (!id) return;
      if (event.type === 'session.created' && event.properties.info?.parentID) helpers.add(id);
      if (helpers.has(id)) return;
      if (event.type === 'session.created') await prime(id);
      if (event.type === 'session.compacted') primed.delete(id);
      if (event.type === 'session.error') stopped.add(id);
      // After an interruption or a failure a person has the word; else waiting work goes on, the same work once only.
      if (event.type !== 'session.idle' || stopped.delete(id)) return;
      const work = await gcThisTurn(['hook', '--inject']);
      if (work === '' || followed.get(id) === work) return;
      followed.set(id, work);
      await client.session.promptAsync({ path: { id }, body: { parts: [{ type: 'text', text: work }] } });
    },

    'experimental.chat.system.transform': async (input, output) => {
      if (!input.sessionID || helpers.has(input.sessionID)) return;
      const text = await prime(input.sessionID);
      if (text) output.system.push(text);
    },

    'chat.message': async (input, output) => {
      if (helpers.has(input.sessionID)) return;
      stopped.delete(input.sessionID);
      const part = output.parts.findLast((candidate) => candidate.type === 'text');
      if (!part) return;
      const said = [
        await gcThisTurn(['nudge', 'drain', '--inject']),
        await gcThisTurn(['mail', 'check', '--inject']),
      ];
      part.text = [part.text, ...said.filter((text) => text !== '')].join('\n\n');
    },

    'experimental.session.compacting': async (input) => {
      if (!helpers.has(input.sessionID)) await gc(['handoff', 'context cycle'], HANDOFF_MS);
    },
  };
};
