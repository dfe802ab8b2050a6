import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { City } from '../internal/config/city.ts';
import { loadCity } from '../internal/config/load-city.ts';
import { PROJECT_ROOT } from './support/program.ts';

const EXAMPLES = join(PROJECT_ROOT, 'examples');
const FIXTURES = join(PROJECT_ROOT, 'test', 'fixtures', 'packs');
const GASTOWN_PACKS = join(EXAMPLES, 'gastown', 'packs');
const SYSTEM_PACKS = [
  ...['core', 'bd', 'dolt'].map((name) => join(PROJECT_ROOT, 'packs', name)),
  ...['maintenance', 'gastown'].map((name) => join(GASTOWN_PACKS, name)),
];

const made: string[] = [];
afterEach(() => {
  for (const dir of made.splice(0)) rmSync(dir, { recursive: true, force: true });
});

interface Setting {
  /** With the packs of the program written out, as `gc start` does. */
  readonly system?: boolean;
  /** What holds the work. */
  readonly beads?: string;
  /** Added to the city file. */
  readonly more?: string;
}

/** An example as its user has it: a copy of its own. */
function copyOf(example: string, { system = false, more = '' }: Setting): string {
  const dir = mkdtempSync(join(tmpdir(), 'gc-example-'));
  made.push(dir);
  cpSync(join(EXAMPLES, example), dir, { recursive: true });
  if (example === 'k8s') renameSync(join(dir, 'example-city.toml'), join(dir, 'city.toml'));
  if (system) writeSystemPacks(dir);
  mkdirSync(join(dir, 'R'));
  writeFileSync(join(dir, 'city.toml'), `${readFileSync(join(dir, 'city.toml'), 'utf8')}\n${more}`);
  return dir;
}

function writeSystemPacks(dir: string): void {
  for (const pack of SYSTEM_PACKS) {
    cpSync(pack, join(dir, '.gc', 'system', 'packs', pack.split('/').at(-1) ?? ''), { recursive: true });
  }
}

async function load(dir: string, beads = ''): Promise<City> {
  const result = await loadCity(dir, { env: { HOME: dir, ...(beads === '' ? {} : { GC_BEADS: beads }) } });
  if (result.kind === 'invalid') throw new Error(result.problems.map(({ message }) => message).join('\n'));
  return result.city;
}

const example = async (name: string, setting: Setting = {}): Promise<City> =>
  load(copyOf(name, setting), setting.beads);

const rig = (pack: string, how: 'includes' | 'imports'): string =>
  `[[rigs]]\nname = "R"\npath = "R"\n${how === 'includes' ? `includes = ["${pack}"]` : `[rigs.imports.x]\nsource = "${pack}"`}\n`;

const agents = (city: City, implicit = false) =>
  city.agents.filter((agent) => agent.implicit === implicit).map((agent) => agent.qualifiedName);
const sessions = (city: City) => city.namedSessions.map(({ identity, mode }) => `${identity} ${mode}`);
/** Folders as the example spells them: `packs/gastown`, `core` for a pack of the program. */
const spelled = (city: City, paths: readonly string[]) =>
  paths.map((path) => path.replace(`${city.root}/`, '').replace('.gc/system/packs/', ''));
const warnings = (city: City) => city.warnings.map(({ message }) => message);
const commands = (city: City) => city.commands.map(({ binding, words }) => [binding, ...words].join(' '));
const doctors = (city: City) =>
  city.doctors.map(
    ({ binding, packName, name, rig: of }) => `${of === '' ? '' : `${of} `}${binding || packName}:${name}`,
  );

const DOLT_COMMANDS = 'cleanup health list logs recover rollback sql start status sync'
  .split(' ')
  .map((word) => `dolt ${word}`);
const ISOLATION = ['unknown key "isolation" in workspace'];
const DISPATCHER = 'control-dispatcher';

interface Expected {
  /** Written ones without packs of the program, with them (file beads), and from a rig, included and imported. */
  readonly agents: readonly string[];
  readonly started: readonly string[];
  readonly implicit: readonly string[];
  readonly inRig: readonly string[];
  readonly sessions: readonly string[];
  readonly rigSessions: readonly string[];
  /** Order of packs when bd holds the work. */
  readonly packs: readonly string[];
  readonly warnings: readonly string[];
}

const CITIES: Readonly<Record<string, Expected>> = {
  gastown: {
    agents: ['gastown.dog', 'gastown.boot', 'gastown.deacon', 'gastown.mayor'],
    started: ['gastown.dog', 'gastown.boot', 'gastown.deacon', 'gastown.mayor'],
    implicit: ['claude', DISPATCHER],
    inRig: ['polecat', 'refinery', 'witness'],
    sessions: [
      'gastown.mayor always',
      'gastown.deacon always',
      'gastown.boot always',
      `${DISPATCHER} always`,
    ],
    rigSessions: ['witness always', 'refinery on_demand'],
    packs: ['core', 'dolt', 'bd', 'packs/maintenance', 'packs/gastown'],
    warnings: [],
  },
  swarm: {
    agents: ['deacon', 'dog', 'mayor'],
    started: ['deacon', 'dog', 'mayor'],
    implicit: ['claude'],
    inRig: ['coder', 'committer'],
    sessions: ['mayor on_demand', 'deacon always'],
    rigSessions: ['committer on_demand'],
    packs: ['packs/swarm', 'core', 'maintenance', 'dolt', 'bd'],
    warnings: [],
  },
  hyperscale: {
    agents: [],
    started: ['dog'],
    implicit: ['claude'],
    inRig: ['worker'],
    sessions: [],
    rigSessions: [],
    packs: ['core', 'maintenance', 'dolt', 'bd', 'packs/hyperscale'],
    warnings: ISOLATION,
  },
  lifecycle: {
    agents: [],
    started: ['dog'],
    implicit: [],
    inRig: ['polecat', 'refinery'],
    sessions: [],
    rigSessions: ['refinery on_demand'],
    packs: ['core', 'maintenance', 'dolt', 'bd'],
    warnings: [],
  },
  k8s: {
    agents: ['coder', 'mayor'],
    started: ['dog', 'coder', 'mayor'],
    implicit: ['claude'],
    inRig: ['coder', 'mayor'],
    sessions: [],
    rigSessions: [],
    packs: ['core', 'maintenance', 'dolt', 'bd'],
    warnings: ISOLATION,
  },
};

describe.each(Object.entries(CITIES))('the city %s', (name, expected) => {
  const pack = name === 'k8s' ? '.' : `packs/${name}`;

  it('as it is shipped', async () => {
    const city = await example(name);
    expect(agents(city)).toEqual(expected.agents);
    expect(agents(city, true)).toEqual(expected.implicit);
    expect(sessions(city)).toEqual(expected.sessions);
    expect(warnings(city)).toEqual(expected.warnings);
    expect(city.services).toEqual([]);
  });

  it('with the packs of the program, on files and on bd', async () => {
    const files = await example(name, { system: true, beads: 'file' });
    expect(agents(files)).toEqual(expected.started);
    expect(warnings(files)).toEqual(expected.warnings);
    const withoutBd = expected.packs.filter((each) => each !== 'bd' && each !== 'dolt');
    expect(spelled(files, files.layers.packDirs.city)).toEqual(withoutBd);
    const bd = await example(name, { system: true, beads: 'bd' });
    expect([agents(bd), agents(bd, true), sessions(bd)]).toEqual([
      expected.started,
      expected.implicit,
      expected.sessions,
    ]);
    expect(spelled(bd, bd.layers.packDirs.city)).toEqual(expected.packs);
    const own = name === 'gastown' ? ['gastown status'] : [];
    expect(commands(bd)).toEqual([...DOLT_COMMANDS, ...own]);
    const ofFile = await example(name, { system: true, more: '[beads]\nprovider = "bd"\n' });
    expect(spelled(ofFile, ofFile.layers.packDirs.city)).toEqual(expected.packs);
  });

  it.each(['includes', 'imports'] as const)('with a rig that names its pack under %s', async (how) => {
    const city = await example(name, { system: true, beads: 'bd', more: rig(pack, how) });
    const bound = (text: string) => (how === 'includes' ? `R/${text}` : `R/x.${text}`);
    expect(agents(city)).toEqual([...expected.started, ...expected.inRig.map(bound)]);
    expect(agents(city, true)).toEqual(expected.implicit.flatMap((each) => [each, `R/${each}`]));
    const dispatchers = expected.sessions.filter((each) => each.startsWith(DISPATCHER));
    expect(sessions(city)).toEqual([
      ...expected.sessions.filter((each) => !dispatchers.includes(each)),
      ...expected.rigSessions.map(bound),
      ...dispatchers.flatMap((each) => [each, `R/${each}`]),
    ]);
    expect(warnings(city)).toEqual(expected.warnings);
    expect(commands(city).filter((each) => !each.startsWith('dolt '))).toEqual(
      name === 'gastown' ? ['gastown status'] : [],
    );
    for (const agent of city.agents) {
      const lines = name === 'gastown' && !agent.implicit ? (agent.dir === 'R' ? 4 : 2) : 0;
      expect([agent.qualifiedName, agent.sessionLive.length]).toEqual([agent.qualifiedName, lines]);
    }
  });
});

describe('gastown in detail', () => {
  it('the dog is the one of maintenance, patched, with the lines of gastown', async () => {
    const city = await example('gastown', { system: true });
    const dog = city.agents.find(({ qualifiedName }) => qualifiedName === 'gastown.dog');
    const home = join(city.root, 'packs/maintenance/agents/dog');
    expect(dog).toMatchObject({
      packName: 'maintenance',
      fallback: true,
      promptTemplate: join(home, 'prompt.template.md'),
      overlayDir: join(home, 'overlay'),
      workDir: '.gc/agents/dogs/{{.AgentBase}}',
      wakeMode: 'fresh',
      idleTimeoutMs: 7_200_000,
      minActiveSessions: 0,
      maxActiveSessions: 3,
    });
    const pack = join(city.root, 'packs/gastown');
    expect(dog?.sessionLive).toEqual([
      `${pack}/assets/scripts/tmux-theme.sh {{.Session}} {{.Agent}} ${pack}`,
      `${pack}/assets/scripts/tmux-keybindings.sh ${pack}`,
    ]);
    expect(city.agents.find(({ name }) => name === DISPATCHER)?.suspended).toBe(true);
    expect(city.agents.find(({ name }) => name === 'claude')?.promptTemplate).toBe(
      join(city.root, '.gc/system/packs/core/assets/prompts/graph-worker.md'),
    );
  });

  it('rig agents have their work dirs, staging, names and capacity', async () => {
    const city = await example('gastown', { more: rig('packs/gastown', 'includes') });
    const byName = Object.fromEntries(city.agents.map((agent) => [agent.qualifiedName, agent]));
    const setup =
      '{{.ConfigDir}}/assets/scripts/worktree-setup.sh {{.RigRoot}} {{.WorkDir}} {{.AgentBase}} --sync';
    expect(byName['R/polecat']).toMatchObject({
      workDir: '.gc/worktrees/{{.Rig}}/polecats/{{.AgentBase}}',
      preStart: [setup],
      sourceDir: join(city.root, 'packs/gastown'),
      maxActiveSessions: 5,
    });
    expect(byName['R/polecat']?.namepoolNames.length).toBeGreaterThan(5);
    expect(byName['R/refinery']).toMatchObject({ preStart: [setup], idleTimeoutMs: 7_200_000 });
    expect(byName['R/witness']).toMatchObject({ workDir: '.gc/agents/{{.Rig}}/witness', preStart: [] });
  });

  it('layers: formulas, overlays, scripts and checks of the city and of the rig', async () => {
    const city = await example('gastown', {
      system: true,
      beads: 'bd',
      more: rig('packs/gastown', 'includes'),
    });
    const { formulas, overlays, scripts, packDirs } = city.layers;
    const ofCity = ['core/formulas', 'dolt/formulas', 'packs/maintenance/formulas', 'packs/gastown/formulas'];
    expect(spelled(city, formulas.city)).toEqual(ofCity);
    expect(spelled(city, formulas.rigs['R'] ?? [])).toEqual(ofCity);
    expect(spelled(city, packDirs.rigs['R'] ?? [])).toEqual(['packs/maintenance', 'packs/gastown']);
    expect(spelled(city, overlays.city)).toEqual(['core/overlay', 'packs/gastown/overlay']);
    expect(spelled(city, overlays.rigs['R'] ?? [])).toEqual(['packs/gastown/overlay']);
    expect(spelled(city, scripts.city)).toEqual(
      ['dolt', 'bd', 'packs/maintenance', 'packs/gastown'].map((pack) => `${pack}/assets/scripts`),
    );
    expect(doctors(city)).toEqual([
      'dolt:check-dolt',
      'bd:check-bd',
      'maintenance:check-binaries',
      'gastown:check-scripts',
      'R maintenance:check-binaries',
      'R gastown:check-scripts',
    ]);
    expect(
      city.commands
        .filter(({ binding }) => binding === 'gastown')
        .map(({ run, helpFile }) => spelled(city, [run, helpFile])),
    ).toEqual([['packs/gastown/commands/status/run.sh', 'packs/gastown/commands/status/help.md']]);
  });

  it('as gc init writes it: the copy of the program is included, its layers come first', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'gc-example-'));
    made.push(dir);
    writeSystemPacks(dir);
    mkdirSync(join(dir, 'R'));
    writeFileSync(
      join(dir, 'city.toml'),
      `[workspace]
name = "town"
provider = "claude"
includes = [".gc/system/packs/gastown"]
global_fragments = ["command-glossary", "operational-awareness"]
${rig('.gc/system/packs/gastown', 'includes')}`,
    );
    const city = await load(dir, 'bd');
    expect(agents(city)).toEqual([
      'maintenance.dog',
      'boot',
      'deacon',
      'mayor',
      'R/polecat',
      'R/refinery',
      'R/witness',
    ]);
    expect(sessions(city)).toEqual([
      'mayor always',
      'deacon always',
      'boot always',
      'R/witness always',
      'R/refinery on_demand',
    ]);
    expect(spelled(city, city.layers.packDirs.city)).toEqual([
      'maintenance',
      'gastown',
      'core',
      'dolt',
      'bd',
    ]);
    expect(warnings(city)).toEqual([]);
  });

  it('removing the folder of an import fails the load, of an include only leaves it out', async () => {
    const gastown = copyOf('gastown', {});
    rmSync(join(gastown, 'packs/maintenance'), { recursive: true });
    const result = await loadCity(gastown, { env: {} });
    expect(result.kind === 'invalid' && result.problems.map(({ code }) => code)).toEqual(['pack-not-found']);
    const swarm = copyOf('swarm', {});
    rmSync(join(swarm, 'packs/swarm'), { recursive: true });
    expect((await load(swarm)).warnings.map(({ code }) => code)).toEqual(['pack-skipped']);
  });
});

describe('details of the other cities', () => {
  it('swarm keeps one coder per rig', async () => {
    const city = await example('swarm', { more: rig('packs/swarm', 'includes') });
    expect(city.agents.find(({ name }) => name === 'coder')).toMatchObject({
      minActiveSessions: 1,
      maxActiveSessions: 5,
      workDir: '',
    });
  });

  it('lifecycle runs scripts of its pack, and names no provider', async () => {
    const city = await example('lifecycle', { more: rig('packs/lifecycle', 'includes') });
    expect(city.workspace).toMatchObject({ provider: '', startCommand: 'true', name: 'lifecycle-demo' });
    expect(city.agents[0]).toMatchObject({
      startCommand: '{{.ConfigDir}}/assets/scripts/mock-polecat.sh',
      sourceDir: join(city.root, 'packs/lifecycle'),
    });
  });

  it('hyperscale and k8s load without a cluster', async () => {
    const hyperscale = await example('hyperscale', { more: rig('packs/hyperscale', 'includes') });
    expect(hyperscale.session).toMatchObject({
      provider: 'k8s',
      k8s: { namespace: 'gc', cpuRequest: '50m', prebaked: true },
    });
    expect(hyperscale.agents[0]?.startCommand).toBe('assets/scripts/mock-worker.sh');
    const k8s = await example('k8s');
    expect(k8s.workspace.sessionTemplate).toBe('{{.City}}-{{.Agent}}');
    expect(k8s.mail.provider).toBe('exec:gc-mail-mcp-agent-mail');
    expect(k8s.agents[0]).toMatchObject({
      processNames: ['claude'],
      readyPromptPrefix: 'claude',
      maxActiveSessions: 2,
    });
    expect(k8s.notes.map(({ message }) => message)).toEqual(
      ['coder', 'mayor'].map((name) => `unknown key "install_hooks" in agent "${name}"`),
    );
  });

  it('a fresh city has the dog and its mayor', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'gc-example-'));
    made.push(dir);
    writeSystemPacks(dir);
    mkdirSync(join(dir, 'agents/mayor'), { recursive: true });
    writeFileSync(
      join(dir, 'city.toml'),
      '[workspace]\nprovider = "claude"\n[[named_session]]\ntemplate = "mayor"\nmode = "always"\n',
    );
    expect(agents(await load(dir))).toEqual(['dog', 'mayor']);
  });
});

/** A small city that imports a public pack and includes it in a rig. */
async function withPack(path: string, inRig = false, more = ''): Promise<City> {
  const dir = mkdtempSync(join(tmpdir(), 'gc-example-'));
  made.push(dir);
  const [family = ''] = path.split('/');
  cpSync(join(FIXTURES, family), join(dir, 'packs', family), { recursive: true });
  mkdirSync(join(dir, 'R'));
  const importing = `[imports.it]\nsource = "packs/${path}"\n`;
  const city = '[workspace]\nname = "town"\n[[agent]]\nname = "mayor"\nstart_command = "true"\n';
  writeFileSync(
    join(dir, 'city.toml'),
    `${city}${importing}${more}${inRig ? rig(`packs/${path}`, 'includes') : ''}`,
  );
  return load(dir);
}

const SERVICES = {
  discord: ['discord-interactions', 'discord-admin', 'discord-gateway'],
  'discord-intake': ['discord-interactions', 'discord-admin'],
  'github-intake': ['github-webhook', 'github-admin'],
} as const;
const COMMANDS = {
  discord: [
    ...[
      'bind-dm',
      'bind-room',
      'enable-room-launch',
      'import-app',
      'map-channel',
      'map-rig',
      'post-message',
      'publish',
    ],
    ...['release-workflow', 'reply-current', 'retry-peer-fanout', 'status', 'sync-commands'],
  ],
  'discord-intake': [
    'import-app',
    'map-channel',
    'map-rig',
    'post-message',
    'release-workflow',
    'status',
    'sync-commands',
  ],
  'github-intake': [
    'comment-issue',
    'create-pr',
    'import-app',
    'map-repo',
    'push-branch',
    'release-workflow',
    'status',
  ],
} as const;
const CHECKS = {
  discord: ['bd', 'gc', 'git', 'jq', 'legacy-pack-conflict', 'openssl', 'python'],
  'discord-intake': ['gc', 'openssl', 'python'],
  'github-intake': ['gc', 'openssl', 'python'],
} as const;

describe('public packs', () => {
  it.each(['discord', 'discord-intake', 'github-intake'] as const)(
    '%s: services, commands, checks',
    async (name) => {
      const city = await withPack(name);
      expect(city.services.map((service) => service.name)).toEqual(SERVICES[name]);
      for (const service of city.services) {
        expect(service).toMatchObject({
          kind: 'proxy_process',
          stateRoot: `.gc/services/${name}`,
          sourceDir: join(city.root, 'packs', name),
          process: { healthPath: '/healthz' },
        });
      }
      expect(commands(city)).toEqual(COMMANDS[name].map((word) => `it ${word}`));
      for (const { run, words, helpFile } of city.commands) {
        expect(spelled(city, [run, helpFile])).toEqual([
          `packs/${name}/commands/${words[0]}.sh`,
          `packs/${name}/commands/${words[0]}/help.md`,
        ]);
      }
      expect(doctors(city)).toEqual(CHECKS[name].map((check) => `it:${check}`));
      expect(spelled(city, city.layers.formulas.city)).toEqual([`packs/${name}/formulas`]);
      expect([warnings(city), city.notes]).toEqual([[], []]);
    },
  );

  it('publication of the services as given', async () => {
    const { services } = await withPack('github-intake');
    expect(services.map(({ publication: { visibility, hostname } }) => [visibility, hostname])).toEqual([
      ['public', 'github'],
      ['tenant', ''],
    ]);
    expect(services[0]?.process.command).toEqual(['python3', '-u', 'scripts/github_intake_service.py']);
  });

  it('discord and discord-intake cannot be together', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'gc-example-'));
    made.push(dir);
    for (const name of ['discord', 'discord-intake'])
      cpSync(join(FIXTURES, name), join(dir, name), { recursive: true });
    writeFileSync(
      join(dir, 'city.toml'),
      '[imports.a]\nsource = "discord"\n[imports.b]\nsource = "discord-intake"\n',
    );
    const result = await loadCity(dir, { env: {} });
    expect(result.kind === 'invalid' && result.problems.map(({ code }) => code)).toEqual([
      'duplicate-service',
      'duplicate-service',
    ]);
  });

  it.each([
    ['flywheel/all', ['cass', 'cm', 'mcp-agent-mail', 'ubs']],
    [
      'jeffrey/all',
      [
        'code-review',
        'de-slopify',
        'idea-wizard',
        'planning-workflow',
        'readme-revise',
        'robot-mode',
        'ui-polish',
      ],
    ],
  ])('%s: the overlays of all, for the city and for a rig', async (path, parts) => {
    const [family = ''] = path.split('/');
    const city = await withPack(path, true);
    const overlays = parts.map((part) => `packs/${family}/${part}/overlay`);
    expect(spelled(city, city.layers.overlays.city)).toEqual(overlays);
    expect(spelled(city, city.layers.overlays.rigs['R'] ?? [])).toEqual(overlays);
    expect(spelled(city, city.layers.packDirs.city)).toEqual(
      [...parts, 'all'].map((part) => `packs/${family}/${part}`),
    );
    expect(agents(city)).toEqual(['mayor']);
    expect([warnings(city), city.notes]).toEqual([[], []]);
  });

  it.each([
    'flywheel/cass',
    'flywheel/cm',
    'flywheel/mcp-agent-mail',
    'flywheel/ubs',
    'jeffrey/code-review',
    'jeffrey/ui-polish',
  ])('%s alone: its overlay', async (path) => {
    const city = await withPack(path);
    expect(spelled(city, city.layers.overlays.city)).toEqual([`packs/${path}/overlay`]);
    expect(warnings(city)).toEqual([]);
  });

  it('pr-review: a formula and an overlay, for the rig that includes it', async () => {
    const city = await withPack('pr-review', true);
    expect(spelled(city, city.layers.formulas.rigs['R'] ?? [])).toEqual(['packs/pr-review/formulas']);
    expect(spelled(city, city.layers.overlays.rigs['R'] ?? [])).toEqual(['packs/pr-review/overlay']);
    expect(warnings(city)).toEqual([]);
  });

  it('rlm: commands, checks, and its fragment for everybody', async () => {
    const city = await withPack('rlm', false, '[agent_defaults]\nappend_fragments = ["rlm-usage"]\n');
    expect(commands(city)).toEqual(['it ask', 'it install', 'it status', 'it uninstall']);
    expect(doctors(city)).toEqual(['it:docker', 'it:python', 'it:runtime']);
    expect(city.agentDefaults.appendFragments).toEqual(['rlm-usage']);
    expect(warnings(city)).toEqual([]);
  });

  it('tmux-theme: its lines on every agent, its scripts of the old folder', async () => {
    const city = await withPack('tmux-theme');
    const pack = join(city.root, 'packs/tmux-theme');
    expect(city.agents[0]?.sessionLive).toEqual([
      `${pack}/scripts/tmux-theme.sh {{.Session}} {{.Agent}} ${pack}`,
      `${pack}/scripts/tmux-keybindings.sh ${pack}`,
    ]);
    expect(spelled(city, city.layers.scripts.city)).toEqual(['packs/tmux-theme/scripts']);
  });
});
