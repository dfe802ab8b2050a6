import { realpathSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/program.ts';
import { type City, REPORTER, STUCK, Stage, script } from './support/stage.ts';

/** What agents are given, and what becomes of them: one city with an agent for each question. */
let stage: Stage;
let city: City;
beforeAll(async () => {
  stage = new Stage();
  city = await stage.city('agents', {
    'city.toml': CITY_FILE,
    'report.sh': REPORTER,
    'stuck.sh': STUCK,
    'once.sh': script(['echo "$(date +%s%N)" >> "$GC_CITY/.lives"', 'exit 0']),
    'done.sh': script([
      'mkdir -p "$GC_CITY/.reports"; echo "$$" >> "$GC_CITY/.reports/done.lives"',
      'gc runtime drain-ack || true',
      'sleep 2',
    ]),
    'solver.sh': SOLVER,
    'over/.settings/deep.json': '{"from": "overlay"}\n',
    'app/README.md': 'a rig\n',
  });
  await city.startInPart();
});
afterAll(() => stage.dispose());

/** Takes what is assigned to it, closes it, and looks again. */
const SOLVER = script([
  'while :; do',
  '  if gc runtime drain-check; then gc runtime drain-ack; exit 0; fi',
  '  id=$(bd ready --assignee "$GC_SESSION_NAME" --json | grep -o "gc-[0-9]*" | head -1)',
  '  if [ -n "$id" ]; then bd close "$id"; else sleep 0.5; fi',
  'done',
]);

const agent = (name: string, run: string, ...lines: readonly string[]) => [
  '[[agent]]',
  `name = "${name}"`,
  `start_command = "${run}"`,
  ...lines,
  '',
];

const always = (name: string, dir = '') => [
  '[[named_session]]',
  `template = "${name}"`,
  ...(dir === '' ? [] : [`dir = "${dir}"`]),
  'mode = "always"',
  '',
];

const CITY_FILE = [
  '[workspace]',
  'name = "agents"',
  '',
  '[daemon]',
  'patrol_interval = "300ms"',
  '',
  '[beads]',
  'provider = "file"',
  '',
  '[[rigs]]',
  'name = "app"',
  'path = "app"',
  '',
  ...agent(
    'envtest',
    'sh $GC_CITY/report.sh',
    'max_active_sessions = 1',
    'env = { CUSTOM_COLOUR = "blue" }',
    'overlay_dir = "over"',
  ),
  ...always('envtest'),
  ...agent('inrig', 'sh $GC_CITY/report.sh', 'dir = "app"', 'max_active_sessions = 1'),
  ...always('inrig', 'app'),
  ...agent('done', 'sh done.sh', 'max_active_sessions = 1'),
  ...always('done'),
  ...agent('once', 'sh once.sh', 'max_active_sessions = 1'),
  ...always('once'),
  ...agent('stuck', 'sh stuck.sh', 'max_active_sessions = 1'),
  ...always('stuck'),
  ...agent('solver', 'sh solver.sh', 'max_active_sessions = 1'),
  ...always('solver'),
  ...agent('quiet', 'sh $GC_CITY/report.sh', 'max_active_sessions = 1', 'suspended = true'),
  ...always('quiet'),
  ...agent(
    'pool',
    'sh $GC_CITY/report.sh',
    'min_active_sessions = 1',
    'max_active_sessions = 3',
    'scale_check = "echo 2"',
  ),
  ...agent(
    'single',
    'sh $GC_CITY/report.sh',
    'min_active_sessions = 1',
    'max_active_sessions = 1',
    'scale_check = "echo 1"',
  ),
].join('\n');

describe('what an agent is given', () => {
  it('of the city', async () => {
    const report = await city.report('envtest');
    const root = realpathSync(city.dir);
    expect(report).toMatchObject({
      GC_CITY: root,
      GC_CITY_PATH: root,
      GT_ROOT: root,
      GC_AGENT: 'envtest',
      GC_TEMPLATE: 'envtest',
      GC_DIR: root,
      CWD: root,
      CUSTOM_COLOUR: 'blue',
      GC_BEADS: 'file',
    });
    for (const name of ['GC_SESSION_NAME', 'GC_SESSION_ID', 'GC_CITY_RUNTIME_DIR'])
      expect(report[name], name).toBeTruthy();
    expect(report, 'not even an empty one').not.toHaveProperty('GC_RIG');
  });

  it('of its rig', async () => {
    const report = await city.report('app/inrig');
    const root = realpathSync(city.dir);
    expect(report).toMatchObject({
      GC_AGENT: 'app/inrig',
      GC_RIG: 'app',
      GC_RIG_ROOT: `${root}/app`,
      BEADS_DIR: `${root}/app/.beads`,
      GC_CITY_PATH: root,
      GT_ROOT: root,
    });
  });

  it('lies where it works', async () => {
    await city.report('envtest');
    expect(city.read('.settings', 'deep.json')).toContain('overlay');
  });

  it('is shown without starting it', async () => {
    await city.ok(['config', 'explain', '--agent', 'envtest'], ['Agent: envtest', 'start_command']);
    await city.ok(
      ['config', 'show'],
      ['min_active_sessions = 1', 'max_active_sessions = 3', 'scale_check = "echo 2"'],
    );
  });
});

describe('who is up', () => {
  it('pools have numbered members, also a pool of one', async () => {
    await city.report('pool-1');
    await city.report('pool-2');
    await city.report('single-1');
    const rows = await city.rows();
    expect(rows.filter((row) => row.template === 'pool')).toHaveLength(2);
    const list = await city.ok(['session', 'list']);
    expect(list.split('\n').filter((line) => line.includes('pool'))).toHaveLength(2);
  });

  it('one that only comes and goes is started again', async () => {
    await until('its second life', () => city.has('.lives') && city.read('.lives').split('\n').length > 2);
  });

  it('one that is suspended is not', async () => {
    await city.report('envtest');
    expect(city.has('.reports', 'quiet.env')).toBe(false);
    await city.ok(['status'], ['suspended']);
  });

  it('one that says that it is done stays down', async () => {
    await until('it is down', async () =>
      ['asleep', 'drained', 'stopped'].includes((await city.state('done')) ?? ''),
    );
    const { length } = city.read('.reports', 'done.lives').trim().split('\n');
    await city.ok(['supervisor', 'reload']);
    await until('two more passes', async () => {
      const list = await city.rows();
      return list.some((row) => row.target === 'envtest' && row.state === 'active');
    });
    expect(length).toBe(1);
    expect(city.read('.reports', 'done.lives').trim().split('\n')).toHaveLength(1);
  });
});

describe('asking from outside', () => {
  it('drains are asked for, seen, taken back and answered', async () => {
    expect((await city.gc(['runtime', 'drain-check', 'stuck'])).code).toBe(1);
    await city.ok(['runtime', 'drain', 'stuck'], ["Draining session 'stuck'"]);
    const seen = await city.gc(['runtime', 'drain-check', 'stuck']);
    expect([seen.code, seen.all]).toEqual([0, '']);
    await city.ok(['runtime', 'undrain', 'stuck'], ["Undrained session 'stuck'"]);
    expect((await city.gc(['runtime', 'drain-check', 'stuck'])).code).toBe(1);
    await city.ok(['events', '--type', 'session.draining'], ['stuck']);
  });

  it('work that is assigned to a session is done', async () => {
    const sessions = await city.json<{ Template: string; Closed: boolean; SessionName: string }[]>([
      'session',
      'list',
      '--json',
      '--template',
      'solver',
    ]);
    const name = sessions.find((each) => !each.Closed)?.SessionName ?? '';
    const made = await city.ok(['bd', 'create', 'solve it', '--assignee', name]);
    const id = /^Created bead: (\S+)/m.exec(made)?.[1] ?? '';
    await until('it is closed', async () => (await city.ok(['bd', 'show', id])).includes('closed'));
  });

  it('a nudge is taken or waits', async () => {
    const { code, all } = await city.gc(['session', 'nudge', 'stuck', 'hello', '--delivery', 'queue']);
    expect([code, all]).toEqual([0, expect.stringMatching(/Queued nudge for stuck|Nudged stuck/)]);
    await city.ok(['nudge', 'status', 'stuck'], ['AGENT', 'PENDING', 'stuck']);
  });

  it('a letter to another one ends it, and it starts again', async () => {
    const before = await city.report('envtest');
    await city.ok(['handoff', '--target', 'envtest', 'Context', 'Look at the shelf'], ['Handoff']);
    await city.ok(['mail', 'inbox', 'envtest'], ['Context']);
    expect((await city.report('envtest', before))['PID']).not.toBe(before['PID']);
  });

  it('a trace says why nothing happens', async () => {
    await city.ok(
      ['trace', 'start', '--template', 'quiet', '--level', 'detail'],
      ['armed manual quiet for 15m', 'active trace arms: 1'],
    );
    const reasons = await until('a pass', async () => {
      const found = await city.json<Record<string, number>>(['trace', 'reasons', '--template', 'quiet']);
      return Object.keys(found).length > 0 && found;
    });
    expect(Object.keys(reasons).join()).toContain('suspended');
    await city.ok(['trace', 'stop', '--template', 'quiet'], ['cleared manual trace arm for quiet']);
  });

  it('a session can be put to rest, woken and closed', async () => {
    await city.ok(['session', 'suspend', 'stuck'], ['suspended']);
    await until('it is down', async () => (await city.state('stuck')) !== 'active');
    await city.ok(['session', 'wake', 'stuck'], ['wake requested']);
    await until('it is up', async () => (await city.state('stuck')) === 'active');
    await city.ok(['session', 'rename', 'stuck', 'The stuck one'], ['renamed']);
    const made = await city
      .ok(['session', 'new', 'stuck', '--alias', 'second', '--no-attach'])
      .catch(() => '');
    if (made !== '') await city.ok(['session', 'close', 'second'], ['closed.']);
  });
});

describe('everything at once', () => {
  it('ends, and leaves no process', async () => {
    await city.stop();
    expect(stage.world.processes()).toEqual([]);
  });
});
