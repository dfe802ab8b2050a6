// Reads the JSON of `start` from stdin and writes it as files that a shell can use, all of them owner-only:
//   env.sh         exports the environment and enters the work dir
//   agent.sh       the same, and runs the command
//   work_dir       the folder, `columns` and `rows` the wanted size, each without a newline
//   meta/KEY       every variable that is set, as the session's first metadata
//   pre_start/N    the commands to run before the agent
// Usage: write-launch.mjs FOLDER [VARIABLE...]   the variables are unset first: those of the terminal program;
//                                                one behind a dash is not given to the agent, whatever the JSON says
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder, ...words] = process.argv.slice(2);
const foreign = words.filter((word) => !word.startsWith('-'));
const withheld = new Set(words.filter((word) => word.startsWith('-')).map((word) => word.slice(1)));
const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const fail = (why) => {
  console.error(why);
  process.exit(1);
};

process.umask(0o077);
const input = readFileSync(0, 'utf8');
const config = (() => {
  try {
    return JSON.parse(input);
  } catch {
    return fail('start wants a JSON object on stdin');
  }
})();
const env = Object.entries(config.env ?? {});
const odd = env.find(([key]) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(key));
if (odd) fail(`a shell cannot export a variable named ${JSON.stringify(odd[0])}`);

const put = (name, text) => writeFileSync(join(folder, name), text);
const workDir = config.work_dir ?? '';
put('work_dir', workDir);
put('columns', String(config.columns ?? 120));
put('rows', String(config.rows ?? 40));
for (const part of ['meta', 'pre_start']) mkdirSync(join(folder, part), { recursive: true });
for (const [key, value] of env) if (value !== '') put(join('meta', key), value);
for (const [index, command] of (config.pre_start ?? []).entries())
  put(join('pre_start', String(index)), command);
const lines = [
  ...foreign.map((name) => `unset ${name}`),
  // The shell itself would find nothing without one.
  ...(config.env?.PATH || !foreign.includes('PATH') ? [] : ['export PATH=/usr/local/bin:/usr/bin:/bin']),
  ...env
    .filter(([key, value]) => !withheld.has(key) && (key !== 'PATH' || value !== ''))
    .map(([key, value]) => (value === '' ? `unset ${key}` : `export ${key}=${quote(value)}`)),
  ...(workDir === '' ? [] : [`cd ${quote(workDir)} || exit 126`]),
];
const command = config.command || '[ -n "$SHELL" ] || SHELL=/bin/sh\nexec "$SHELL"';
put('env.sh', `${lines.join('\n')}\n`);
put('agent.sh', `${[...lines, command].join('\n')}\n`);
