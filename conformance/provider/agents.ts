import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RuntimeConfig } from '../../internal/runtime/runtime-config.ts';

/** Small programs that the suite's cases run as agents. */
export type Agent =
  /** Raw mode, bracketed paste, a composer behind `READY> `; every submitted message is one JSON line in `messages.jsonl`. */
  | {
      readonly kind: 'recorder';
      readonly burstMs?: number;
      readonly readyAfterMs?: number;
      readonly dialog?: string;
    }
  /** A line of sh; with `ready` it first shows the prompt that a start waits for, and goes on when it is told (`letGo`). */
  | { readonly kind: 'shell'; readonly script: string; readonly ready?: boolean }
  /** Writes its arguments, environment and open descriptors to `facts.json`, then waits. */
  | { readonly kind: 'facts' }
  /** Two children, one in its own session, all of them deaf to TERM, HUP and INT; pids in `pids`. */
  | { readonly kind: 'forker' };

const READY_PROMPT = 'READY> ';

const RECORDER = `
import { appendFileSync } from 'node:fs';
const [burst, readyAfter, dialog] = [Number(process.argv[2]), Number(process.argv[3]), process.argv[4] ?? ''];
const out = (t) => process.stdout.write(t);
let draft = '', pasting = false, pending = '', ready = false, last = 0;
const log = (file, value) => appendFileSync(file, value + '\\n');
const show = () => out('\\r\\x1b[2K' + ${JSON.stringify(READY_PROMPT)} + draft.split('\\n')[0].slice(0, 60) + (draft.includes('\\n') ? ' [more]' : ''));
const begin = () => { ready = true; out('\\x1b[?2004h'); show(); };
process.stdin.setRawMode?.(true);
process.stdin.on('data', (bytes) => {
  const now = performance.now();
  const burstHit = burst > 0 && now - last < burst;
  last = now;
  if (!ready) {
    log('early.jsonl', JSON.stringify(bytes.toString()));
    if (dialog && bytes.includes('\\r')) { out('\\x1b[2J\\x1b[H'); setTimeout(begin, 50); }
    return;
  }
  pending += bytes.toString('latin1');
  for (;;) {
    if (pasting) {
      const end = pending.indexOf('\\x1b[201~');
      const take = end < 0 ? Math.max(0, pending.length - 5) : end;
      draft += pending.slice(0, take).replaceAll('\\r\\n', '\\n').replaceAll('\\r', '\\n');
      pending = pending.slice(take);
      if (end < 0) return;
      pending = pending.slice(6); pasting = false; show(); continue;
    }
    if (pending === '') return;
    if ('\\x1b[200~'.startsWith(pending.slice(0, 6)) && pending.length < 6) { setTimeout(() => { if (pending === '\\x1b') { pending = ''; log('keys.jsonl', JSON.stringify('\\x1b')); } }, 30); return; }
    if (pending.startsWith('\\x1b[200~')) { pasting = true; pending = pending.slice(6); continue; }
    const sequence = /^\\x1b(\\[[\\d;]*[A-Za-z~]|O[A-Z])/.exec(pending);
    if (sequence) { log('keys.jsonl', JSON.stringify(sequence[0])); pending = pending.slice(sequence[0].length); continue; }
    const c = pending[0]; pending = pending.slice(1);
    if (c === '\\x03') { log('keys.jsonl', JSON.stringify(c)); continue; }
    if (c === '\\x1b') { log('keys.jsonl', JSON.stringify(c)); continue; }
    if (c === '\\x15') { draft = ''; show(); continue; }
    if (c === '\\x7f') { draft = draft.slice(0, -1); show(); continue; }
    if (c === '\\r' && !burstHit) {
      const text = Buffer.from(draft, 'latin1').toString('utf8');
      draft = '';
      log('messages.jsonl', JSON.stringify(text));
      out('\\r\\x1b[2K> ' + text.split('\\n')[0].slice(0, 60) + '\\r\\nok: ' + text.length + '\\r\\n'); show(); continue;
    }
    draft += c === '\\r' ? '\\n' : c;
    show();
  }
});
process.on('SIGINT', () => log('keys.jsonl', JSON.stringify('SIGINT')));
if (dialog) out(dialog.replaceAll('|', '\\r\\n') + '\\r\\n');
else setTimeout(begin, readyAfter);
setInterval(() => {}, 1000);
`;

const FACTS = `
import { readdirSync, renameSync, writeFileSync, readlinkSync } from 'node:fs';
let descriptors = [];
try {
  descriptors = readdirSync('/proc/self/fd').flatMap((fd) => { try { return [[fd, readlinkSync('/proc/self/fd/' + fd)]]; } catch { return []; } });
} catch {}
writeFileSync('facts.tmp', JSON.stringify({ argv: process.argv.slice(2), env: process.env, cwd: process.cwd(), tty: process.stdin.isTTY === true, descriptors }));
renameSync('facts.tmp', 'facts.json');
process.stdout.write(${JSON.stringify(READY_PROMPT)});
setInterval(() => {}, 1000);
`;

const FORKER = `
trap '' TERM HUP INT
sh -c 'trap "" TERM HUP INT; echo $$ >> pids; while :; do sleep 1; done' &
setsid sh -c 'trap "" TERM HUP INT; echo $$ >> pids; while :; do sleep 1; done' &
echo $$ >> pids
while [ "$(wc -l < pids)" -lt 3 ]; do sleep 0.02; done
printf '%s' '${READY_PROMPT}'
while :; do sleep 1; done
`;

/** Writes the agent's program into its folder and answers the parts of a RuntimeConfig that run it. */
export function installAgent(agent: Agent, folder: string): Partial<RuntimeConfig> {
  const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const node = quote(process.execPath);
  const ready = {
    readyPromptPrefix: READY_PROMPT,
    processNames: [],
    env: { PATH: process.env['PATH'] ?? '' },
  };
  switch (agent.kind) {
    case 'recorder': {
      writeFileSync(join(folder, 'recorder.mjs'), RECORDER);
      const args = [agent.burstMs ?? 0, agent.readyAfterMs ?? 0, quote(agent.dialog ?? '')].join(' ');
      return { ...ready, command: `${node} recorder.mjs ${args}` };
    }
    case 'facts':
      writeFileSync(join(folder, 'facts.mjs'), FACTS);
      return { ...ready, command: `${node} facts.mjs` };
    case 'forker':
      writeFileSync(join(folder, 'forker.sh'), FORKER);
      return { ...ready, command: 'sh forker.sh' };
    case 'shell':
      return agent.ready
        ? {
            ...ready,
            command: `sh -c ${quote(`printf '${READY_PROMPT}'; while [ ! -e go ]; do sleep 0.05; done; ${agent.script}`)}`,
          }
        : { ...ready, readyPromptPrefix: '', command: `sh -c ${quote(agent.script)}` };
  }
}

/** Tells a `ready` shell agent to go on with its script. */
export function letGo(folder: string): void {
  writeFileSync(join(folder, 'go'), '');
}

/** JSON lines that an agent wrote, oldest first; empty when it wrote none yet. */
export function readLines(folder: string, file: string): readonly string[] {
  const path = join(folder, file);
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => String(JSON.parse(line)));
}

export interface Facts {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly tty: boolean;
  readonly descriptors: readonly (readonly [string, string])[];
}

/** What the `facts` agent found, `undefined` until it did. */
export function readFacts(folder: string): Facts | undefined {
  const path = join(folder, 'facts.json');
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Facts) : undefined;
}
