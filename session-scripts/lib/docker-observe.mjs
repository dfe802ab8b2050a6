// One JSON object per session of this state folder: one `docker ps` for all of them, and one `docker exec` into each that runs.
// Usage: docker-observe.mjs SESSIONS OWNER RUN_DIR PREFIX
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const [sessions, owner, runDir, prefix = ''] = process.argv.slice(2);
const run = promisify(execFile);
const AT_ONCE = 8;
const EXEC_LIMIT_MS = 5_000;
const LAST_LINES = 40;
const SEPARATOR = '\t';
const ROW = ['pane_dead', 'pane_dead_status', 'pane_dead_signal', 'session_attached', 'window_activity']
  .map((name) => `#{${name}}`)
  .join(SEPARATOR);

const FORMAT = [
  '{{.Label "gc.state"}}',
  '{{.Label "gc.agent"}}',
  '{{.ID}}',
  '{{.State}}',
  '{{.Status}}',
].join(SEPARATOR);
const listed = await run('docker', ['ps', '-a', '--filter', 'label=gc.managed=true', '--format', FORMAT]);
const ours = listed.stdout
  .split('\n')
  .map((line) => line.split(SEPARATOR))
  .filter(([state, agent = '']) => state === owner && agent.startsWith(prefix))
  .map(([, name, id, state, status]) => ({ name, id, state, status }));

const queue = [...ours];
const workers = Array.from({ length: AT_ONCE }, async () => {
  for (let next = queue.shift(); next; next = queue.shift()) {
    const told = { name: next.name, ...(await lookAt(next)), meta: metaOf(next.name) };
    process.stdout.write(`${JSON.stringify(told)}\n`);
  }
});
await Promise.all(workers);

/** What one container tells. One that cannot be looked at is neither dead nor alive. */
async function lookAt({ name, id, state, status }) {
  if (state !== 'running') {
    const code = /Exited \((\d+)\)/.exec(status)?.[1];
    return {
      state: 'exited',
      ...(code === undefined ? {} : { exit_code: Number(code) }),
      exit_reason: `container ${status}`,
    };
  }
  const inside = `tmux -u list-panes -t "=$1:" -F "$2" && ps -eo comm= 2>/dev/null; echo "="; tmux -u capture-pane -p -J -t "=$1:" -S -${LAST_LINES}`;
  const args = ['exec', id, 'env', `TMUX_TMPDIR=${runDir}`, 'sh', '-c', inside, 'sh', name, ROW];
  try {
    const { stdout } = await run('docker', args, { timeout: EXEC_LIMIT_MS });
    const end = stdout.indexOf('\n=\n');
    const [row = '', ...names] = stdout.slice(0, end).split('\n');
    return paneOf(row.split(SEPARATOR), names, stdout.slice(end + 3));
  } catch (error) {
    return { state: 'unknown', note: String(error.stderr || error.message).trim() };
  }
}

function paneOf([dead, code, signal, attached, activity], names, screen) {
  const seen = {
    attached: Number(attached),
    last_activity: new Date(Number(activity) * 1_000).toISOString(),
  };
  if (dead !== '1') {
    return { state: 'running', ...seen, process_names: [...new Set(names.map((each) => each.trim()))] };
  }
  const lines = screen.split('\n').map((line) => line.trimEnd());
  const last = lines
    .filter((line) => !line.startsWith('Pane is dead ('))
    .join('\n')
    .trim();
  return {
    state: 'exited',
    ...(code === '' ? {} : { exit_code: Number(code) }),
    ...(signal === '' ? {} : { exit_signal: signal.startsWith('SIG') ? signal : `SIG${signalName(signal)}` }),
    last_lines: last,
    ...seen,
  };
}

/** tmux tells a signal by number or by name, as it was built. */
function signalName(signal) {
  const known = { 1: 'HUP', 2: 'INT', 3: 'QUIT', 6: 'ABRT', 9: 'KILL', 11: 'SEGV', 13: 'PIPE', 15: 'TERM' };
  return known[signal] ?? signal.toUpperCase();
}

function metaOf(name) {
  const folder = join(sessions, name, 'meta');
  try {
    const keys = readdirSync(folder).filter((key) => key.startsWith('GC_') && !key.endsWith('.new'));
    return Object.fromEntries(keys.map((key) => [key, readFileSync(join(folder, key), 'utf8')]));
  } catch {
    return {}; // started by another machine, or being removed
  }
}
