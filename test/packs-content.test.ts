import { spawnSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseToml } from '../internal/config/document/toml-document.ts';
import { TemplateSet } from '../internal/config/template/go-template.ts';
import { PROMPT_FIELDS } from '../internal/config/template/template-fields.ts';
import { PROJECT_ROOT } from './support/program.ts';

/** What the public packs of these names hold; cities, scripts and people refer to them by these names. */

interface FormulaShape {
  readonly version: number;
  readonly extends?: readonly string[];
  /** Default of each variable; `true` means required. */
  readonly vars?: Readonly<Record<string, string | true>>;
  /** Step -> what it needs. */
  readonly steps: Readonly<Record<string, readonly string[]>>;
}

interface PackShape {
  readonly folder: string;
  readonly manifest: Readonly<Record<string, unknown>>;
  readonly agents: readonly string[];
  readonly orders: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly formulas: Readonly<Record<string, FormulaShape>>;
  readonly fragments: readonly string[];
  readonly commands: readonly string[];
  readonly checks: readonly string[];
  readonly skills: readonly string[];
}

const chain = (...ids: readonly string[]): Record<string, readonly string[]> =>
  Object.fromEntries(ids.map((id, index) => [id, index === 0 ? [] : [ids[index - 1] ?? '']]));

const cooldown = (interval: string, what: Readonly<Record<string, string>>) => ({
  gate: 'cooldown',
  interval,
  ...what,
});
const dogOrder = (interval: string, name: string) => cooldown(interval, { formula: name, pool: 'dog' });
const scriptOrder = (interval: string, script: string) =>
  cooldown(interval, { exec: `"$PACK_DIR/assets/scripts/${script}"` });

const POLECAT_VARS = {
  issue: true,
  base_branch: 'main',
  setup_command: '',
  typecheck_command: '',
  test_command: '',
  lint_command: '',
  build_command: '',
} as const;

const PACKS: Readonly<Record<string, PackShape>> = {
  core: {
    folder: 'packs/core',
    manifest: { name: 'core', version: '0.1.0', schema: 2 },
    agents: [],
    orders: {
      'beads-health': cooldown('30s', { exec: 'gc beads health --quiet', timeout: '60s' }),
    },
    formulas: {
      'mol-do-work': { version: 1, vars: { issue: true }, steps: chain('do-work', 'drain') },
      'mol-polecat-base': {
        version: 1,
        vars: POLECAT_VARS,
        steps: chain('load-context', 'workspace-setup', 'preflight-tests', 'implement', 'self-review'),
      },
      'mol-polecat-commit': {
        version: 1,
        extends: ['mol-polecat-base'],
        steps: { 'workspace-setup': ['load-context'], 'commit-and-push': ['self-review'] },
      },
      'mol-scoped-work': {
        version: 2,
        vars: POLECAT_VARS,
        steps: {
          'load-context': [],
          body: ['workspace-setup', 'preflight-tests', 'implement', 'self-review', 'submit'],
          'workspace-setup': ['load-context'],
          'preflight-tests': ['workspace-setup'],
          implement: ['preflight-tests'],
          'self-review': ['implement'],
          submit: ['self-review'],
          'cleanup-worktree': ['body'],
        },
      },
    },
    fragments: [],
    commands: [],
    checks: [],
    skills: ['gc-agents', 'gc-city', 'gc-dashboard', 'gc-dispatch', 'gc-mail', 'gc-rigs', 'gc-work'],
  },
  bd: {
    folder: 'packs/bd',
    manifest: { name: 'bd', schema: 2 },
    agents: [],
    orders: {},
    formulas: {},
    fragments: ['bead-worktree'],
    commands: [],
    checks: ['check-bd'],
    skills: [],
  },
  dolt: {
    folder: 'packs/dolt',
    manifest: { name: 'dolt', schema: 2 },
    agents: [],
    orders: {
      'dolt-health': cooldown('30s', { exec: 'gc dolt status >/dev/null 2>&1 || gc dolt start' }),
      'dolt-remotes-patrol': cooldown('15m', { exec: 'gc dolt sync' }),
      'mol-dog-backup': dogOrder('15m', 'mol-dog-backup'),
      'mol-dog-compactor': dogOrder('24h', 'mol-dog-compactor'),
      'mol-dog-doctor': dogOrder('5m', 'mol-dog-doctor'),
      'mol-dog-phantom-db': dogOrder('1h', 'mol-dog-phantom-db'),
      'mol-dog-stale-db': dogOrder('15m', 'mol-dog-stale-db'),
    },
    formulas: {
      'mol-dog-backup': { version: 1, vars: { databases: '' }, steps: chain('sync', 'offsite', 'report') },
      'mol-dog-compactor': {
        version: 2,
        vars: { commit_threshold: '500', databases: '', mode: 'flatten', keep_recent: '50' },
        steps: chain('inspect', 'compact', 'verify', 'report'),
      },
      'mol-dog-doctor': {
        version: 1,
        vars: { port: '3307', latency_threshold: '1s', conn_max: '50' },
        steps: chain('probe', 'inspect', 'report'),
      },
      'mol-dog-phantom-db': {
        version: 1,
        vars: { data_dir: '.dolt-data' },
        steps: chain('scan', 'quarantine', 'report'),
      },
      'mol-dog-stale-db': {
        version: 1,
        vars: { port: '', max_orphans_for_sql: '50', warn_threshold: '5' },
        steps: chain('scan', 'cleanup', 'report'),
      },
      'mol-dolt-health': { version: 1, steps: chain('check') },
      'mol-dolt-remotes-patrol': { version: 1, steps: chain('sync') },
    },
    fragments: [],
    commands: ['cleanup', 'health', 'list', 'logs', 'recover', 'rollback', 'sql', 'start', 'status', 'sync'],
    checks: ['check-dolt'],
    skills: [],
  },
  maintenance: {
    folder: 'examples/gastown/packs/maintenance',
    manifest: { name: 'maintenance', schema: 2 },
    agents: ['dog'],
    orders: {
      'gate-sweep': scriptOrder('30s', 'gate-sweep.sh'),
      'cross-rig-deps': scriptOrder('5m', 'cross-rig-deps.sh'),
      'orphan-sweep': scriptOrder('5m', 'orphan-sweep.sh'),
      'spawn-storm-detect': scriptOrder('5m', 'spawn-storm-detect.sh'),
      'mol-dog-jsonl': scriptOrder('15m', 'jsonl-export.sh'),
      'mol-dog-reaper': scriptOrder('30m', 'reaper.sh'),
      'wisp-compact': scriptOrder('1h', 'wisp-compact.sh'),
      'prune-branches': scriptOrder('6h', 'prune-branches.sh'),
    },
    formulas: {
      'mol-dog-jsonl': {
        version: 1,
        vars: { databases: '', scrub: 'true', spike_threshold: '0.20', max_push_failures: '3' },
        steps: chain('export', 'verify', 'push', 'report'),
      },
      'mol-dog-reaper': {
        version: 2,
        vars: {
          max_age: '24h',
          purge_age: '72h',
          stale_issue_age: '168h',
          mail_delete_age: '72h',
          alert_threshold: '500',
          dry_run: '',
          databases: '',
          dolt_port: '3307',
        },
        steps: chain('scan', 'reap', 'purge', 'auto-close', 'report'),
      },
      'mol-shutdown-dance': {
        version: 1,
        vars: { warrant_id: true, target: true, reason: true, requester: 'deacon' },
        steps: chain(
          'receive-warrant',
          'interrogate-1',
          'interrogate-2',
          'interrogate-3',
          'execute',
          'epitaph',
        ),
      },
    },
    fragments: [
      'architecture',
      'following-mol',
      'propulsion-crew',
      'propulsion-deacon',
      'propulsion-dog',
      'propulsion-mayor',
      'propulsion-polecat',
      'propulsion-refinery',
      'propulsion-witness',
    ],
    commands: [],
    checks: ['check-binaries'],
    skills: [],
  },
};

const MERGED_HOOKS = {
  '.codex/hooks.json': 'codex',
  '.cursor/hooks.json': 'cursor',
  '.gemini/settings.json': 'gemini',
  '.github/hooks/gascity.json': 'copilot',
} as const;
const TURN = `[ -e "\${GC_CITY_RUNTIME_DIR:-}/turns/\${GC_SESSION_NAME:-}" ] && "\${GC_BIN:-gc}" `;
const EVERY_TURN = ['nudge drain --inject', 'mail check --inject', 'hook --inject'].map(
  (words) => `${TURN}${words} || true`,
);
const ALWAYS = ['prime --hook', 'handoff "context cycle"'].map(
  (words) => `"\${GC_BIN:-gc}" ${words} || true`,
);

const everyPack = Object.entries(PACKS).map(([name, shape]) => ({ name, ...shape }));
const everyFormula = everyPack.flatMap((pack) =>
  Object.entries(pack.formulas).map(([name, shape]) => ({ pack: pack.name, name, shape })),
);
const folderOf = (pack: string) => join(PROJECT_ROOT, PACKS[pack]?.folder ?? '');
const everyFile = everyPack.flatMap((pack) => walk(join(PROJECT_ROOT, pack.folder)));
const scripts = everyFile.filter((file) => file.endsWith('.sh'));

describe.each(everyPack)('pack $name', (pack) => {
  const folder = join(PROJECT_ROOT, pack.folder);

  it('has its manifest', async () => {
    expect((await readToml(join(folder, 'pack.toml')))['pack']).toMatchObject(pack.manifest);
  });

  it('has exactly its agents, orders, formulas, commands, checks and skills', () => {
    expect({
      agents: names(join(folder, 'agents')),
      orders: names(join(folder, 'orders')),
      formulas: names(join(folder, 'formulas')),
      commands: names(join(folder, 'commands')),
      checks: names(join(folder, 'doctor')),
      skills: names(join(folder, 'skills')),
    }).toEqual({
      agents: [...pack.agents],
      orders: Object.keys(pack.orders)
        .map((name) => `${name}.toml`)
        .sort(),
      formulas: Object.keys(pack.formulas)
        .map((name) => `${name}.toml`)
        .sort(),
      commands: [...pack.commands],
      checks: [...pack.checks],
      skills: [...pack.skills],
    });
  });

  it('has orders that say when and what', async () => {
    for (const [name, shape] of Object.entries(pack.orders)) {
      const { description, ...order } = record(
        (await readToml(join(folder, 'orders', `${name}.toml`)))['order'],
      );
      expect(description, name).toMatch(/\S/);
      expect(order, name).toEqual(shape);
    }
  });

  it('has the fragments that other packs call by name', () => {
    expect([...fragmentsOf(pack.name).names()].sort()).toEqual([...pack.fragments].sort());
  });

  it('has templates whose every name exists', () => {
    const set = fragmentsOf(pack.name);
    const templates = walk(folder).filter((file) => file.endsWith('.template.md'));
    const parsed = templates.map((file) =>
      set.add({ name: basename(file, '.template.md'), text: readFileSync(file, 'utf8'), file }),
    );
    const bodies = [...parsed, ...pack.fragments.map((name) => set.get(name))];
    const problems = bodies.flatMap((body) =>
      body ? set.check(body, new Set(PROMPT_FIELDS)).map(String) : ['a fragment is missing'],
    );
    expect(problems).toEqual([]);
  });

  it('describes each of its commands', async () => {
    for (const name of pack.commands) {
      const manifest = await readToml(join(folder, 'commands', name, 'command.toml'));
      expect(Object.keys(manifest)).toEqual(['description']);
      expect(existsSync(join(folder, 'commands', name, 'run.sh'))).toBe(true);
    }
  });

  it('has skills that say when to use them', () => {
    for (const name of pack.skills) {
      const text = readFileSync(join(folder, 'skills', name, 'SKILL.md'), 'utf8');
      expect(text).toMatch(new RegExp(`^---\\nname: ${name}\\ndescription: .{40,}\\n---\\n\\n# `));
    }
  });
});

describe('manifests that are more than a name', () => {
  it('lets bd hand the commands of dolt on', async () => {
    const manifest = await readToml(join(folderOf('bd'), 'pack.toml'));
    expect(manifest['imports']).toEqual({ dolt: { source: '../dolt', export: true } });
  });

  it('makes the dog a pool of the city that gives way to another dog', async () => {
    const { nudge, ...agent } = await readToml(join(folderOf('maintenance'), 'agents/dog/agent.toml'));
    expect(nudge).toMatch(/\S/);
    expect(agent).toEqual({
      scope: 'city',
      fallback: true,
      idle_timeout: '2h',
      min_active_sessions: 0,
      max_active_sessions: 3,
    });
    expect(existsSync(join(folderOf('maintenance'), 'agents/dog/overlay/.gitkeep'))).toBe(true);
  });

  it('gives the dog double braces that are meant', () => {
    const set = fragmentsOf('maintenance');
    const file = join(folderOf('maintenance'), 'agents/dog/prompt.template.md');
    const main = set.add({ name: 'prompt', text: readFileSync(file, 'utf8'), file });
    const fields = Object.fromEntries(PROMPT_FIELDS.map((name) => [name, `<${name}>`]));
    const text = set.render(main, { ...fields, AgentName: 'city/dog-2', RigName: '' });
    expect(text.match(/\{\{.*?\}\}/g)).toEqual(['{{requester}}']);
    expect(text).toContain('You are dog-2');
  });

  it.each(['pool-worker.md', 'graph-worker.md'])('has the plain prompt %s', (name) => {
    const text = readFileSync(join(folderOf('core'), 'assets/prompts', name), 'utf8');
    expect(text).not.toContain('{{');
    for (const words of ['gc hook', '--claim', 'bd close', 'gc runtime drain-ack'])
      expect(text).toContain(words);
  });
});

describe.each(everyFormula)('formula $name of $pack', ({ pack, name, shape }) => {
  const read = () => readToml(join(folderOf(pack), 'formulas', `${name}.toml`));

  it('has its version, variables and steps', async () => {
    const formula = await read();
    expect(formula['formula']).toBe(name);
    expect(formula['version']).toBe(shape.version);
    expect(formula['extends']).toEqual(shape.extends);
    expect(formula['description']).toMatch(/\S/);
    expect(varsOf(formula)).toEqual(shape.vars ?? {});
    expect(stepsOf(formula).map((step) => [step['id'], step['needs'] ?? []])).toEqual(
      Object.entries(shape.steps).map(([id, needs]) => [id, [...needs]]),
    );
  });

  it('needs only steps that exist, its parents among them, and uses only variables that exist', async () => {
    const formula = await read();
    const parents = everyFormula.filter((other) => shape.extends?.includes(other.name));
    const ids = new Set([
      ...Object.keys(shape.steps),
      ...parents.flatMap((parent) => Object.keys(parent.shape.steps)),
    ]);
    const vars = new Set([
      ...Object.keys(shape.vars ?? {}),
      ...parents.flatMap((parent) => Object.keys(parent.shape.vars ?? {})),
    ]);
    for (const step of stepsOf(formula)) {
      expect(step['title']).toMatch(/\S/);
      expect(step['description']).toMatch(/\S/);
      const text = `${step['title']}\n${step['description']}`;
      const used = [...text.matchAll(/\{\{(.*?)\}\}/g)].map((match) => match[1]);
      expect(used.filter((variable) => !vars.has(variable ?? ''))).toEqual([]);
      expect(list(step['needs']).filter((id) => typeof id !== 'string' || !ids.has(id))).toEqual([]);
    }
  });
});

describe('mol-scoped-work', () => {
  it('is one scope whose members try again and whose worktree is always taken away', async () => {
    const steps = stepsOf(await readToml(join(folderOf('core'), 'formulas/mol-scoped-work.toml')));
    const metadata = Object.fromEntries(steps.map((step) => [step['id'], record(step['metadata'])]));
    const together = { 'gc.continuation_group': 'main', 'gc.session_affinity': 'require' };
    const member = (role: string) => ({
      'gc.scope_ref': 'body',
      'gc.scope_role': role,
      'gc.on_fail': 'abort_scope',
      ...together,
    });
    expect(metadata).toEqual({
      'load-context': together,
      body: { 'gc.kind': 'scope', 'gc.scope_name': 'worktree', 'gc.scope_role': 'body' },
      'workspace-setup': member('setup'),
      'preflight-tests': member('member'),
      implement: member('member'),
      'self-review': member('member'),
      submit: member('member'),
      'cleanup-worktree': {
        'gc.kind': 'cleanup',
        'gc.scope_ref': 'body',
        'gc.scope_role': 'teardown',
      },
    });
    for (const step of steps) {
      const retry = step['id'] === 'body' ? undefined : { max_attempts: 3, on_exhausted: 'hard_fail' };
      expect(step['retry'], String(step['id'])).toEqual(retry);
    }
  });
});

describe('hooks of agent programs', () => {
  const overlay = join(folderOf('core'), 'overlay/per-provider');

  it('has a file for each program that has hooks of its own', () => {
    expect(
      walk(overlay)
        .map((file) => relative(overlay, file))
        .sort(),
    ).toEqual([
      'codex/.codex/hooks.json',
      'copilot/.github/copilot-instructions.md',
      'copilot/.github/hooks/gascity.json',
      'cursor/.cursor/hooks.json',
      'gemini/.gemini/settings.json',
      'omp/.omp/hooks/gc-hook.ts',
      'opencode/.opencode/plugins/gascity.js',
      'pi/.pi/extensions/gc-hooks.js',
    ]);
  });

  it.each(Object.entries(MERGED_HOOKS))('%s starts gc on a turn only when there is word', (file, program) => {
    const commands = shellLines(JSON.parse(readFileSync(join(overlay, program, file), 'utf8')));
    expect([...commands].sort()).toEqual([...EVERY_TURN, ...ALWAYS].sort());
  });

  it('let Gemini CLI hand off only when a person compresses: it says "auto" before every prompt', () => {
    const file = join(overlay, 'gemini/.gemini/settings.json');
    const { PreCompress } = JSON.parse(readFileSync(file, 'utf8')).hooks;
    expect(PreCompress).toEqual([expect.objectContaining({ matcher: 'manual' })]);
  });

  describe('run as a program runs them', () => {
    let city: ScratchCity;
    beforeEach(() => {
      city = new ScratchCity();
    });
    afterEach(() => {
      vi.unstubAllEnvs();
      city.dispose();
    });

    it.each(EVERY_TURN)('%s', (line) => {
      expect(city.shell(line)).toMatchObject({ status: 0, stdout: '' });
      city.raiseFlag('mayor');
      const words = line.slice(TURN.length, -' || true'.length);
      expect(city.shell(line)).toMatchObject({ status: 0, stdout: `gc ${words}\n` });
    });

    it('prime a pi session, and speak only when there is word', async () => {
      const pi = await loadPi(join(overlay, 'pi/.pi/extensions/gc-hooks.js'), city);
      await pi.fire('session_start');
      const quiet = await pi.fire('before_agent_start', { systemPrompt: 'base' });
      expect(quiet).toEqual({ systemPrompt: 'base\n\ngc prime --hook' });
      await pi.fire('agent_end', { messages: [{ role: 'assistant', stopReason: 'stop' }] });
      expect(pi.sent).toEqual([]);

      city.raiseFlag('mayor');
      expect(await pi.fire('before_agent_start', { systemPrompt: 'base' })).toMatchObject({
        message: { content: 'gc nudge drain --inject\n\ngc mail check --inject' },
      });
      const ended = { messages: [{ role: 'assistant', stopReason: 'stop' }] };
      await pi.fire('agent_end', { messages: [{ role: 'assistant', stopReason: 'aborted' }] });
      await pi.fire('agent_end', ended);
      await pi.fire('agent_end', ended);
      expect(pi.sent).toMatchObject([{ content: 'gc hook --inject' }]);
    });

    it('prime an omp session once, and speak only when there is word', async () => {
      const omp = await loadPi(join(overlay, 'omp/.omp/hooks/gc-hook.ts'), city);
      await omp.fire('session_start');
      expect(await omp.fire('before_agent_start')).toMatchObject({ message: { content: 'gc prime --hook' } });
      expect(await omp.fire('before_agent_start')).toBeUndefined();
      city.raiseFlag('mayor');
      expect(await omp.fire('before_agent_start')).toMatchObject({
        message: { content: 'gc nudge drain --inject\n\ngc mail check --inject' },
      });
    });

    it('prime an opencode session, and speak only when there is word', async () => {
      const opencode = await loadOpencode(join(overlay, 'opencode/.opencode/plugins/gascity.js'), city);
      const system: string[] = [];
      await opencode.hook('experimental.chat.system.transform')({ sessionID: 's' }, { system });
      expect(system).toEqual(['gc prime --hook']);

      const parts = [{ type: 'text', text: 'hello' }];
      await opencode.hook('chat.message')({ sessionID: 's' }, { parts });
      expect(parts).toEqual([{ type: 'text', text: 'hello' }]);
      city.raiseFlag('mayor');
      await opencode.hook('chat.message')({ sessionID: 's' }, { parts });
      expect(parts).toEqual([
        { type: 'text', text: 'hello\n\ngc nudge drain --inject\n\ngc mail check --inject' },
      ]);

      const idle = { event: { type: 'session.idle', properties: { sessionID: 's' } } };
      const failed = { event: { type: 'session.error', properties: { sessionID: 's' } } };
      for (const event of [failed, idle, idle, idle]) await opencode.hook('event')(event);
      expect(opencode.prompted).toEqual(['gc hook --inject']);
    });

    it('leave a program alone that runs outside of any city', async () => {
      const pi = await loadPi(join(overlay, 'pi/.pi/extensions/gc-hooks.js'), city, { GC_SESSION_NAME: '' });
      expect(pi.events).toEqual([]);
      const opencode = await loadOpencode(join(overlay, 'opencode/.opencode/plugins/gascity.js'), city, {
        GC_SESSION_NAME: '',
      });
      expect(opencode.events).toEqual([]);
    });
  });
});

describe('scripts', () => {
  it('are all in this list of those that were looked at', () => {
    expect(scripts.length).toBe(8 + 1 + 1 + 10 + 3);
  });

  it.each(scripts.map((file) => relative(PROJECT_ROOT, file)))('%s can be run', (path) => {
    const file = join(PROJECT_ROOT, path);
    accessSync(file, constants.X_OK);
    const text = readFileSync(file, 'utf8');
    expect(text).toMatch(/^#!\/bin\/sh\n|^# shellcheck shell=sh\n/);
    for (const shell of ['sh', 'bash']) {
      expect(spawnSync(shell, ['-n', file], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
    }
  });

  describe('in a city', () => {
    let city: ScratchCity;
    beforeEach(() => {
      city = new ScratchCity();
    });
    afterEach(() => city.dispose());

    const check = (path: string) => join(PROJECT_ROOT, path, 'run.sh');
    const dolt = (name: string) => join(folderOf('dolt'), 'commands', name, 'run.sh');

    it('doctor checks say 2 when a tool is missing, and name it', () => {
      expect(city.run(check('packs/bd/doctor/check-bd'))).toMatchObject({
        status: 2,
        stdout: expect.stringContaining('bd is not on the PATH'),
      });
      city.tool('flock');
      city.tool('jq');
      expect(city.run(check('packs/dolt/doctor/check-dolt'))).toMatchObject({
        status: 2,
        stdout: expect.stringMatching(/^missing on the PATH: dolt lsof\n/),
      });
      expect(city.run(check('examples/gastown/packs/maintenance/doctor/check-binaries'))).toMatchObject({
        status: 2,
        stdout: expect.stringMatching(/^missing on the PATH: gh\n/),
      });
    });

    it('doctor checks say 0 when all is there', () => {
      for (const name of ['dolt', 'flock', 'lsof', 'jq', 'gh']) city.tool(name);
      city.tool('bd', 'echo "bd version 1.2.3 (abc)"');
      expect(city.run(check('packs/bd/doctor/check-bd'))).toMatchObject({ status: 0, stdout: 'bd 1.2.3\n' });
      expect(city.run(check('packs/dolt/doctor/check-dolt')).status).toBe(0);
      expect(city.run(check('examples/gastown/packs/maintenance/doctor/check-binaries')).status).toBe(0);
    });

    it.each(Object.keys(PACKS['maintenance']?.orders ?? {}))(
      'the order %s is quiet without tools',
      async (name) => {
        const order = record(
          (await readToml(join(folderOf('maintenance'), 'orders', `${name}.toml`)))['order'],
        );
        city.env['PACK_DIR'] = folderOf('maintenance');
        expect(city.shell(String(order['exec']))).toMatchObject({ status: 0, stdout: '', stderr: '' });
      },
    );

    it('dolt health reports a server that is not there as data', () => {
      const ran = city.run(dolt('health'), '--json');
      expect(ran.status).toBe(0);
      expect(JSON.parse(ran.stdout)).toEqual({
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        server: { running: false, reachable: false, pid: 0, port: 3307, latency_ms: expect.any(Number) },
        databases: [],
        backups: { dolt_freshness: 'none', dolt_age_sec: 0, dolt_stale: false },
        orphans: [],
        processes: { zombie_count: 0, zombie_pids: [] },
      });
      expect(city.run(dolt('health')).status).not.toBe(0);
    });

    it('dolt finds its port in the environment, the port file, the state, in that order', () => {
      const portOf = () => JSON.parse(city.run(dolt('health'), '--json').stdout).server.port as number;
      city.write('.gc/runtime/packs/dolt/dolt-provider-state.json', '{"running": true, "port": 4001}');
      expect(portOf()).toBe(4001);
      city.write('.beads/dolt-server.port', '4002\n');
      expect(portOf()).toBe(4002);
      city.env['GC_DOLT_PORT'] = '4003';
      expect(portOf()).toBe(4003);
    });

    it('dolt status passes on what the life-cycle script found', () => {
      const script = '.gc/system/packs/bd/assets/scripts/gc-beads-bd.sh';
      for (const code of [0, 1, 2]) {
        city.write(script, `#!/bin/sh\n[ "$1" = probe ] && exit ${code}\n`, 0o755);
        expect(city.run(dolt('status')).status).toBe(code);
      }
    });

    it('dolt commands refuse what they do not know, and a missing city', () => {
      expect(city.run(dolt('cleanup'), '--everything')).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('unknown argument "--everything"'),
      });
      expect(city.run(dolt('logs'), '-n', 'many').status).toBe(1);
      city.env['GC_CITY_PATH'] = '';
      expect(city.run(dolt('list'))).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('GC_CITY_PATH is not set'),
      });
    });

    it('dolt recover refuses a server elsewhere', () => {
      city.env['GC_DOLT_HOST'] = 'db.example.org';
      expect(city.run(dolt('recover'))).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('does not belong to this city'),
      });
    });

    it.runIf(hasTool('jq'))('dolt cleanup removes nothing unless it knows what is used (needs jq)', () => {
      city.realTool('jq');
      for (const name of ['used', 'left']) city.write(`.beads/dolt/${name}/.dolt/config.json`, '{}');
      city.write('.beads/metadata.json', '{"dolt_database": "used"}');
      const refusals = [
        ['exit 1', '"gc rig list --json" failed'],
        ['echo no json', 'is not a list of rigs'],
        ['exit 0', 'is not a list of rigs'],
        ['echo \'{"rigs": []}\'', 'is not a list of rigs'],
        ['echo \'{"rigs": [{"path": "/nowhere/at/all"}]}\'', 'is not there'],
      ] as const;
      for (const [answer, reason] of refusals) {
        city.tool('gc', answer);
        expect(city.run(dolt('cleanup'), '--force')).toMatchObject({
          status: 1,
          stderr: expect.stringContaining(reason),
        });
      }
      expect(city.names('.beads/dolt')).toEqual(['left', 'used']);

      city.tool('gc', `echo '{"rigs": [{"path": "${city.root}"}]}'`);
      expect(city.run(dolt('cleanup'))).toMatchObject({
        status: 0,
        stdout: expect.stringContaining('orphan: left'),
      });
      expect(city.run(dolt('cleanup'), '--force', '--max', '0')).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('nothing is removed'),
      });
      expect(city.names('.beads/dolt')).toEqual(['left', 'used']);
      expect(city.run(dolt('cleanup'), '--force').status).toBe(0);
      expect(city.names('.beads/dolt')).toEqual(['used']);
    });

    it('dolt rollback shows first, and keeps what it replaces', () => {
      city.write('.beads/dolt/db/.dolt/now', '');
      city.write('migration-backup-20260101/db/.dolt/then', '');
      expect(city.run(dolt('rollback')).stdout).toContain('migration-backup-20260101');
      expect(city.run(dolt('rollback'), '20260101').status).toBe(0);
      expect(city.names('.beads/dolt/db/.dolt')).toEqual(['now']);
      city.write('.gc/system/packs/bd/assets/scripts/gc-beads-bd.sh', '#!/bin/sh\nexit 2\n', 0o755);
      expect(city.run(dolt('rollback'), '20260101', '--force').status).toBe(0);
      expect(city.names('.beads/dolt/db/.dolt')).toEqual(['then']);
      expect(city.names('.beads').filter((name) => name.startsWith('dolt.before-rollback-')).length).toBe(1);
    });

    it('the life of the bead store is 2 where it is not needed or does not run', () => {
      const script = join(folderOf('bd'), 'assets/scripts/gc-beads-bd.sh');
      expect(city.run(script, 'probe').status).toBe(2);
      expect(city.run(script, 'stop').status).toBe(2);
      expect(city.run(script, 'start')).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('dolt is not on the PATH'),
      });
      expect(city.run(script, 'dance')).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('unknown operation "dance"'),
      });
      city.env['GC_DOLT'] = 'skip';
      for (const operation of ['start', 'ensure-ready', 'stop', 'init', 'health', 'recover', 'probe'])
        expect(city.run(script, operation).status).toBe(2);
    });

    it('never signals a process that only has the number of our server', () => {
      city.write('.gc/runtime/packs/dolt/dolt.pid', `${process.pid}\n`);
      expect(city.run(join(folderOf('bd'), 'assets/scripts/gc-beads-bd.sh'), 'stop').status).toBe(2);
    });

    it.runIf(hasTool('jq'))(
      'orphan-sweep takes work only from agents that are gone, and only at the second look (needs jq)',
      () => {
        city.realTool('jq');
        const bead = (id: string, assignee: string, routed = 'rig/worker') => ({
          id,
          assignee,
          metadata: { 'gc.routed_to': routed },
        });
        const beads = [
          bead('a-1', 'gone'),
          bead('a-2', 'session-7'),
          bead('a-3', 'rig/worker-2'),
          bead('a-4', 'alice', ''),
        ];
        city.write('beads.json', JSON.stringify(beads));
        city.tool('bd', 'case "$1" in list) cat beads.json ;; update) echo "$@" >> updates ;; esac');
        const script = join(folderOf('maintenance'), 'assets/scripts/orphan-sweep.sh');

        city.tool(
          'gc',
          'case "$1" in config) printf \'[[agent]]\\nname = "worker"\\n\' ;; *) exit 1 ;; esac',
        );
        for (const _ of [1, 2]) expect(city.run(script).status).toBe(0);
        expect(city.names('')).not.toContain('updates');

        city.tool(
          'gc',
          'case "$1" in config) printf \'[[agent]]\\nname = "worker"\\n\' ;; session) echo \'[{"ID":"s1","SessionName":"session-7","Alias":""}]\' ;; esac',
        );
        expect(city.run(script).status).toBe(0);
        expect(city.names('')).not.toContain('updates');
        expect(city.run(script).status).toBe(0);
        expect(city.read('updates')).toBe('update a-1 --status=open --assignee=\n');
      },
    );

    it.runIf(hasTool('jq'))('gate-sweep runs checks inside the city only (needs jq)', () => {
      city.realTool('jq');
      city.write('checks/yes.sh', '#!/bin/sh\nexit 0\n', 0o755);
      city.write('checks/no.sh', '#!/bin/sh\nexit 1\n', 0o755);
      const gates = ['checks/yes.sh', 'checks/no.sh', 'true; touch broken', '/bin/true'].map(
        (what, index) => ({
          id: `g-${index}`,
          await_id: what,
        }),
      );
      city.write('gates.json', JSON.stringify(gates));
      city.tool(
        'bd',
        'case "$2 $3" in "list --type=condition") cat gates.json ;; close*) echo "$3" >> closed ;; esac',
      );
      expect(city.run(join(folderOf('maintenance'), 'assets/scripts/gate-sweep.sh')).status).toBe(0);
      expect(city.read('closed')).toBe('g-0\n');
      expect(city.names('')).not.toContain('broken');
    });

    it.runIf(hasTool('jq'))(
      'wisp-compact keeps what matters and what has no readable time (needs jq)',
      () => {
        city.realTool('jq');
        const old = '2020-01-01T10:00:00.123-08:00';
        const wisps = [
          { id: 'w-1', ephemeral: true, status: 'closed', updated_at: old },
          { id: 'w-2', ephemeral: true, status: 'closed', updated_at: old, comment_count: 1 },
          { id: 'w-3', ephemeral: true, status: 'open', updated_at: old },
          { id: 'w-4', ephemeral: true, status: 'closed', updated_at: 'long ago' },
          { id: 'w-5', status: 'closed', updated_at: old },
        ];
        city.write('beads.json', JSON.stringify(wisps));
        city.tool('bd', 'case "$1" in list) cat beads.json ;; comment) ;; *) echo "$1 $2" >> done ;; esac');
        expect(city.run(join(folderOf('maintenance'), 'assets/scripts/wisp-compact.sh')).status).toBe(0);
        expect(city.read('done')).toBe('delete w-1\nupdate w-2\nupdate w-3\n');
      },
    );

    it.runIf(hasTool('jq') && hasTool('git'))(
      'prune-branches removes merged branches of the city only (needs jq and git)',
      () => {
        city.realTool('jq');
        city.realTool('git');
        const git = (...words: readonly string[]) => {
          const ran = spawnSync('git', ['-C', city.root, ...words], { encoding: 'utf8', env: GIT_ENV });
          expect(ran.status, ran.stderr).toBe(0);
          return ran.stdout;
        };
        git('init', '-q', '-b', 'main');
        git('commit', '-q', '--allow-empty', '-m', 'first');
        for (const name of ['gc/done', 'gc-mayor-0123456789ab', 'gc-mine', 'topic', 'gc/busy'])
          git('branch', name);
        git('worktree', 'add', '-q', join(city.root, 'busy'), 'gc/busy');
        git('checkout', '-q', '-b', 'gc/ahead');
        git('commit', '-q', '--allow-empty', '-m', 'not merged');
        git('checkout', '-q', 'main');
        const script = join(folderOf('maintenance'), 'assets/scripts/prune-branches.sh');
        city.tool('gc', `echo '{"rigs": [{"path": "${city.root}"}]}'`);
        expect(city.run(script)).toMatchObject({ status: 0, stderr: '' });
        const left = git('for-each-ref', '--format=%(refname:short)', 'refs/heads').trim().split('\n');
        expect(left).toEqual(['gc-mine', 'gc/ahead', 'gc/busy', 'main', 'topic']);
      },
    );

    it.runIf(hasTool('jq') && hasTool('git'))(
      'mol-dog-jsonl archives beads, and holds back what changed too much (needs jq and git)',
      () => {
        for (const name of ['jq', 'git', 'timeout']) city.realTool(name);
        city.tool(
          'dolt',
          'case "$*" in *"SHOW DATABASES"*) printf "Database\\nhq\\n" ;; *) cat rows.json ;; esac',
        );
        city.tool('gc', 'echo "$1 $2 $3" >> told');
        const script = join(folderOf('maintenance'), 'assets/scripts/jsonl-export.sh');
        const archive = '.gc/runtime/packs/maintenance/jsonl-archive/hq.jsonl';
        const beads = Array.from({ length: 30 }, (_, index) => ({ id: `a-${index}`, issue_type: 'task' }));
        city.write('rows.json', JSON.stringify({ rows: [{ id: 'm-1', issue_type: 'message' }, ...beads] }));
        expect(city.run(script)).toMatchObject({ status: 0, stderr: '' });
        const archived = city.read(archive);
        expect(
          archived
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line)),
        ).toEqual(beads);

        city.write('rows.json', JSON.stringify({ rows: beads.slice(0, 2) }));
        for (const _ of [1, 2]) expect(city.run(script).stdout).toBe('hq: held back, 30 -> 2 rows\n');
        expect(city.read(archive)).toBe(archived);
        expect(city.read('told').match(/mail send mayor\//g)).toHaveLength(1);
      },
    );

    it('starts, asks, stops a server of its own, and stops it around pushes', () => {
      city.tool('dolt', FAKE_DOLT);
      for (const name of ['setsid', 'nohup', 'flock', 'timeout']) city.realTool(name);
      const script = '.gc/system/packs/bd/assets/scripts/gc-beads-bd.sh';
      city.write(script, readFileSync(join(folderOf('bd'), 'assets/scripts/gc-beads-bd.sh'), 'utf8'), 0o755);
      const state = '{"remotes": {"origin": {}}}';
      city.write('.beads/dolt/shared/.dolt/repo_state.json', state);
      city.write('.beads/dolt/alone/.dolt/repo_state.json', '{"remotes": {}}');

      expect(city.run(dolt('start'))).toMatchObject({ status: 0, stderr: '' });
      expect(city.run(dolt('status')).status).toBe(0);
      const first = city.read('.gc/runtime/packs/dolt/dolt.pid');
      expect(city.run(dolt('start')).status).toBe(0);
      expect(city.read('.gc/runtime/packs/dolt/dolt.pid')).toBe(first);
      expect(city.read('.beads/dolt-server.port')).toBe('3307\n');

      expect(city.run(dolt('sync'), '--dry-run').stdout).toBe('alone: no remote\nshared: would be pushed\n');
      expect(city.run(dolt('sync'))).toMatchObject({ status: 0, stderr: '' });
      expect(city.read('pushed')).toBe('shared to origin main, server down\n');
      expect(city.read('.gc/runtime/packs/dolt/dolt.pid')).not.toBe(first);

      const bead = join(city.root, script);
      expect(city.run(bead, 'health').status).toBe(0);
      expect(city.run(bead, 'stop').status).toBe(0);
      expect(city.run(bead, 'probe').status).toBe(2);
      expect(city.run(bead, 'stop').status).toBe(2);
    });

    it('reads the age of backups from their folders', () => {
      city.write('.gc/runtime/packs/dolt/backups/db/manifest', '');
      utimesSync(join(city.root, '.gc/runtime/packs/dolt/backups/db'), 1_000_000, 1_000_000);
      expect(JSON.parse(city.run(dolt('health'), '--json').stdout).backups).toMatchObject({
        dolt_stale: true,
      });
    });
  });
});

const GIT_ENV = {
  PATH: process.env['PATH'] ?? '',
  HOME: tmpdir(),
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.org',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.org',
};

/** Serves while the file `up` is there and its city exists; writes down what is pushed, and whether it served then. */
const FAKE_DOLT = `
case "$1" in
  sql-server)
    trap 'rm -f "$GC_CITY_PATH/up"; exit 0' TERM
    : >"$GC_CITY_PATH/up"
    while [ -d "$GC_CITY_PATH" ]; do sleep 0.05; done
    ;;
  --host)
    [ -e "$GC_CITY_PATH/up" ] || exit 1
    case "$*" in *read_only*) printf 'r\\n0\\n' ;; *) printf '1\\n1\\n' ;; esac
    ;;
  remote) echo origin ;;
  branch) echo main ;;
  push)
    up=down
    if [ -e "$GC_CITY_PATH/up" ]; then up=up; fi
    echo "$(basename "$PWD") to $2 $3, server $up" >>"$GC_CITY_PATH/pushed"
    ;;
esac`;

/** The tools that the scripts may take for granted; anything else is there only when a test puts it there. */
const POSIX_TOOLS =
  'awk basename cat cp cut date dirname du env find grep head ls mkdir mktemp mv ps pwd rm sed sleep sort stat tail touch tr uniq wc sh';

/** A folder that looks like a city, with a PATH of its own and a `gc` that says how it was called. */
class ScratchCity {
  readonly root = mkdtempSync(join(tmpdir(), 'gc packs-'));
  readonly #bin = mkdtempSync(join(tmpdir(), 'gc-packs-bin-'));
  readonly env: Record<string, string> = {
    PATH: this.#bin,
    HOME: this.root,
    GC_CITY: this.root,
    GC_CITY_PATH: this.root,
    GC_CITY_RUNTIME_DIR: join(this.root, '.gc/runtime'),
    GC_SESSION_NAME: 'mayor',
    GC_HEALTH_SKIP_ZOMBIE_SCAN: '1',
  };

  constructor() {
    for (const name of POSIX_TOOLS.split(' ')) this.realTool(name);
    this.tool(
      'gc',
      'printf "gc %s" "$1"; shift; for w; do case "$w" in *" "*) printf " \\"%s\\"" "$w" ;; *) printf " %s" "$w" ;; esac; done; echo',
    );
  }

  tool(name: string, body = 'exit 0'): void {
    rmSync(join(this.#bin, name), { force: true });
    writeFileSync(join(this.#bin, name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  }

  realTool(name: string): void {
    const found = whereIs(name);
    if (found && !existsSync(join(this.#bin, name))) symlinkSync(found, join(this.#bin, name));
  }

  write(path: string, text: string, mode = 0o644): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), text);
    chmodSync(join(this.root, path), mode);
  }

  read = (path: string): string => readFileSync(join(this.root, path), 'utf8');
  names = (path: string): readonly string[] => readdirSync(join(this.root, path)).sort();
  raiseFlag = (session: string): void => this.write(`.gc/runtime/turns/${session}`, '');

  run(file: string, ...args: readonly string[]) {
    return spawnSync(file, args, { cwd: this.root, env: this.env, encoding: 'utf8', timeout: 30_000 });
  }

  shell(line: string) {
    return this.run('/bin/sh', '-c', line);
  }

  dispose(): void {
    for (const folder of [this.root, this.#bin]) rmSync(folder, { recursive: true, force: true });
  }
}

function whereIs(name: string): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((file) => existsSync(file));
}

function hasTool(name: string): boolean {
  return whereIs(name) !== undefined;
}

function walk(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? walk(path) : [path];
  });
}

function names(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}

async function readToml(file: string): Promise<Record<string, unknown>> {
  const result = await parseToml(file, readFileSync(file, 'utf8'));
  if (result.kind === 'unreadable')
    throw new Error(`${file}: ${result.problems.map((problem) => problem.message).join('; ')}`);
  expect(result.warnings, file).toEqual([]);
  return record(result.document.data);
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

const stepsOf = (formula: Record<string, unknown>) => list(formula['steps']).map(record);

function varsOf(formula: Record<string, unknown>): Record<string, unknown> {
  const vars = Object.entries(record(formula['vars'])).map(([name, value]) => {
    const { description, required, default: fallback } = record(value);
    expect(description, name).toMatch(/\S/);
    return [name, required === true ? true : fallback];
  });
  return Object.fromEntries(vars) as Record<string, unknown>;
}

function fragmentsOf(pack: string): TemplateSet {
  const set = new TemplateSet({
    cmd: () => 'gc',
    session: (name) => String(name),
    basename: (name) => basename(String(name)),
  });
  const folder = join(folderOf(pack), 'template-fragments');
  for (const name of names(folder))
    set.add({ name: '', text: readFileSync(join(folder, name), 'utf8'), file: join(folder, name) });
  return set;
}

/** Every shell line in a hook file, whatever its program calls the key. */
function shellLines(value: unknown): readonly string[] {
  return Object.entries(record(value)).flatMap(([key, inner]) =>
    (key === 'command' || key === 'bash') && typeof inner === 'string' ? [inner] : shellLines(inner),
  );
}

type Handler = (...args: readonly unknown[]) => Promise<unknown>;

/** Puts the environment of a session of the city around what follows; `vi.unstubAllEnvs` ends it. */
function enterSession(city: ScratchCity, extra: Readonly<Record<string, string>>): void {
  const env = { ...city.env, GC_BIN: join(city.env['PATH'] ?? '', 'gc'), ...extra };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
}

async function loadPi(file: string, city: ScratchCity, extra: Readonly<Record<string, string>> = {}) {
  const handlers = new Map<string, Handler>();
  const sent: unknown[] = [];
  const module = record(await import(pathToFileURL(file).href));
  const start = module['default'] as (api: unknown) => void;
  enterSession(city, extra);
  start({
    on: (event: string, handler: Handler) => handlers.set(event, handler),
    sendMessage: (message: unknown) => sent.push(message),
  });
  return {
    sent,
    events: [...handlers.keys()],
    fire: (event: string, data?: unknown) => handlers.get(event)?.(data) ?? Promise.resolve(undefined),
  };
}

async function loadOpencode(file: string, city: ScratchCity, extra: Readonly<Record<string, string>> = {}) {
  const prompted: unknown[] = [];
  const module = record(await import(pathToFileURL(file).href));
  const start = module['GasCity'] as Handler;
  const promptAsync = async (call: unknown) => {
    prompted.push(record(list(record(record(call)['body'])['parts'])[0])['text']);
  };
  enterSession(city, extra);
  const hooks = record(await start({ client: { session: { promptAsync } }, directory: city.root }));
  return { prompted, events: Object.keys(hooks), hook: (name: string) => hooks[name] as Handler };
}
