// Connects a pi session to its city: who it is, what was said to it, what work waits. Without a city it does nothing.
// pi calls the default export with its extension API (docs/extensions.md of @mariozechner/pi-coding-agent).
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const QUICK_MS = 30_000;
/** A handoff answers by ending this program; this long it may take. */
const HANDOFF_MS = 120_000;
const TYPE = 'gas-city';

// biome-ignore lint/style/noDefaultExport: pi loads the default export.
export default function gasCity(pi) {
  const { GC_SESSION_NAME: session, GC_CITY_RUNTIME_DIR: runtime, GC_BIN: program } = process.env;
  if (!session) return;

  const gc = (args, timeout = QUICK_MS) =>
    new Promise((resolve) => {
      const child = execFile(program || 'gc', args, { timeout }, (error, stdout) =>
        resolve(error ? '' : stdout.trim()),
      );
      child.stdin?.end();
    });
  /** Spawns nothing unless the city has left word that there may be something to say. */
  const gcThisTurn = async (args) =>
    runtime && existsSync(join(runtime, 'turns', session)) ? await gc(args) : '';

  let role = '';
  let followed = '';

  pi.on('session_start', async () => {
    role = await gc(['prime', '--hook']);
  });

  pi.on('before_agent_start', async (event) => {
    const said = [
      await gcThisTurn(['nudge', 'drain', '--inject']),
      await gcThisTurn(['mail', 'check', '--inject']),
    ];
    const content = said.filter((text) => text !== '').join('\n\n');
    return {
      ...(content === '' ? {} : { message: { customType: TYPE, content, display: true } }),
      ...(role === '' ? {} : { systemPrompt: `${event.systemPrompt}\n\n${role}` }),
    };
  });

  pi.on('session_before_compact', async () => {
    await gc(['handoff', 'context cycle'], HANDOFF_MS);
  });

  // After an interruption or a failure a person has the word; else waiting work goes on, the same work once only.
  pi.on('agent_end', async (event) => {
    const last = event.messages.findLast((message) => message.role === 'assistant');
    if (last?.stopReason === 'aborted' || last?.stopReason === 'error') return;
    const content = await gcThisTurn(['hook', '--inject']);
    if (content === '' || content === followed) return;
    followed = content;
    pi.sendMessage(
      { customType: TYPE, content, display: true },
      { triggerTurn: true, deliverAs: 'followUp' },
    );
  });
}
