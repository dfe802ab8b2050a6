import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { installAgent } from '../conformance/provider/agents.ts';
import { until, World } from '../test/support/program.ts';
import { ms, type Row } from './row.ts';

const SIZES = [100, 16_384, 65_536, 1_000_000];
const BAR_MS = 500;

/** One nudge of each size into an agent that records what it gets. */
export async function nudgeRows(provider: 'tmux' | 'subprocess'): Promise<readonly Row[]> {
  const world = new World(provider);
  try {
    const city = world.city('nudges', {
      'city.yaml': [
        'workspace: { name: nudges, provider: recorder }',
        `providers: { recorder: { command: "'${process.execPath}' recorder.mjs 0 0 ''", prompt_mode: none, ready_prompt_prefix: "READY> " } }`,
        'agents: [{ name: a }]',
        'named_sessions: [{ template: a, mode: always }]',
        '',
      ].join('\n'),
    });
    installAgent({ kind: 'recorder' }, city);
    await world.ok(['--city', city, 'start']);
    const log = join(city, 'messages.jsonl');
    const seen = () => readFileSync(log, 'utf8').trim().split('\n');
    const times: number[] = [];
    let whole = true;
    // The prompt that a start delivers by typing (the beacon) is the first message.
    const first = await until('the start prompt', () => seen().length);
    for (const [index, size] of SIZES.entries()) {
      const body = 'abcdefghi '.repeat(Math.ceil(size / 10)).slice(0, size);
      const ran = await world.gc(['--city', city, 'nudge', 'a', '-', '--json'], { input: body });
      if (ran.code !== 0) throw new Error(ran.stdout + ran.stderr);
      const lines = await until('the message', () => seen().length > first + index && seen());
      whole &&= JSON.parse(lines.at(-1) ?? '""') === body && lines.length === first + index + 1;
      const reply = JSON.parse(ran.stdout) as { outcome: { tookMs: number } };
      times.push(reply.outcome.tookMs);
    }
    const spread = Math.max(...times) - Math.min(...times);
    return [
      {
        what: `nudge, 100 B to 1 MB, ${provider}`,
        bar: `whole, one submit, time independent of size up to ${BAR_MS} ms`,
        measured: `${whole ? 'whole' : 'NOT WHOLE'}; ${times.map((t) => ms(t)).join(', ')}`,
        floor: `${ms(Math.min(...times))} for the fastest, submit gap included`,
        met: whole && spread <= BAR_MS,
      },
    ];
  } finally {
    await world.dispose();
  }
}
