import { writeFileSync } from 'node:fs';
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
      /** Once it has a message it works on it without end, and shows that. */
      readonly works?: boolean;
      /**
       * It asks for a permission (`QUESTION`) after its first message, or before it is ready, and goes on once it has an answer.
       * The name of the option that was chosen is one JSON line in `answers.jsonl`.
       */
      readonly asks?: 'after-message' | 'at-start';
    }
  /** A line of sh; with `ready` it first is what a start waits for, and goes on when it is told (`letGo`). Without, it is never ready. */
  | { readonly kind: 'shell'; readonly script: string; readonly ready?: boolean }
  /** Writes its arguments, environment and open descriptors to `facts.json` and a line to `starts.jsonl`, then waits. */
  | { readonly kind: 'facts'; readonly neverReady?: boolean }
  /** Two children, one in its own session, all of them deaf to TERM, HUP and INT; pids in `pids`. */
  | { readonly kind: 'forker' };

const READY_PROMPT = 'READY> ';

/** What an asking agent wants to do, and what it may be answered. */
export const QUESTION = {
  about: 'touch made.txt',
  options: ['Yes', "Yes, and don't ask again", 'No'],
} as const;

/** As agent programs draw a permission question, one row each. */
const QUESTION_ROWS: readonly string[] = [
  '─'.repeat(40),
  ' Bash command',
  '',
  `   ${QUESTION.about}`,
  '',
  ' Do you want to proceed?',
  ...QUESTION.options.map((option, at) => ` ${at === 0 ? '❯' : ' '} ${at + 1}. ${option}`),
];

const RECORDER = `
import { appendFileSync } from 'node:fs';
let [burst, readyAfter, dialog, then] = [Number(process.argv[2]), Number(process.argv[3]), process.argv[4] ?? '', process.argv[5]];
const out = (t) => process.stdout.write(t);
let draft = '', pasting = false, pending = '', ready = false, last = 0, answered;
const log = (file, value) => appendFileSync(file, value + '\\n');
const show = () => out('\\r\\x1b[2K' + ${JSON.stringify(READY_PROMPT)} + draft.split('\\n')[0].slice(0, 60) + (draft.includes('\\n') ? ' [more]' : ''));
const taken = (raw) => {
  const text = Buffer.from(raw, 'latin1').toString('utf8');
  log('messages.jsonl', JSON.stringify(text));
  out('\\r\\x1b[2K> ' + text.split('\\n')[0].slice(0, 60) + '\\r\\nok: ' + text.length + '\\r\\n');
  if (then === 'after-message') ask(show);
  else if (then === 'works') setInterval(() => out('\\r\\x1b[2K* working (esc to interrupt)'), 50);
  else show();
};
const ask = (goOn) => {
  then = '';
  answered = goOn;
  out(${JSON.stringify(QUESTION_ROWS.join('\r\n'))});
};
const answer = (key) => {
  const chosen = ${JSON.stringify(QUESTION.options)}[Number(key) - 1];
  if (chosen === undefined) return;
  log('answers.jsonl', JSON.stringify(chosen));
  out('\\r\\x1b[${QUESTION_ROWS.length - 1}A\\x1b[J');
  const goOn = answered;
  answered = undefined;
  goOn();
};
const begin = () => { ready = true; out('\\x1b[?2004h'); show(); };
process.stdin.setRawMode?.(true);
process.stdin.on('data', (bytes) => {
  const now = performance.now();
  const burstHit = burst > 0 && now - last < burst;
  last = now;
  if (answered) return answer(bytes.toString());
  if (!ready) {
    log('early.jsonl', JSON.stringify(bytes.toString()));
    if (dialog && bytes.includes('\\r')) { out('\\x1b[2J\\x1b[H'); setTimeout(begin, 50); }
    return;
  }
  if (!process.stdin.isTTY) {
    draft += bytes.toString('latin1');
    for (let end = draft.indexOf('\\n'); end >= 0; end = draft.indexOf('\\n')) { const line = draft.slice(0, end); draft = draft.slice(end + 1); taken(line); }
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
      const whole = draft;
      draft = '';
      taken(whole);
      continue;
    }
    draft += c === '\\r' ? '\\n' : c;
    show();
  }
});
process.on('SIGINT', () => log('keys.jsonl', JSON.stringify('SIGINT')));
if (dialog) out(dialog.replaceAll('|', '\\r\\n') + '\\r\\n');
else if (then === 'at-start') ask(begin);
else setTimeout(begin, readyAfter);
setInterval(() => {}, 1000);
`;

/** What the `facts` agent does first, in any protocol. */
export const FACTS_SOURCE = `
import { readdirSync, renameSync, writeFileSync, readlinkSync } from 'node:fs';
let descriptors = [];
try {
  descriptors = readdirSync('/proc/self/fd').flatMap((fd) => { try { return [[fd, readlinkSync('/proc/self/fd/' + fd)]]; } catch { return []; } });
} catch {}
writeFileSync('facts.tmp', JSON.stringify({ argv: process.argv.slice(2), env: process.env, cwd: process.cwd(), tty: process.stdin.isTTY === true, descriptors }));
renameSync('facts.tmp', 'facts.json');
writeFileSync('starts.jsonl', '"started"\\n', { flag: 'a' });
`;

const factsProgram = (prompt: string): string => `${FACTS_SOURCE}
process.stdout.write(${JSON.stringify(prompt)});
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

/** One word for sh. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Where the suite's agents run: how Node is called there, and their environment. */
export interface AgentPlace {
  readonly node: string;
  readonly env: Readonly<Record<string, string>>;
}

const HERE: AgentPlace = { node: process.execPath, env: { PATH: process.env['PATH'] ?? '' } };

/** Writes the agent's program into its folder and answers the parts of a RuntimeConfig that run it. */
export function installAgent(agent: Agent, folder: string, place: AgentPlace = HERE): Partial<RuntimeConfig> {
  const node = quoted(place.node);
  const ready = {
    readyPromptPrefix: READY_PROMPT,
    processNames: [],
    env: place.env,
  };
  switch (agent.kind) {
    case 'recorder': {
      writeFileSync(join(folder, 'recorder.mjs'), RECORDER);
      const args = [
        agent.burstMs ?? 0,
        agent.readyAfterMs ?? 0,
        quoted(agent.dialog ?? ''),
        agent.works ? 'works' : (agent.asks ?? ''),
      ].join(' ');
      return { ...ready, command: `${node} recorder.mjs ${args}` };
    }
    case 'facts':
      writeFileSync(join(folder, 'facts.mjs'), factsProgram(agent.neverReady ? '' : READY_PROMPT));
      return { ...ready, command: `${node} facts.mjs` };
    case 'forker':
      writeFileSync(join(folder, 'forker.sh'), FORKER);
      return { ...ready, command: 'sh forker.sh' };
    case 'shell':
      return agent.ready
        ? {
            ...ready,
            command: `exec sh -c ${quoted(`printf '${READY_PROMPT}'; while [ ! -e go ]; do sleep 0.05; done; ${agent.script}`)}`,
          }
        : { ...ready, readyPromptPrefix: '', command: `sh -c ${quoted(agent.script)}` };
  }
}

/** The file that a `ready` shell agent waits for in its work dir. */
export const GO_FILE = 'go';

/** What the `facts` agent leaves in `facts.json`. */
export interface Facts {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly tty: boolean;
  /** Number and target of each open descriptor; empty where the system does not tell. */
  readonly descriptors: readonly (readonly [string, string])[];
}
