import { execFileSync, type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { parseToml } from '../internal/config/document/toml-document.ts';
import { TemplateSet } from '../internal/config/template/go-template.ts';
import { PROMPT_FIELDS } from '../internal/config/template/template-fields.ts';
import { HAS_TMUX } from './support/cities.ts';
import { PROJECT_ROOT, until } from './support/program.ts';

const EXAMPLES = join(PROJECT_ROOT, 'examples');
const PACKS = join(PROJECT_ROOT, 'test', 'fixtures', 'packs');
const GASTOWN = join(EXAMPLES, 'gastown', 'packs', 'gastown');
const LIFECYCLE = join(EXAMPLES, 'lifecycle', 'packs', 'lifecycle');
const STAND_INS = join(PROJECT_ROOT, 'test', 'fixtures', 'agents');
const ROOTS = [
  GASTOWN,
  ...['lifecycle', 'swarm', 'hyperscale', 'k8s'].map((name) => join(EXAMPLES, name)),
  PACKS,
  STAND_INS,
];
type Data = Readonly<Record<string, unknown>>;

async function toml(path: string): Promise<Data> {
  const result = await parseToml(path, readFileSync(path, 'utf8'));
  if (result.kind !== 'parsed') throw new Error(JSON.stringify(result.problems));
  return result.document.data as Data;
}

const json = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as unknown;

/** Folders below a folder, sorted. */
const folders = (dir: string) =>
  readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();

const files = (root: string) =>
  readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

const daemon = (patrol: string, restarts: number, window: string, shutdown: string) => ({
  patrol_interval: patrol,
  max_restarts: restarts,
  restart_window: window,
  shutdown_timeout: shutdown,
});

describe('city files', () => {
  it.each<[string, Data]>([
    [
      'gastown/city.toml',
      {
        workspace: {
          name: 'gastown',
          provider: 'claude',
          global_fragments: ['command-glossary', 'operational-awareness'],
        },
        imports: { gastown: { source: 'packs/gastown' } },
        daemon: { ...daemon('30s', 5, '1h', '5s'), formula_v2: true },
      },
    ],
    [
      'swarm/city.toml',
      {
        workspace: { name: 'swarm', provider: 'claude', includes: ['packs/swarm'] },
        daemon: daemon('30s', 5, '1h', '5s'),
      },
    ],
    [
      'lifecycle/city.toml',
      {
        workspace: { name: 'lifecycle-demo', start_command: 'true' },
        daemon: daemon('10s', 3, '5m', '5s'),
      },
    ],
    [
      'hyperscale/city.toml',
      {
        workspace: { name: 'hyperscale', provider: 'claude', isolation: 'none' },
        imports: { hyperscale: { source: 'packs/hyperscale' } },
        session: {
          provider: 'k8s',
          k8s: {
            namespace: 'gc',
            cpu_request: '50m',
            mem_request: '128Mi',
            cpu_limit: '200m',
            mem_limit: '256Mi',
            prebaked: true,
          },
        },
        daemon: daemon('10s', 3, '5m', '10s'),
      },
    ],
    [
      'k8s/example-city.toml',
      {
        workspace: {
          name: 'my-k8s-city',
          provider: 'claude',
          session_template: '{{.City}}-{{.Agent}}',
          isolation: 'none',
        },
        session: { provider: 'k8s', k8s: { namespace: 'gc' } },
        mail: { provider: 'exec:gc-mail-mcp-agent-mail' },
      },
    ],
  ])('%s', async (path, expected) => {
    expect(await toml(join(EXAMPLES, path))).toEqual(expected);
  });

  it('the commented rig and crew member of gastown are right once the comment signs are gone', async () => {
    const text = readFileSync(join(EXAMPLES, 'gastown', 'city.toml'), 'utf8');
    const start = text.indexOf('# [[rigs]]');
    const uncommented = text.slice(start).replace(/^# ?(?=\[|\w+ = |$)/gm, '');
    const result = await parseToml('crew', uncommented);
    if (result.kind !== 'parsed') throw new Error(JSON.stringify(result.problems));
    const { rigs, agent } = result.document.data as { rigs: Data[]; agent: Data[] };
    expect(rigs).toHaveLength(1);
    const keys =
      'dir pre_start prompt_template nudge overlay_dir idle_timeout session_setup_script session_setup';
    expect(Object.keys(agent[0] ?? {})).toEqual(expect.arrayContaining(keys.split(' ')));
  });
});

const named = (template: string, scope: string, mode: string) => ({ template, scope, mode });
const live = (dir: string) => ({
  session_live: [
    `{{.ConfigDir}}/${dir}/tmux-theme.sh {{.Session}} {{.Agent}} {{.ConfigDir}}`,
    `{{.ConfigDir}}/${dir}/tmux-keybindings.sh {{.ConfigDir}}`,
  ],
});
const service = (name: string, root: string, script: string, publication: Data) => ({
  name,
  kind: 'proxy_process',
  state_root: `.gc/services/${root}`,
  publication,
  process: { command: ['python3', '-u', `scripts/${script}`], health_path: '/healthz' },
});
const pack = (name: string, version?: string): Data => ({
  pack: { name, schema: 2, ...(version === undefined ? {} : { version }) },
});
const siblings = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, { source: `../${name}` }]));
const JEFFREY =
  'planning-workflow de-slopify ui-polish code-review robot-mode readme-revise idea-wizard'.split(' ');
const PUBLIC = { visibility: 'public' };

describe('pack files', () => {
  it.each<[string, Data]>([
    [
      GASTOWN,
      {
        ...pack('gastown'),
        imports: { maintenance: { source: '../maintenance' } },
        global: live('assets/scripts'),
        patches: {
          agent: [{ name: 'dog', wake_mode: 'fresh', work_dir: '.gc/agents/dogs/{{.AgentBase}}' }],
        },
        named_session: [
          named('mayor', 'city', 'always'),
          named('deacon', 'city', 'always'),
          named('boot', 'city', 'always'),
          named('witness', 'rig', 'always'),
          named('refinery', 'rig', 'on_demand'),
        ],
      },
    ],
    [LIFECYCLE, { ...pack('lifecycle'), named_session: [named('refinery', 'rig', 'on_demand')] }],
    [
      join(EXAMPLES, 'swarm', 'packs', 'swarm'),
      {
        ...pack('swarm'),
        named_session: [
          named('mayor', 'city', 'on_demand'),
          named('deacon', 'city', 'always'),
          named('committer', 'rig', 'on_demand'),
        ],
      },
    ],
    [join(EXAMPLES, 'hyperscale', 'packs', 'hyperscale'), pack('hyperscale')],
    [join(EXAMPLES, 'k8s'), pack('k8s-example')],
    [
      join(PACKS, 'discord'),
      {
        ...pack('discord', '0.1.0'),
        service: [
          service('discord-interactions', 'discord', 'discord_intake_service.py', {
            ...PUBLIC,
            hostname: 'discord',
          }),
          service('discord-admin', 'discord', 'discord_intake_service.py', {
            visibility: 'tenant',
            hostname: 'discord-admin',
          }),
          service('discord-gateway', 'discord', 'discord_gateway_service.py', { visibility: 'private' }),
        ],
      },
    ],
    [
      join(PACKS, 'discord-intake'),
      {
        ...pack('discord-intake', '0.1.0'),
        service: [
          service('discord-interactions', 'discord-intake', 'discord_intake_service.py', {
            ...PUBLIC,
            hostname: 'discord',
          }),
          service('discord-admin', 'discord-intake', 'discord_intake_service.py', {
            visibility: 'tenant',
            hostname: 'discord-admin',
          }),
        ],
      },
    ],
    [
      join(PACKS, 'github-intake'),
      {
        ...pack('github-intake', '0.1.0'),
        service: [
          service('github-webhook', 'github-intake', 'github_intake_service.py', {
            ...PUBLIC,
            hostname: 'github',
          }),
          service('github-admin', 'github-intake', 'github_intake_service.py', { visibility: 'tenant' }),
        ],
      },
    ],
    [
      join(PACKS, 'flywheel', 'all'),
      { ...pack('flywheel-all'), imports: siblings(['cass', 'cm', 'mcp-agent-mail', 'ubs']) },
    ],
    [join(PACKS, 'flywheel', 'cass'), pack('cass', '0.1.0')],
    [join(PACKS, 'flywheel', 'cm'), pack('cm')],
    [join(PACKS, 'flywheel', 'mcp-agent-mail'), pack('mcp-agent-mail')],
    [join(PACKS, 'flywheel', 'ubs'), pack('ubs')],
    [join(PACKS, 'jeffrey', 'all'), { ...pack('jeffrey-all'), imports: siblings(JEFFREY) }],
    ...JEFFREY.map((n): [string, Data] => [join(PACKS, 'jeffrey', n), pack(`jeffrey-${n}`)]),
    [join(PACKS, 'pr-review'), pack('pr-review')],
    [join(PACKS, 'rlm'), pack('rlm', '0.1.0')],
    [join(PACKS, 'tmux-theme'), { ...pack('tmux-theme'), global: live('scripts') }],
  ])('%s', async (dir, expected) => {
    expect(await toml(join(dir, 'pack.toml'))).toEqual(expected);
  });

  it('the public packs are these, and none has agents', () => {
    expect(folders(PACKS)).toEqual([
      'discord',
      'discord-intake',
      'flywheel',
      'github-intake',
      'jeffrey',
      'pr-review',
      'rlm',
      'tmux-theme',
    ]);
    expect(files(PACKS).filter((file) => file.includes('/agents/'))).toEqual([]);
  });
});

const NUDGE = expect.stringMatching(/\S/) as unknown;
const WORKTREE = [
  '{{.ConfigDir}}/assets/scripts/worktree-setup.sh {{.RigRoot}} {{.WorkDir}} {{.AgentBase}} --sync',
];
const gastown = (scope: string, workDir: string, more: Data) => ({
  scope,
  wake_mode: 'fresh',
  work_dir: workDir,
  ...more,
});
const pool = (min: number, max: number) => ({ min_active_sessions: min, max_active_sessions: max });
const one = { max_active_sessions: 1 };
const kubernetes = {
  nudge: NUDGE,
  process_names: ['claude'],
  ready_prompt_prefix: 'claude',
  install_hooks: ['claude'],
};

describe('agents', () => {
  it.each<[string, Readonly<Record<string, Data>>]>([
    [
      GASTOWN,
      {
        boot: gastown('city', '.gc/agents/boot', one),
        deacon: gastown('city', '.gc/agents/deacon', { ...one, nudge: NUDGE, idle_timeout: '1h' }),
        mayor: gastown('city', '.gc/agents/mayor', { ...one, nudge: NUDGE, idle_timeout: '1h' }),
        witness: gastown('rig', '.gc/agents/{{.Rig}}/witness', { ...one, nudge: NUDGE, idle_timeout: '1h' }),
        refinery: gastown('rig', '.gc/worktrees/{{.Rig}}/refinery', {
          ...one,
          nudge: NUDGE,
          idle_timeout: '2h',
          pre_start: WORKTREE,
        }),
        polecat: gastown('rig', '.gc/worktrees/{{.Rig}}/polecats/{{.AgentBase}}', {
          ...pool(0, 5),
          nudge: NUDGE,
          idle_timeout: '2h',
          pre_start: WORKTREE,
        }),
      },
    ],
    [
      join(EXAMPLES, 'swarm', 'packs', 'swarm'),
      {
        mayor: { scope: 'city', idle_timeout: '1h', nudge: NUDGE },
        deacon: { scope: 'city', idle_timeout: '1h', nudge: NUDGE },
        dog: { scope: 'city', idle_timeout: '2h', nudge: NUDGE, ...pool(0, 3) },
        coder: { scope: 'rig', idle_timeout: '2h', nudge: NUDGE, ...pool(1, 5) },
        committer: { scope: 'rig', idle_timeout: '2h', nudge: NUDGE },
      },
    ],
    [
      LIFECYCLE,
      {
        polecat: {
          scope: 'rig',
          start_command: '{{.ConfigDir}}/assets/scripts/mock-polecat.sh',
          nudge: NUDGE,
          idle_timeout: '5m',
          ...pool(0, 5),
        },
        refinery: {
          scope: 'rig',
          start_command: '{{.ConfigDir}}/assets/scripts/mock-refinery.sh',
          nudge: NUDGE,
          idle_timeout: '10m',
        },
      },
    ],
    [
      join(EXAMPLES, 'hyperscale', 'packs', 'hyperscale'),
      {
        worker: {
          scope: 'rig',
          start_command: 'assets/scripts/mock-worker.sh',
          nudge: NUDGE,
          idle_timeout: '5m',
          ...pool(0, 100),
        },
      },
    ],
    [join(EXAMPLES, 'k8s'), { coder: { ...kubernetes, ...pool(0, 2) }, mayor: kubernetes }],
  ])('%s', async (dir, expected) => {
    const home = join(dir, 'agents');
    expect(folders(home)).toEqual(Object.keys(expected).sort());
    for (const [name, data] of Object.entries(expected)) {
      expect(await toml(join(home, name, 'agent.toml')), name).toEqual(data);
      expect(readFileSync(join(home, name, 'prompt.template.md'), 'utf8'), name).toMatch(/\{\{/);
    }
  });

  it('polecats have names that are usable and unique', () => {
    for (const file of ['agents/polecat/namepool.txt', 'assets/namepools/minerals.txt']) {
      const names = readFileSync(join(GASTOWN, file), 'utf8')
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#'));
      expect(new Set(names).size).toBe(names.length);
      for (const name of names) expect(name).toMatch(/^[a-z0-9][a-z0-9_-]*$/);
    }
  });
});

const BUG = 'load-context workspace-setup understand-bug write-tests-first implement-fix';
interface Formula {
  readonly file: string;
  readonly version: number;
  readonly extends?: readonly string[];
  /** `name!` is required, `name=text` has a default. */
  readonly vars: string;
  readonly steps: string;
}
const FORMULAS: readonly Formula[] = [
  {
    file: 'mol-deacon-patrol.toml',
    version: 12,
    vars: 'event_timeout=30',
    steps:
      'check-inbox orphan-process-cleanup health-scan utility-agent-health dolt-health system-health next-iteration',
  },
  {
    file: 'mol-witness-patrol.toml',
    version: 7,
    vars: 'event_timeout=30',
    steps: 'check-inbox recover-orphaned-beads check-refinery check-polecat-health next-iteration',
  },
  {
    file: 'mol-refinery-patrol.toml',
    version: 1,
    vars: 'run_tests=true setup_command= typecheck_command= lint_command= test_command= build_command= target_branch=main delete_merged_branches=true integration_branch_auto_land=false event_timeout=30',
    steps: 'check-inbox find-work rebase run-tests handle-failures merge-push patrol-summary next-iteration',
  },
  {
    file: 'mol-polecat-work.toml',
    version: 7,
    extends: ['mol-polecat-base'],
    vars: '',
    steps: 'workspace-setup(load-context) submit-and-exit(self-review)',
  },
  {
    file: 'mol-digest-generate.toml',
    version: 2,
    vars: 'period=daily event_timeout=30',
    steps: 'determine-period collect-data generate-and-send',
  },
  {
    file: 'mol-idea-to-plan.toml',
    version: 2,
    vars: 'problem! context= review_target= review_formula=mol-review-leg',
    steps:
      'init-run draft-prd prd-review human-clarify design-exploration prd-align-1 prd-align-2 prd-align-3 plan-review-1 plan-review-2 plan-review-3 create-beads',
  },
  {
    file: 'mol-review-leg.toml',
    version: 1,
    vars: 'issue!',
    steps: 'load-assignment write-report notify-close',
  },
].map((formula) => ({ ...formula, file: join(GASTOWN, 'formulas', formula.file) }));
const PACK_FORMULAS: readonly Formula[] = [
  {
    file: 'discord/formulas/mol-discord-fix-issue.formula.toml',
    version: 1,
    vars: 'issue! discord_request_id! discord_guild_id! discord_channel_id! discord_thread_id= discord_conversation_id! discord_jump_url_b64= discord_requester_b64= discord_summary_b64= discord_context_b64=',
    steps: `${BUG} wrap-up`,
  },
  {
    file: 'discord-intake/formulas/mol-discord-fix-issue.formula.toml',
    version: 1,
    vars: 'issue! discord_summary! discord_context= discord_requester= discord_jump_url=',
    steps: `${BUG} wrap-up`,
  },
  {
    file: 'github-intake/formulas/mol-github-fix-issue.formula.toml',
    version: 1,
    vars: 'issue! github_issue_url! github_issue_number! github_repo_full_name! github_installation_id! github_comment_url= github_request_id= github_default_branch=main github_additional_context=',
    steps: `${BUG} quality-gate submit-pr`,
  },
  {
    file: 'pr-review/formulas/mol-adopt-pr.formula.toml',
    version: 1,
    vars: 'pr! skip_gemini=false',
    steps: 'intake rebase-check review human-gate finalize complete',
  },
].map((formula) => ({ ...formula, file: join(PACKS, formula.file) }));

interface Step {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly needs?: readonly string[];
}

/** A plain row of names is a chain; needs that are not the step before are in parentheses. */
function expectedSteps(text: string): readonly (readonly [string, string])[] {
  let before = '';
  return text.split(' ').map((word) => {
    const [, id = '', needs] = /^([^(]+)(?:\((.*)\))?$/.exec(word) ?? [];
    const step = [id, needs ?? before] as const;
    before = id;
    return step;
  });
}

describe('formulas', () => {
  it.each([...FORMULAS, ...PACK_FORMULAS])('$file', async (expected) => {
    const formula = (await toml(expected.file)) as unknown as {
      readonly formula: string;
      readonly version: number;
      readonly extends?: readonly string[];
      readonly vars?: Readonly<Record<string, { readonly default?: string; readonly required?: boolean }>>;
      readonly steps: readonly Step[];
    };
    expect(formula.formula).toBe(basename(expected.file).split('.')[0]);
    expect(formula.version).toBe(expected.version);
    expect(formula.extends).toEqual(expected.extends);
    const vars = Object.entries(formula.vars ?? {}).map(([name, { required, default: text }]) =>
      required ? `${name}!` : `${name}=${text}`,
    );
    expect(vars.join(' ')).toBe(expected.vars);
    expect(formula.steps.map(({ id, needs }) => [id, (needs ?? []).join()])).toEqual(
      expectedSteps(expected.steps),
    );
    if (expected.extends !== undefined) return; // its variables are its parent's
    for (const { description } of formula.steps) {
      for (const [, name] of description.matchAll(/\{\{(\w+)\}\}/g)) {
        expect(Object.keys(formula.vars ?? {})).toContain(name);
      }
    }
  });

  it('there are no others', () => {
    const found = [GASTOWN, PACKS].flatMap(files).filter((file) => file.includes('/formulas/'));
    expect(found.sort()).toEqual([...FORMULAS, ...PACK_FORMULAS].map(({ file }) => file).sort());
  });

  it('the one order', async () => {
    expect(readdirSync(join(GASTOWN, 'orders'))).toEqual(['digest-generate.toml']);
    expect(await toml(join(GASTOWN, 'orders', 'digest-generate.toml'))).toEqual({
      order: {
        description: NUDGE,
        formula: 'mol-digest-generate',
        gate: 'cooldown',
        interval: '24h',
        pool: 'dog',
      },
    });
  });
});

const templates = (functions = ['cmd', 'session', 'basename']) =>
  new TemplateSet(Object.fromEntries(functions.map((name) => [name, (...args) => String(args[0] ?? name)])));

describe('prompts and fragments', () => {
  it.each<[string, string]>([
    [
      GASTOWN,
      'approval-fallacy-crew approval-fallacy-polecat architecture capability-ledger-merge capability-ledger-patrol capability-ledger-work command-glossary following-mol operational-awareness propulsion-crew propulsion-deacon propulsion-dog propulsion-mayor propulsion-polecat propulsion-refinery propulsion-witness tdd-discipline',
    ],
    [join(PACKS, 'discord'), 'discord-v0'],
    [join(PACKS, 'flywheel', 'cass'), 'cass-search'],
    [join(PACKS, 'rlm'), 'rlm-usage'],
  ])('%s defines', (dir, names) => {
    const set = templates();
    const home = join(dir, 'template-fragments');
    for (const file of readdirSync(home)) {
      set.add({ name: '', text: readFileSync(join(home, file), 'utf8'), file });
    }
    expect([...set.names()].sort().join(' ')).toBe(names);
    for (const name of set.names()) {
      const body = set.get(name);
      if (body) expect(set.check(body, new Set(PROMPT_FIELDS)), name).toEqual([]);
    }
  });

  it.each(
    ROOTS.flatMap(files)
      .filter((file) => file.endsWith('.template.md') && !file.includes('/template-fragments/'))
      .map((file) => relative(PROJECT_ROOT, file)),
  )('%s renders, and leaves by drain-ack', (path) => {
    const set = templates();
    const home = join(GASTOWN, 'template-fragments');
    if (path.includes('gastown')) {
      for (const file of readdirSync(home)) {
        set.add({ name: '', text: readFileSync(join(home, file), 'utf8'), file });
      }
    }
    const text = readFileSync(join(PROJECT_ROOT, path), 'utf8');
    const data = Object.fromEntries(PROMPT_FIELDS.map((name) => [name, `<${name}>`]));
    const rendered = set.render(set.add({ name: path, text, file: path }), data);
    expect(rendered).not.toMatch(/\{\{|\}\}/);
    leavesPolitely(rendered);
  });

  it('formulas leave by drain-ack too', () => {
    for (const { file } of [...FORMULAS, ...PACK_FORMULAS]) leavesPolitely(readFileSync(file, 'utf8'));
  });

  it('agents of the swarm are told everything by their name', () => {
    const prompts = files(join(EXAMPLES, 'swarm')).filter((file) => file.endsWith('.template.md'));
    for (const file of prompts) {
      const actions = readFileSync(file, 'utf8').match(/\{\{.*?\}\}/g) ?? [];
      for (const action of actions) {
        expect(['{{ .AgentName }}', '{{ basename .AgentName }}']).toContain(action);
      }
    }
  });
});

function leavesPolitely(text: string): void {
  const lines = text.split('\n').map((line) => line.trim());
  lines.forEach((line, at) => {
    if (line === 'exit') expect(lines[at - 1]).toContain('runtime drain-ack');
  });
}

describe('commands, checks and overlays', () => {
  it.each<[string, string, string]>([
    [
      'discord',
      'bind-dm bind-room enable-room-launch import-app map-channel map-rig post-message publish release-workflow reply-current retry-peer-fanout status sync-commands',
      'bd gc git jq legacy-pack-conflict openssl python',
    ],
    [
      'discord-intake',
      'import-app map-channel map-rig post-message release-workflow status sync-commands',
      'gc openssl python',
    ],
    [
      'github-intake',
      'comment-issue create-pr import-app map-repo push-branch release-workflow status',
      'gc openssl python',
    ],
    ['rlm', 'ask install status uninstall', 'docker python runtime'],
  ])('%s', async (name, commands, doctors) => {
    const dir = join(PACKS, name);
    expect(folders(join(dir, 'commands')).join(' ')).toBe(commands);
    for (const command of commands.split(' ')) {
      const home = join(dir, 'commands', command);
      expect(await toml(join(home, 'command.toml'))).toEqual({ description: NUDGE, run: `../${command}.sh` });
      expect(existsSync(join(home, `../${command}.sh`))).toBe(true);
      expect(existsSync(join(home, 'help.md'))).toBe(true);
    }
    expect(folders(join(dir, 'doctor')).join(' ')).toBe(doctors);
    for (const check of doctors.split(' ')) {
      const home = join(dir, 'doctor', check);
      expect(await toml(join(home, 'doctor.toml'))).toEqual({
        description: NUDGE,
        run: `../check-${check}.sh`,
      });
      expect(existsSync(join(home, `../check-${check}.sh`))).toBe(true);
    }
  });

  it('gastown', () => {
    expect(readdirSync(join(GASTOWN, 'commands', 'status')).sort()).toEqual(['help.md', 'run.sh']);
    expect(readdirSync(join(GASTOWN, 'doctor', 'check-scripts'))).toEqual(['run.sh']);
    const hook = (...commands: string[]) => [
      { matcher: '', hooks: commands.map((command) => ({ type: 'command', command })) },
    ];
    expect(json(join(GASTOWN, 'overlay', '.claude', 'settings.json'))).toEqual({
      hooks: {
        SessionStart: hook('gc prime'),
        PreCompact: hook('gc prime', 'gc handoff "context cycle"'),
        UserPromptSubmit: hook('gc mail check --inject'),
        Stop: hook('gc hook --inject'),
      },
    });
  });

  it('flywheel: bare hook entries, servers with a token from the environment', () => {
    const settings = (name: string) =>
      json(join(PACKS, 'flywheel', name, 'overlay', '.claude', 'settings.json')) as {
        readonly mcpServers?: Readonly<Record<string, Data>>;
        readonly hooks?: Readonly<Record<string, readonly Data[]>>;
      };
    expect(Object.keys(settings('cm').mcpServers ?? {})).toEqual(['cass-memory']);
    expect(JSON.stringify(settings('cm'))).toContain('"Authorization":"Bearer ${');
    expect(Object.keys(settings('mcp-agent-mail').mcpServers ?? {})).toEqual(['agent-mail']);
    for (const [name, event] of [
      ['mcp-agent-mail', 'UserPromptSubmit'],
      ['ubs', 'PreToolUse'],
    ] as const) {
      expect(settings(name).hooks).toEqual({ [event]: [{ type: 'command', command: NUDGE }] });
    }
  });

  it.each([
    ['flywheel/cass', 'search-sessions'],
    ['flywheel/cm', 'recall reflect'],
    ['flywheel/mcp-agent-mail', 'coordinate'],
    ['flywheel/ubs', 'scan-bugs'],
    ['pr-review', 'review-pr'],
    ...JEFFREY.map((name) => [`jeffrey/${name}`, name]),
  ])('skills of %s', (name, skills) => {
    const home = join(PACKS, name, 'overlay', '.claude', 'skills');
    expect(folders(home).join(' ')).toBe(skills);
    for (const skill of folders(home)) {
      expect(readFileSync(join(home, skill, 'SKILL.md'), 'utf8')).toMatch(
        new RegExp(`^---\nname: ${skill}\ndescription: \\S.*\n---\n`),
      );
    }
  });

  it('the theme pack has the same scripts as gastown', () => {
    const theme = join(PACKS, 'tmux-theme', 'scripts');
    for (const name of readdirSync(theme)) {
      const ours = readFileSync(join(GASTOWN, 'assets', 'scripts', name), 'utf8');
      expect(readFileSync(join(theme, name), 'utf8')).toBe(ours);
    }
  });
});

describe('scripts', () => {
  const scripts = ROOTS.flatMap(files).filter((file) => /\.(sh|mjs)$/.test(file));

  it('are there', () => {
    const names = scripts.map((file) => basename(file));
    for (const name of [
      'worktree-setup',
      'tmux-theme',
      'tmux-keybindings',
      'mock-polecat',
      'mock-refinery',
    ]) {
      expect(names).toContain(`${name}.sh`);
    }
    expect(existsSync(join(GASTOWN, 'assets', 'scripts', 'checks'))).toBe(true);
  });

  it('can be executed', () => {
    for (const file of scripts.filter((script) => !readFileSync(script, 'utf8').startsWith('# '))) {
      expect(() => accessSync(file, constants.X_OK), file).not.toThrow();
    }
  });

  it('are right shell', () => {
    for (const file of scripts.filter((name) => name.endsWith('.sh'))) {
      expect(spawnSync('bash', ['-n', file], { encoding: 'utf8' }).stderr, file).toBe('');
    }
  });
});

const made: string[] = [];
const children: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of children.splice(0)) await end();
  for (const dir of made.splice(0)) rmSync(dir, { recursive: true, force: true });
});

function scratch(): string {
  const dir = mkdtempSync(join(tmpdir(), 'gc-examples-'));
  made.push(dir);
  return dir;
}

const IDENTITY = ['-c', 'user.name=t', '-c', 'user.email=t@example.com'];
const git = (dir: string, ...args: string[]) =>
  execFileSync('git', ['-C', dir, ...IDENTITY, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();

function repository(parent: string, content: Readonly<Record<string, string>> = { 'a.txt': 'a\n' }): string {
  const dir = join(parent, 'rig');
  put(dir, content);
  git(dir, 'init', '--quiet', '-b', 'main');
  git(dir, 'add', '-A', '-f');
  git(dir, 'commit', '--quiet', '-m', 'start');
  return dir;
}

function put(dir: string, content: Readonly<Record<string, string>>): void {
  mkdirSync(dir, { recursive: true });
  for (const [name, text] of Object.entries(content)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
}

describe('worktree-setup.sh', () => {
  const SCRIPT = join(GASTOWN, 'assets', 'scripts', 'worktree-setup.sh');
  const setUp = (...args: string[]): SpawnSyncReturns<string> =>
    spawnSync(SCRIPT, args, { encoding: 'utf8' });
  const STAGED = {
    '.claude/settings.json': '{"staged":true}\n',
    '.claude/skills/x/SKILL.md': 'x\n',
    '.codex/hooks.json': '{}\n',
    '.gc/settings.json': '{}\n',
    '.github/hooks/gascity.json': '{}\n',
    'CLAUDE.md': 'staged\n',
    'docs/inner': 'staged, where the repository has a folder\n',
  };

  it('keeps staged files, stays clean, and changes nothing the second time', () => {
    const root = scratch();
    const rig = repository(root, {
      'CLAUDE.md': 'tracked\n',
      'docs/inner/x': 'x\n',
      '.gitignore': '*.log\n',
    });
    const target = join(root, 'city', '.gc', 'worktrees', 'rig', 'polecats', 'amber');
    put(target, STAGED);
    const snapshot = () =>
      files(target)
        .filter((file) => !file.includes('/.git/'))
        .map((file) => [relative(target, file), readFileSync(file, 'utf8')])
        .sort();
    const exclude = () => readFileSync(join(rig, '.git', 'info', 'exclude'), 'utf8');

    expect(setUp(rig, target, 'amber', '--sync')).toMatchObject({ status: 0, stderr: '' });
    const [first, block] = [snapshot(), exclude()];
    expect(Object.fromEntries(first)).toMatchObject({
      '.claude/settings.json': '{"staged":true}\n',
      '.claude/skills/x/SKILL.md': 'x\n',
      'CLAUDE.md': 'tracked\n',
      'docs/inner/x': 'x\n',
      '.beads/redirect': `${rig}/.beads\n`,
    });
    expect(git(target, 'status', '--porcelain')).toBe('');
    expect(git(rig, 'status', '--porcelain')).toBe('');
    const hash = execFileSync('git', ['hash-object', '--stdin'], { input: target, encoding: 'utf8' });
    expect(git(target, 'branch', '--show-current')).toBe(`gc-amber-${hash.slice(0, 12)}`);
    expect(readdirSync(dirname(target))).toEqual(['amber']);

    put(target, { '.claude/settings.json': '{"staged":true}\n' });
    expect(setUp(rig, target, 'amber', '--sync')).toMatchObject({ status: 0, stderr: '' });
    expect(snapshot()).toEqual(first);
    expect(exclude()).toBe(block);
    expect(block.match(/worktree-setup/g)).toHaveLength(1);
    expect(block.split('\n')).toEqual(
      expect.arrayContaining(
        '.beads/redirect .beads/hooks/ .beads/formulas/ .runtime/ .logs/ worktrees/ __pycache__/ .claude/ .codex/ .gemini/ .opencode/ .github/hooks/ .github/copilot-instructions.md state.json'.split(
          ' ',
        ),
      ),
    );
    expect(git(target, 'status', '--porcelain')).toBe('');
  });

  it('agents that start together write the block once', async () => {
    const root = scratch();
    const rig = repository(root);
    await Promise.all(
      [...'abcdefgh'].map(
        (name) =>
          new Promise<void>((resolve, reject) => {
            const child = spawn(SCRIPT, [rig, join(root, 'wt', name), name], { stdio: 'ignore' });
            child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(`${name}: ${code}`))));
          }),
      ),
    );
    const block = readFileSync(join(rig, '.git', 'info', 'exclude'), 'utf8');
    expect(block.match(/worktree-setup/g)).toHaveLength(1);
  });

  it('takes the older arguments, and a worktree whose folder was deleted', () => {
    const root = scratch();
    const rig = repository(root);
    const target = join(root, 'city', '.gc', 'worktrees', 'rig', 'opal');
    expect(setUp(rig, 'opal', join(root, 'city')).status).toBe(0);
    const branch = git(target, 'branch', '--show-current');
    rmSync(target, { recursive: true });
    put(target, { '.claude/x': 'again\n' });
    expect(setUp(rig, 'opal', join(root, 'city'))).toMatchObject({ status: 0 });
    expect(git(target, 'branch', '--show-current')).toBe(branch);
    expect(readFileSync(join(target, '.claude', 'x'), 'utf8')).toBe('again\n');
  });

  it('finishes a run that was killed while files were set aside', () => {
    const root = scratch();
    const rig = repository(root);
    const target = join(root, 'wt', 'opal');
    put(join(root, 'wt', '.opal.stage.abc123', 'files'), { '.claude/x': 'kept\n' });
    expect(setUp(rig, target, 'opal').status).toBe(0);
    expect(readFileSync(join(target, '.claude', 'x'), 'utf8')).toBe('kept\n');
    expect(readdirSync(join(root, 'wt'))).toEqual(['opal']);
  });

  it('brings a worktree up to date with its upstream, never over commits', () => {
    const root = scratch();
    const rig = repository(root);
    execFileSync('git', ['clone', '--quiet', '--bare', rig, join(root, 'origin.git')]);
    git(rig, 'remote', 'add', 'origin', join(root, 'origin.git'));
    git(rig, 'fetch', '--quiet', 'origin');
    const target = join(root, 'wt', 'opal');
    expect(setUp(rig, target, 'opal', '--sync').status).toBe(0);
    git(target, 'branch', '--quiet', '--set-upstream-to=origin/main');
    put(rig, { 'b.txt': 'b\n' });
    git(rig, 'add', 'b.txt');
    git(rig, 'commit', '--quiet', '-m', 'b');
    git(rig, 'push', '--quiet', 'origin', 'main');
    expect(setUp(rig, target, 'opal').status).toBe(0);
    expect(existsSync(join(target, 'b.txt'))).toBe(false);
    expect(setUp(rig, target, 'opal', '--sync').status).toBe(0);
    expect(existsSync(join(target, 'b.txt'))).toBe(true);
  });

  it('says what is wrong, and leaves staged files where they were', () => {
    const root = scratch();
    const plain = join(root, 'plain');
    put(plain, {});
    expect(setUp(plain, join(root, 't'), 'x')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('is not a git repository') as string,
    });
    git(plain, 'init', '--quiet');
    expect(setUp(plain, join(root, 't'), 'x').stderr).toContain('has no commit yet');
    expect(setUp(join(root, 'nowhere'), join(root, 't'), 'x').stderr).toContain(
      `no such folder: ${root}/nowhere`,
    );
    const rig = repository(root);
    expect(setUp(rig, rig, 'x').stderr).toContain('the target is the rig itself');
    put(join(root, 't'), STAGED);
    expect(setUp(rig, join(root, 't'), 'bad..name').status).toBe(1);
    expect(readFileSync(join(root, 't', '.claude', 'settings.json'), 'utf8')).toContain('staged');
    expect(readdirSync(root).sort()).toEqual(['plain', 'rig', 't']);
  });
});

/** Programs that the scripted agents may count on; no jq, no tmux, no gc. */
const PROGRAMS =
  'bash sh env git sed awk grep head cut sleep mkdir dirname basename rm cat printf tail mv mktemp find ls rmdir';

interface Bead {
  readonly id: string;
  readonly status: string;
  readonly assignee: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A folder of programs with a bd of our own, and its beads. */
function workplace(root: string, beads: readonly Partial<Bead>[]) {
  const bin = join(root, 'bin');
  mkdirSync(bin);
  for (const name of PROGRAMS.split(' ')) {
    const found = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim();
    if (found.startsWith('/')) symlinkSync(found, join(bin, name));
  }
  cpSync(join(STAND_INS, 'bd-stand-in.mjs'), join(root, 'bd.mjs'));
  writeFileSync(join(bin, 'bd'), `#!/bin/sh\nexec "${process.execPath}" "${join(root, 'bd.mjs')}" "$@"\n`);
  chmodSync(join(bin, 'bd'), 0o755);
  const file = join(root, 'beads.json');
  const full = beads.map((bead) => ({
    title: 'some work',
    status: 'open',
    assignee: '',
    issue_type: 'task',
    priority: 2,
    metadata: {},
    ...bead,
  }));
  writeFileSync(file, JSON.stringify(full));
  return {
    env: { PATH: bin, BD_FILE: file, HOME: root, TMPDIR: root, GIT_CONFIG_NOSYSTEM: '1' },
    bead: (id: string) => (json(file) as Bead[]).find((bead) => bead.id === id),
  };
}

/** Starts a script that the test ends. */
function play(script: string, cwd: string, env: Readonly<Record<string, string>>) {
  // A group of its own: what the script started goes with it.
  const child = spawn(script, [], { cwd, env, stdio: 'pipe', detached: true });
  const end = () => {
    if (child.pid !== undefined && output.code === undefined) process.kill(-child.pid, 'SIGKILL');
  };
  const output = { text: '', code: undefined as number | null | undefined };
  child.stdout.on('data', (chunk: Buffer) => {
    output.text += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    output.text += chunk.toString();
  });
  const closed = new Promise<void>((resolve) => {
    child.on('close', (code) => {
      output.code = code;
      resolve();
    });
  });
  children.push(async () => {
    end();
    await closed;
  });
  return { output, child, closed, end };
}

describe('the scripted agents of lifecycle', () => {
  const scripts = join(LIFECYCLE, 'assets', 'scripts');

  it.each([
    ['rig/polecat', 'rig/refinery', true],
    ['rig/town.polecat', 'rig/town.refinery', false],
  ])('work that is routed to %s is merged by %s and closed', async (route, refinery, withTemplate) => {
    const root = scratch();
    const rig = repository(root);
    const { env, bead } = workplace(root, [
      { id: 'rg-0', metadata: { 'gc.routed_to': 'rig/other' } },
      { id: 'rg-1', metadata: { 'gc.routed_to': route } },
    ]);
    const me = `${route}-1`;
    const polecat = play(join(scripts, 'mock-polecat.sh'), root, {
      ...env,
      GC_AGENT: me,
      GC_DIR: rig,
      GC_POLECAT_WORK_DELAY: '0',
      ...(withTemplate ? { GC_TEMPLATE: route } : {}),
    });
    await polecat.closed;
    expect(polecat.output, polecat.output.text).toMatchObject({ code: 0 });
    expect(bead('rg-1')).toMatchObject({
      status: 'in_progress',
      assignee: refinery,
      metadata: { branch: 'polecat/rg-1', 'gc.routed_to': route },
    });
    expect(git(rig, 'worktree', 'list', '--porcelain').match(/^worktree/gm)).toHaveLength(1);

    const merging = play(join(scripts, 'mock-refinery.sh'), rig, {
      ...env,
      GC_AGENT: 'session-name',
      GC_ALIAS: refinery,
      GC_REFINERY_POLL: '0.1',
    });
    await until('the bead is closed', () => bead('rg-1')?.status === 'closed');
    await until('the branch is gone', () => git(rig, 'branch', '--list', 'polecat/*') === '');
    expect(readFileSync(join(rig, 'work', 'rg-1.txt'), 'utf8')).toBe(`rg-1 by ${me}\n`);
    expect(bead('rg-0')).toMatchObject({ status: 'open', assignee: '' });
    merging.child.kill('SIGTERM');
    await merging.closed;
    expect(merging.output, merging.output.text).toMatchObject({ code: 0 });
  });

  it('a successor goes on with what its predecessor left', async () => {
    const root = scratch();
    const rig = repository(root);
    const { env, bead } = workplace(root, [{ id: 'rg-1', metadata: { 'gc.routed_to': 'rig/polecat' } }]);
    const world = { ...env, GC_AGENT: 'rig/polecat-2', GC_DIR: rig };
    const killed = play(join(scripts, 'mock-polecat.sh'), rig, { ...world, GC_POLECAT_WORK_DELAY: '600' });
    await until('it works', () => killed.output.text.includes('working on'));
    killed.end();
    await killed.closed;
    const next = play(join(scripts, 'mock-polecat.sh'), rig, { ...world, GC_POLECAT_WORK_DELAY: '0' });
    await next.closed;
    expect(next.output.text).toContain('going on with rg-1');
    expect(bead('rg-1')).toMatchObject({ assignee: 'rig/refinery' });
  });

  it('a branch that does not merge waits, and a merge of a person stays', async () => {
    const root = scratch();
    const rig = repository(root);
    git(rig, 'checkout', '--quiet', '-b', 'polecat/rg-1');
    put(rig, { 'a.txt': 'theirs\n' });
    git(rig, 'commit', '--quiet', '-am', 'theirs');
    git(rig, 'checkout', '--quiet', 'main');
    put(rig, { 'a.txt': 'ours\n' });
    git(rig, 'commit', '--quiet', '-am', 'ours');
    const { env, bead } = workplace(root, [
      { id: 'rg-1', status: 'in_progress', assignee: 'rig/refinery', metadata: { branch: 'polecat/rg-1' } },
    ]);
    const refinery = play(join(scripts, 'mock-refinery.sh'), rig, {
      ...env,
      GC_AGENT: 'rig/refinery',
      GC_REFINERY_POLL: '0.1',
    });
    await until('it says so', () => refinery.output.text.includes('cannot merge polecat/rg-1'));
    expect(git(rig, 'status', '--porcelain')).toBe('');
    expect(bead('rg-1')?.status).toBe('in_progress');
    put(rig, { 'b.txt': 'b\n' });
    git(rig, 'add', 'b.txt');
    git(rig, 'commit', '--quiet', '-m', 'b');
    expect(spawnSync('git', ['-C', rig, ...IDENTITY, 'merge', 'polecat/rg-1']).status).toBe(1);
    await until('it sees the person', () => refinery.output.text.includes('somebody is merging'));
    expect(existsSync(join(rig, '.git', 'MERGE_HEAD'))).toBe(true);
  });
});

describe('other scripted agents', () => {
  it('a worker of hyperscale takes one bead, closes it and ends', async () => {
    const root = scratch();
    const { env, bead } = workplace(root, [
      { id: 'gc-a1', metadata: { 'gc.routed_to': 'rig/worker' } },
      { id: 'gc-b2', metadata: { 'gc.routed_to': 'worker' } },
    ]);
    const script = join(EXAMPLES, 'hyperscale/packs/hyperscale/assets/scripts/mock-worker.sh');
    const worker = play(script, root, { ...env, GC_AGENT: 'rig/worker-1' });
    await worker.closed;
    expect(worker.output, worker.output.text).toMatchObject({ code: 0 });
    expect([bead('gc-a1')?.status, bead('gc-b2')?.status]).toEqual(['open', 'closed']);
  });

  it('the swarm codes, commits and answers', async () => {
    const root = scratch();
    const rig = repository(root);
    const { env, bead } = workplace(root, [{ id: 'rg-1' }, { id: 'rg-2' }]);
    const script = join(STAND_INS, 'swarm-agent.sh');
    const start = (name: string) =>
      play(script, rig, {
        ...env,
        GC_TEMPLATE: `rig/${name}`,
        GC_ALIAS: `rig/${name}-1`,
        GC_SWARM_POLL: '0.1',
      });
    const [coder, committer, mayor] = [start('coder'), start('committer'), start('swarm.mayor')];
    await until(
      'both are closed',
      () => bead('rg-1')?.status === 'closed' && bead('rg-2')?.status === 'closed',
    );
    await until('all is committed', () => git(rig, 'show', 'HEAD:./').includes('swarm.txt'));
    await until('it is clean', () => git(rig, 'status', '--porcelain') === '');
    expect(committer.output.text).toContain('committed');
    mayor.child.stdin.write('hello mayor\n');
    await until('the answer', () => mayor.output.text.includes('heard "hello mayor"\n> '));
    expect(coder.output.text).toContain('closed rg-2');
  });
});

describe('what packs run', () => {
  const run = (file: string, env: Readonly<Record<string, string>>, ...args: string[]) =>
    spawnSync(file, args, { encoding: 'utf8', env: { PATH: process.env['PATH'] ?? '', ...env } });

  it('the check of gastown finds a script that lost its bit', () => {
    const check = join(GASTOWN, 'doctor', 'check-scripts', 'run.sh');
    expect(run(check, { GC_PACK_DIR: GASTOWN }).status).toBe(0);
    const copy = join(scratch(), 'gastown');
    cpSync(GASTOWN, copy, { recursive: true });
    chmodSync(join(copy, 'assets', 'scripts', 'tmux-theme.sh'), 0o644);
    const broken = run(check, { GC_PACK_DIR: copy });
    expect(broken.status).toBe(1);
    expect(broken.stdout).toContain('tmux-theme.sh');
  });

  it('gastown status hands its arguments on', () => {
    const root = scratch();
    put(root, { gc: '#!/bin/sh\nprintf "<%s>" "$@"\nexit 3\n' });
    chmodSync(join(root, 'gc'), 0o755);
    const env = { GC_BIN: join(root, 'gc'), GC_CITY_PATH: root, GC_CITY_NAME: 'town' };
    const command = join(GASTOWN, 'commands', 'status', 'run.sh');
    expect(run(command, env, '--json', 'a b')).toMatchObject({
      status: 3,
      stdout: `<--city><${root}><status><--json><a b>`,
    });
    expect(run(command, env).stdout).toContain('Town:  town');
  });

  it('themes and keys are quiet without tmux and without a session', () => {
    const { env } = workplace(scratch(), []);
    for (const name of readdirSync(join(PACKS, 'tmux-theme', 'scripts'))) {
      const script = join(GASTOWN, 'assets', 'scripts', name);
      expect(run(script, env, 'session', 'agent', GASTOWN), name).toMatchObject({
        status: 0,
        stdout: '',
        stderr: '',
      });
    }
  });

  const noTmux = HAS_TMUX ? '' : ' (skipped: tmux is not installed)';

  it.runIf(HAS_TMUX)(`agents dress and end their own tmux sessions only${noTmux}`, async () => {
    const root = scratch();
    const rig = repository(root);
    const { env } = workplace(root, [{ id: 'rg-1', metadata: { 'gc.routed_to': 'rig/polecat' } }]);
    const path = `${env.PATH}:${process.env['PATH'] ?? ''}`;
    const world = { ...env, PATH: path, TMUX_TMPDIR: root, GC_TMUX_SOCKET: 'town' };
    const tmux = (...args: string[]) =>
      spawnSync('tmux', ['-L', 'town', ...args], { encoding: 'utf8', env: world }).stdout.trim();
    children.push(async () => void tmux('kill-server'));
    const agent = {
      GC_AGENT: 'rig/polecat-1',
      GC_SESSION_NAME: 'rig--polecat-1',
      GC_POLECAT_WORK_DELAY: '0',
    };
    tmux('new-session', '-d', '-s', 'person', 'sleep 600');
    tmux('new-session', '-d', '-s', 'rig--polecat-10', '-e', 'GC_AGENT=rig/polecat-10', 'sleep 600');
    const before = tmux('list-keys', '-T', 'prefix', 'p');
    const variables = Object.entries({ ...world, ...agent }).flatMap(([name, text]) => [
      '-e',
      `${name}=${text}`,
    ]);
    const script = join(LIFECYCLE, 'assets', 'scripts', 'mock-polecat.sh');
    tmux('new-session', '-d', '-s', 'rig--polecat-1', '-c', rig, ...variables, script);
    for (const name of ['tmux-theme.sh', 'tmux-keybindings.sh', 'tmux-theme.sh', 'tmux-keybindings.sh']) {
      const live = join(GASTOWN, 'assets', 'scripts', name);
      const args = name === 'tmux-theme.sh' ? ['rig--polecat-10', 'rig/polecat-10', GASTOWN] : [GASTOWN];
      expect(run(live, world, ...args), name).toMatchObject({ status: 0, stdout: '', stderr: '' });
    }
    expect(tmux('show-options', '-v', '-t', '=rig--polecat-10:', '@gc_role')).toBe('polecat');
    expect(tmux('show-options', '-t', '=person:')).toBe('');
    const after = tmux('list-keys', '-T', 'prefix', 'p');
    expect(after).toContain('cycle-session.sh');
    expect(after.endsWith(before.split(' ').at(-1) ?? '')).toBe(true);
    await until('it ends', () => !tmux('list-sessions', '-F', '#{session_name}').includes('polecat-1\n'));
    expect(tmux('list-sessions', '-F', '#{session_name}').split('\n').sort()).toEqual([
      'person',
      'rig--polecat-10',
    ]);
  });

  it('discord refuses to stand beside its older pack', () => {
    const city = scratch();
    const check = join(PACKS, 'discord', 'doctor', 'check-legacy-pack-conflict.sh');
    expect(run(check, { GC_CITY_PATH: city }).status).toBe(0);
    put(city, { '.gc/services/discord-intake/data/config.json': '{}' });
    expect(run(check, { GC_CITY_PATH: city }).status).toBe(2);
    expect(run(check, { GC_CITY_ROOT: city }).status).toBe(2);
  });

  const python = spawnSync('python3', ['--version']).status === 0;
  const skipped = python ? '' : ' (skipped: python3 is not installed)';

  it.runIf(python)(`a service answers on its socket${skipped}`, async () => {
    const socketPath = join(scratch(), 's.sock');
    const service = spawn('python3', ['-u', 'scripts/github_intake_service.py'], {
      cwd: join(PACKS, 'github-intake'),
      env: { ...process.env, GC_SERVICE_SOCKET: socketPath, GC_SERVICE_NAME: 'github-webhook' },
      stdio: 'ignore',
    });
    const closed = new Promise<number | null>((resolve) => service.on('close', resolve));
    children.push(async () => {
      service.kill('SIGKILL');
      await closed;
    });
    await until('it is healthy', () => health(socketPath));
    service.kill('SIGTERM');
    expect(await closed).toBe(0);
  });

  it.runIf(python)(`commands keep what they are told${skipped}`, () => {
    const city = scratch();
    const dir = join(PACKS, 'discord');
    const env = { GC_CITY_PATH: city, GC_PACK_DIR: dir };
    const command = (name: string, ...args: string[]) =>
      run(join(dir, 'commands', `${name}.sh`), env, ...args);
    expect(command('map-channel', '42', 'mayor').status).toBe(0);
    expect(command('map-channel', '42').status).toBe(1);
    expect(JSON.parse(command('status').stdout)).toMatchObject({
      settings: { 'map-channel': { '42': { agent: 'mayor' } } },
    });
    expect(run(join(dir, 'commands', 'status.sh'), {}).status).not.toBe(0);
  });

  it.runIf(python)(`rlm says whether it is installed${skipped}`, () => {
    const env = { GC_CITY_PATH: scratch(), GC_PACK_DIR: join(PACKS, 'rlm') };
    const command = (name: string, ...args: string[]) =>
      run(join(PACKS, 'rlm', 'commands', `${name}.sh`), env, ...args).status;
    const check = () => run(join(PACKS, 'rlm', 'doctor', 'check-runtime.sh'), env).status;
    expect([command('status'), command('ask', 'what?'), check()]).toEqual([1, 2, 1]);
    expect([command('install'), command('status'), check()]).toEqual([0, 0, 0]);
    expect(command('ask', 'what?', join(PACKS, 'rlm', 'pack.toml'))).toBe(0);
    expect([command('uninstall'), command('status')]).toEqual([0, 1]);
  });
});

function health(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = request({ socketPath, path: '/healthz' }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asked.on('error', () => resolve(false));
    asked.end();
  });
}
