// Connects an omp session to its city: who it is, what was said to it, what work waits. Without a city it does nothing.
// omp calls the default export with its hook API (examples/hooks of @oh-my-pi/pi-coding-agent).
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const QUICK_MS = 30_000;
/** A handoff answers by ending this program; this long it may take. */
const HANDOFF_MS = 120_000;
const TYPE = 'gas-city';

interface Said {
  readonly customType: string;
  readonly content: string;
  readonly display: boolean;
}

interface Ended {
  readonly willContinue?: boolean;
  readonly messages: readonly { readonly role: string; readonly stopReason?: string }[];
}

/** The part of omp's hook API that is used here; the package itself need not be installed beside the project. */
interface HookApi {
  on(
    event: 'session_start' | 'session_compact' | 'session_before_compact',
    handler: () => Promise<void>,
  ): void;
  on(event: 'before_agent_start', handler: () => Promise<{ message: Said } | undefined>): void;
  on(event: 'agent_end', handler: (event: Ended) => Promise<void>): void;
  sendMessage(message: Said, options: { triggerTurn: boolean; deliverAs: 'followUp' }): void;
}

// biome-ignore lint/style/noDefaultExport: omp loads the default export.
export default function gasCity(omp: HookApi): void {
  const { GC_SESSION_NAME: session, GC_CITY_RUNTIME_DIR: runtime, GC_BIN: program } = process.env;
  if (!session) return;

  const gc = (args: readonly string[], timeout = QUICK_MS) =>
    new Promise<string>((resolve) => {
      const child = execFile(program || 'gc', [...args], { timeout }, (error, stdout) =>
        resolve(error ? '' : stdout.trim()),
      );
      child.stdin?.end();
    });
  /** Spawns nothing unless the city has left word that there may be something to say. */
  const gcThisTurn = async (args: readonly string[]) =>
    runtime && existsSync(join(runtime, 'turns', session)) ? await gc(args) : '';

  let role = '';
  let followed = '';
  const prime = async () => {
    role = await gc(['prime', '--hook']);
  };

  omp.on('session_start', prime);
  omp.on('session_compact', prime);

  // A hook cannot extend the system prompt in omp: the role goes in as a message, once.
  omp.on('before_agent_start', async () => {
    const said = [
      role,
      await gcThisTurn(['nudge', 'drain', '--inject']),
      await gcThisTurn(['mail', 'check', '--inject']),
    ];
    role = '';
    const content = said.filter((text) => text !== '').join('\n\n');
    return content === '' ? undefined : { message: { customType: TYPE, content, display: true } };
  });

  omp.on('session_before_compact', async () => {
    await gc(['handoff', 'context cycle'], HANDOFF_MS);
  });

  // After an interruption or a failure a person has the word; else waiting work goes on, the same work once only.
  omp.on('agent_end', async (event) => {
    const last = event.messages.findLast((message) => message.role === 'assistant');
    if (event.willContinue || last?.stopReason === 'aborted' || last?.stopReason === 'error') return;
    const content = await gcThisTurn(['hook', '--inject']);
    if (content === '' || content === followed) return;
    followed = content;
    omp.sendMessage(
      { customType: TYPE, content, display: true },
      { triggerTurn: true, deliverAs: 'followUp' },
    );
  });
}
