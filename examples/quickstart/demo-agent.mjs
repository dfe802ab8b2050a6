#!/usr/bin/env node
// A scripted stand-in for a coding agent: it shows a prompt, answers what it is told, and can be told to crash, hang or
// ask for permission. It needs Node alone, no key and no network. Type `help` at its prompt.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';

const name = process.env.GC_ALIAS || process.env.GC_AGENT || 'demo';
const PROMPT = 'demo> ';
const SPINNER_MS = 200;
const SHORT_THOUGHT_MS = 150;
const marker = join(process.cwd(), `.demo-crash-${name.replaceAll('/', '--')}`);
const tty = process.stdin.isTTY === true;

let draft = '';
/** 'idle' | 'working' | 'asking' */
let mode = 'idle';
let permission = '';
let spinner;
let lastInterrupt = 0;

const HELP = [
  'say <text>      prints the text',
  'count <n>       prints n lines',
  'env <NAME>      prints a variable of my environment',
  'ask <command>   asks for permission to run it (answer with 1, 2 or 3)',
  'hang            works until interrupted (Esc or Ctrl-C)',
  'crash [code]    exits with the code (1)',
  'crash always    exits now and at every start, until told otherwise by deleting a file',
  'exit            exits with code 0',
];

if (existsSync(marker)) {
  console.error(`${name}: told to crash at every start; delete ${marker} to end that`);
  process.exit(1);
}

const write = (text) => process.stdout.write(text);
const line = (text = '') => write(`${text}\r\n`);

function showPrompt() {
  if (mode !== 'idle') return;
  const columns = process.stdout.columns || 80;
  const lines = draft.split('\n');
  const more = lines.length > 1 ? ` [+${lines.length - 1} lines]` : '';
  const room = Math.max(10, columns - PROMPT.length - more.length - 2);
  const first = lines[0].length > room ? `${lines[0].slice(0, room - 1)}…` : lines[0];
  write(`\r\x1b[2K${PROMPT}${first}${more}`);
}

function submit() {
  const text = draft.replace(/\s+$/, '');
  draft = '';
  if (text === '') return showPrompt();
  const first = text.split('\n')[0];
  write(`\r\x1b[2K> ${first.slice(0, 200)}${text.length > first.length ? ' …' : ''}\r\n`);
  mode = 'working';
  setTimeout(() => answer(text), SHORT_THOUGHT_MS);
}

function answer(text) {
  const [verb = '', ...rest] = text.split('\n')[0].split(' ');
  const argument = rest.join(' ');
  switch (verb) {
    case 'help':
      for (const help of HELP) line(`  ${help}`);
      return idle();
    case 'say':
      line(argument);
      return idle();
    case 'count':
      for (let i = 1; i <= Number(argument || 10); i += 1) line(`line ${i}`);
      return idle();
    case 'env':
      line(`${argument}=${process.env[argument] ?? '(unset)'}`);
      return idle();
    case 'hang':
      return work();
    case 'ask':
      return ask(argument || 'touch permitted.txt');
    case 'crash':
      return crash(argument);
    case 'exit':
      line(`${name}: bye`);
      return quit(0);
    default:
      line(
        `${name}: you said ${JSON.stringify(text.length > 300 ? `${text.slice(0, 300)}…` : text)} (${Buffer.byteLength(text)} bytes)`,
      );
      return idle();
  }
}

function idle() {
  clearInterval(spinner);
  mode = 'idle';
  showPrompt();
}

function work() {
  mode = 'working';
  let beat = 0;
  const show = () => write(`\r\x1b[2K${'|/-\\'[beat++ % 4]} working (esc to interrupt)`);
  show();
  spinner = setInterval(show, SPINNER_MS);
}

function ask(command) {
  mode = 'asking';
  permission = command;
  line('─'.repeat(Math.min(process.stdout.columns || 80, 60)));
  line(' Bash command');
  line('');
  line(`   ${command}`);
  line('');
  line(' Do you want to proceed?');
  line(' ❯ 1. Yes');
  line("   2. Yes, and don't ask again");
  line('   3. No');
  line('');
  write(' Esc to cancel');
}

// A question that was answered is not left on the screen, as agent programs do it.
function closeQuestion() {
  const columns = process.stdout.columns || 80;
  const wrapped = Math.max(1, Math.ceil((3 + permission.length) / columns));
  if (tty) write(`\x1b[${9 + wrapped}A\r\x1b[J`);
  else line('');
}

function decide(digit) {
  closeQuestion();
  line(
    digit === '3'
      ? `${name}: I will not run ${permission}`
      : `${name}: I would run ${permission} now (this is a demo)`,
  );
  idle();
}

function crash(argument) {
  if (argument === 'always') writeFileSync(marker, 'delete me to let the demo agent start again\n');
  const code = Number.parseInt(argument, 10);
  line(`${name}: crashing as told`);
  quit(Number.isNaN(code) ? 1 : code);
}

function interrupt() {
  if (mode === 'working') {
    clearInterval(spinner);
    line('');
    line(`${name}: interrupted`);
    return idle();
  }
  if (mode === 'asking') {
    closeQuestion();
    line(`${name}: cancelled`);
    return idle();
  }
  if (draft !== '') {
    draft = '';
    return showPrompt();
  }
  if (Date.now() - lastInterrupt < 1_000) return quit(0);
  lastInterrupt = Date.now();
  line('');
  line('press Ctrl-C again to exit');
  showPrompt();
}

function quit(code) {
  if (tty) {
    write('\x1b[?2004l');
    process.stdin.setRawMode(false);
  }
  process.exitCode = code;
  process.stdin.pause();
  process.stdout.write('', () => process.exit(code));
}

// ---- input --------------------------------------------------------------------------------------------------------
const decoder = new StringDecoder('utf8');
let pending = '';
let pasting = false;

function feed(chunk) {
  pending += decoder.write(chunk);
  for (;;) {
    if (pasting) {
      const end = pending.indexOf('\x1b[201~');
      const ready = end < 0 ? pending.slice(0, Math.max(0, pending.length - 6)) : pending.slice(0, end);
      draft += ready.replaceAll('\r\n', '\n').replaceAll('\r', '\n');
      pending = pending.slice(ready.length);
      if (end < 0) return;
      pending = pending.slice(6);
      pasting = false;
      showPrompt();
      continue;
    }
    if (pending === '') return;
    if (pending.startsWith('\x1b[200~')) {
      pasting = true;
      pending = pending.slice(6);
      continue;
    }
    if (pending.startsWith('\x1b[') && !/^\x1b\[[\d;?]*[A-Za-z~]/.test(pending)) {
      if (pending.length < 12) return;
    }
    const sequence = /^\x1b\[[\d;?]*[A-Za-z~]|^\x1bO[A-Z]/.exec(pending);
    if (sequence) {
      pending = pending.slice(sequence[0].length);
      continue;
    }
    const char = [...pending][0] ?? '';
    pending = pending.slice(char.length);
    key(char);
  }
}

function key(char) {
  if (char === '\x1b' || char === '\x03') return char === '\x1b' && mode === 'idle' ? undefined : interrupt();
  if (mode === 'asking')
    return '123'.includes(char) || char === '\r' ? decide(char === '\r' ? '1' : char) : undefined;
  if (mode !== 'idle') return undefined;
  if (char === '\r') return submit();
  if (char === '\n') draft += '\n';
  else if (char === '\x04') return draft === '' ? quit(0) : undefined;
  else if (char === '\x15') draft = '';
  else if (char === '\x7f' || char === '\b') draft = [...draft].slice(0, -1).join('');
  else if (char >= ' ') draft += char;
  showPrompt();
  return undefined;
}

process.stdin.on(
  'data',
  tty
    ? feed
    : (chunk) => {
        for (const char of decoder.write(chunk)) key(char === '\n' ? '\r' : char);
      },
);
process.stdin.on('end', () => process.exit(0));
process.on('SIGTERM', () => quit(143));
process.on('SIGINT', interrupt);
process.stdout.on('resize', showPrompt);

if (tty) {
  process.stdin.setRawMode(true);
  write('\x1b[?2004h');
}
line(`${name} is here. Type help to see what I can be told.`);
const first = process.argv.slice(2).join(' ').trim();
if (first) {
  draft = first;
  mode = 'idle';
  submit();
} else {
  showPrompt();
}
