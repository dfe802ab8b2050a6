import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadCity } from './load-city.ts';
import { brief, loadBad, loadOk, scratch } from './testing/scratch-city.ts';

const AGENT = 'agents: [{name: a, start_command: sh}]\n';

async function codes(files: Record<string, string | Uint8Array>): Promise<readonly string[]> {
  return (await loadBad(files)).map((problem) => problem.code);
}

describe('a file that is not a city', () => {
  it('missing folder, missing file, two files', async () => {
    const gone = await loadCity('/nonexistent/city', { env: {} });
    expect(gone.kind === 'invalid' && gone.problems[0]?.code).toBe('city-file-not-found');
    expect((await loadBad({ 'ctiy.yaml': AGENT }))[0]).toMatchObject({
      code: 'city-file-not-found',
      message: 'no city.yaml or city.toml in this folder; did you mean "ctiy.yaml" to be one?',
      hint: 'make a city here with: gc init',
    });
    expect(brief(await loadBad({ 'city.yaml': AGENT, 'city.toml': '' }))).toEqual([
      '1:1 two-city-files: the folder has both city.yaml and city.toml',
    ]);
  });

  it.each([
    ['empty', ''],
    ['only comments', '# nothing\n\n'],
    ['an empty document', '---\n'],
  ])('%s', async (_what, text) => {
    expect(await codes({ 'city.yaml': text })).toEqual(['empty']);
    if (!text.startsWith('---')) expect(await codes({ 'city.toml': text })).toEqual(['empty']);
  });

  it('binary, not UTF-8, too large, a folder', async () => {
    expect(await codes({ 'city.yaml': new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 0, 1]) })).toEqual(['binary']);
    expect(await codes({ 'city.toml': new Uint8Array([0x61, 0x3d, 0x22, 0xff, 0xfe, 0x22]) })).toEqual([
      'not-utf8',
    ]);
    expect(await codes({ 'city.yaml': `# ${'x'.repeat(5_000_000)}` })).toEqual(['too-large']);
    const dir = scratch({});
    mkdirSync(join(dir, 'city.yaml'));
    const result = await loadCity(dir, { env: {} });
    expect(result.kind === 'invalid' && result.problems[0]?.code).toBe('not-a-file');
  });

  it('a link to itself, and agents that cannot be listed', async () => {
    const dir = scratch({});
    symlinkSync('city.yaml', join(dir, 'city.yaml'));
    const loop = await loadCity(dir, { env: {} });
    expect(loop.kind === 'invalid' && loop.problems[0]?.message).toMatch(/^cannot be read: ELOOP/);
    const other = scratch({ 'city.yaml': AGENT });
    symlinkSync('agents', join(other, 'agents'));
    const agents = await loadCity(other, { env: {} });
    expect(agents.kind === 'invalid' && agents.problems[0]).toMatchObject({
      code: 'unreadable',
      position: { file: join(other, 'agents') },
    });
  });

  it('a byte order mark and CRLF are fine', async () => {
    expect((await loadOk({ 'city.yaml': `\ufeff${AGENT.replaceAll('\n', '\r\n')}` })).agents).toHaveLength(1);
    const toml = '\ufeff[[agent]]\r\nname = "a"\r\nstart_command = "sh"\r\n';
    expect((await loadOk({ 'city.toml': toml })).agents).toHaveLength(1);
  });

  it.each([
    ['a list', '- a\n', 'wrong-type'],
    ['a text', 'hello\n', 'wrong-type'],
    ['a second document', `${AGENT}---\nb: 1\n`, 'yaml-syntax'],
    ['a cycle', 'agents: &a [*a]\n', 'yaml-cycle'],
    ['a cycle through maps', 'agents: &a [{name: x, env: &e {A: *e}}]\n', 'yaml-cycle'],
    ['an unknown tag', 'agents: !foo []\n', 'yaml-syntax'],
    ['a map as key', '? {a: 1}\n: 2\n', 'bad-key'],
    ['__proto__', '__proto__: {a: 1}\n', 'bad-key'],
    ['a duplicate key', 'workspace: {}\nworkspace: {}\n', 'duplicate-key'],
  ])('%s', async (_what, text, code) => {
    expect(await codes({ 'city.yaml': text })).toEqual([code]);
  });

  it('too many aliases', async () => {
    let bomb = 'a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n';
    for (let level = 1; level < 9; level += 1) {
      bomb += `a${level}: &a${level} [${Array(10)
        .fill(`*a${level - 1}`)
        .join(',')}]\n`;
    }
    expect(await codes({ 'city.yaml': bomb })).toEqual(['yaml-aliases']);
  });

  it('all syntax errors of a YAML file at once', async () => {
    expect(await codes({ 'city.yaml': 'a: 1\na: 2\nb: "x\n' })).toEqual(['duplicate-key', 'yaml-syntax']);
  });

  it('TOML errors have their place', async () => {
    expect(brief(await loadBad({ 'city.toml': '[workspace]\nname = "a"\nname = "b"\n' }))).toEqual([
      '3:1 duplicate-key: this key or table is already defined above',
    ]);
    expect(brief(await loadBad({ 'city.toml': '[workspace]\nname =\n' }))).toEqual([
      '2:7 toml-syntax: invalid value',
    ]);
    expect(await codes({ 'city.toml': '[agents.__proto__]\nx = 1\n' })).toEqual(['bad-key']);
  });

  it('a file for TOML 1.1 readers only is a warning', async () => {
    const city = await loadOk({ 'city.toml': 'agent = [{\n name = "a",\n start_command = "sh" }]\n' });
    expect(city.warnings.map((warning) => warning.code)).toEqual(['toml-1.1']);
  });
});

describe('keys and types', () => {
  it('CFG-13: unknown keys in every section, with the nearest name', async () => {
    const problems = await loadBad({
      'city.yaml': `
start_comand: x
sesion: {}
workspace: {nmae: x}
session: {k8s: {imagee: x}, acp: {foo: 1}}
daemon: {max_restart: 1}
orders: {overrides: [{name: a, gat: x}]}
providers: {p: {comand: x, options_schema: [{key: k, choices: [{value: v, flagargs: []}]}]}}
agents: [{name: a, promt_template: x}]
named_sessions: [{template: a, mod: always}]
rigs: [{name: r, path: /tmp, prefx: x, session_sleep: {noninteractiv: off}}]
`,
    });
    expect(
      problems.filter((problem) => problem.code === 'unknown-key').map((problem) => problem.message),
    ).toEqual([
      'unknown key "start_comand" in the city file; did you mean "workspace.start_command"?',
      'unknown key "sesion" in the city file; did you mean "session"?',
      'unknown key "nmae" in workspace; did you mean "name"?',
      'unknown key "imagee" in session.k8s; did you mean "image"?',
      'unknown key "foo" in session.acp',
      'unknown key "max_restart" in daemon; did you mean "max_restarts"?',
      'unknown key "gat" in orders.overrides[0] (a); did you mean "gate"?',
      'unknown key "comand" in providers.p; did you mean "command"?',
      'unknown key "flagargs" in providers.p.options_schema[0].choices[0]; did you mean "flag_args"?',
      'unknown key "promt_template" in agents[0] (a); did you mean "prompt_template"?',
      'unknown key "mod" in named_sessions[0] (a); did you mean "mode"?',
      'unknown key "prefx" in rigs[0] (r); did you mean "prefix"?',
      'unknown key "noninteractiv" in rigs[0].session_sleep (r); did you mean "noninteractive"?',
    ]);
  });

  it('unknown keys in TOML, which the original tolerates, are warnings; in YAML they are errors', async () => {
    const problems = await loadBad({
      'city.toml':
        '[workspace]\nname = "x"\n  nam = "y"\n[[agent]]\nname = "a"\nenv = { A = 1 }\n[agent.opt]\nx = 1\n',
      'agents/m/agent.yaml': '# c\nnudg: x\n',
    });
    expect(brief(problems)).toEqual([
      '6:13 wrong-type: agent[0].env.A (a) must be a string, not the number 1',
      '2:1 unknown-key: unknown key "nudg" in agent "m"; did you mean "nudge"?',
      '3:3 unknown-key: unknown key "nam" in workspace; did you mean "name"?',
      '7:2 unknown-key: unknown key "opt" in agent[0] (a); did you mean "pty"?',
    ]);
    expect(problems.map(({ severity }) => severity)).toEqual(['error', 'error', 'warning', 'warning']);
  });

  it('wrong types say what is wanted, what is there and how to write it', async () => {
    const problems = await loadBad({
      'city.yaml': `
workspace: {suspended: "true", name: 5, max_active_sessions: -2}
daemon: {max_restarts: "3", patrol_interval: 30}
agents:
  - {name: a, args: --x, env: [1], pty: 1, depends_on: , start_command: sh}
  - {provider: claude}
  - text
  - {name: "b c"}
  - {name: ${'x'.repeat(300)}}
  - {name: "😀"}
`,
    });
    expect(problems.map((problem) => [problem.message, problem.hint])).toEqual([
      ['workspace.suspended must be true or false, not the string "true"', 'remove the quotes: true'],
      ['workspace.name must be a string, not the number 5', 'put it in quotes: "5"'],
      ['workspace.max_active_sessions must be -1 (unlimited), 0 or more', undefined],
      ['daemon.max_restarts must be a whole number, not the string "3"', 'remove the quotes: 3'],
      ['daemon.patrol_interval must be a string, not the number 30', 'put it in quotes: "30"'],
      ['agents[0].args (a) must be a list, not the string "--x"', 'write it as a list: ["--x"]'],
      ['agents[0].env (a) must be a map of keys and values, not a list', undefined],
      ['agents[0].pty (a) must be true or false, not the number 1', undefined],
      ['agents[0].depends_on (a) has no value', 'write one, or remove the key'],
      ['agents[1]: name is required', undefined],
      ['agents[2] must be a map of keys and values, not the string "text"', undefined],
      [
        'agents[3].name (b c) is not a usable name: "b c"; letters, digits, "_" and "-", starting with a letter or digit',
        undefined,
      ],
      [`agents[4].name (${'x'.repeat(300)}) is longer than 64 characters`, undefined],
      [
        'agents[5].name (😀) is not a usable name: "😀"; letters, digits, "_" and "-", starting with a letter or digit',
        undefined,
      ],
    ]);
  });

  it('sections of the wrong kind', async () => {
    expect(await codes({ 'city.yaml': 'workspace:\nagents: 3\nproviders: []\nrigs: {}\n' })).toEqual([
      'no-value',
      'wrong-type',
      'wrong-type',
      'wrong-type',
    ]);
  });

  it('durations that are none, and a TOML date', async () => {
    const problems = await loadBad({
      'city.toml':
        '[daemon]\npatrol_interval = "30"\nshutdown_timeout = "-5s"\nrestart_window = 1979-05-27\n[session_sleep]\nnoninteractive = "never"\n',
    });
    expect(brief(problems)).toEqual([
      '2:19 bad-value: daemon.patrol_interval is not a duration: "30"; write for example "500ms", "30s", "1h30m"',
      '3:20 bad-value: daemon.shutdown_timeout is not a duration: "-5s"; write for example "500ms", "30s", "1h30m"',
      '4:18 wrong-type: daemon.restart_window must be a string, not a date',
      '6:18 bad-value: session_sleep.noninteractive is neither a duration nor "off": "never"; write for example "30m" or "off"',
    ]);
  });

  it('back ends: the nearest offered', async () => {
    const problems = await loadBad({
      'city.yaml': 'session: {provider: tmx}\nbeads: {provider: "exec:"}\nmail: {provider: "exec:x"}\n',
    });
    expect(problems.map((problem) => problem.message)).toEqual([
      'session.provider is not a session provider: "tmx"; did you mean "tmux"? (tmux, subprocess, acp, k8s, hybrid, fake, fail or exec:<script>)',
      'beads.provider is not a bead provider: "exec:" (sqlite, bd, file or exec:<script>)',
    ]);
  });

  it('two spellings of one section', async () => {
    expect(brief(await loadBad({ 'city.yaml': `${AGENT}agent: []\n` }))).toEqual([
      '2:1 two-spellings: "agent" and "agents" are two spellings of one section',
    ]);
    expect(await codes({ 'city.toml': '[agent_defaults]\nmodel = "x"\n[agents]\nmodel = "y"\n' })).toEqual([
      'two-spellings',
    ]);
  });
});

describe('agents, providers and sessions together', () => {
  it('CFG-11: a duplicate names both places', async () => {
    const [inOneFile] = await loadBad({
      'city.toml': '[[agent]]\nname="a"\nstart_command="x"\n[[agent]]\nname = "a"\nstart_command="x"\n',
    });
    expect(inOneFile?.message).toBe('agent "a": duplicate name (from "city.toml:2:6" and "city.toml:5:8")');
    const [inTwo] = await loadBad({ 'city.yaml': AGENT, 'agents/a/agent.toml': 'nudge = "x"\n' });
    expect(inTwo?.message).toBe(
      'agent "a": duplicate name (from "agents/a/agent.toml:1:1" and "city.yaml:1:17")',
    );
  });

  it('the same name in two rigs is no duplicate', async () => {
    const city = await loadOk({
      'city.yaml': 'agents: [{name: a, dir: x, start_command: s}, {name: a, dir: y, start_command: s}]',
    });
    expect(city.agents.map((agent) => agent.qualifiedName)).toEqual(['x/a', 'y/a']);
  });

  it('depends_on: unknown, self, cycle', async () => {
    const problems = await loadBad({
      'city.yaml': `agents:
  - {name: alpha, start_command: s, depends_on: [beta]}
  - {name: beta, start_command: s, depends_on: [gamma]}
  - {name: gamma, start_command: s, depends_on: [alpha, gamma, alpa]}
`,
    });
    expect(brief(problems)).toEqual([
      '2:49 dependency-cycle: dependency cycle detected (alpha -> beta -> gamma -> alpha)',
      '4:57 self-dependency: agent "gamma": depends_on contains self-reference',
      '4:64 unknown-dependency: agent "gamma": depends_on references unknown agent "alpa"; did you mean "alpha"?',
    ]);
  });

  it('a long chain of dependencies does not end the stack', async () => {
    const agents = Array.from(
      { length: 3_000 },
      (_, i) => `  - {name: a${i}, start_command: s, depends_on: [a${(i + 1) % 3_000}]}`,
    );
    const [problem] = await loadBad({ 'city.yaml': `agents:\n${agents.join('\n')}\n` });
    expect(problem?.code).toBe('dependency-cycle');
  });

  it('unknown providers and options, nearest offered', async () => {
    const problems = await loadBad({
      'city.yaml': `workspace: {provider: gemni}
providers:
  mine: {command: x, options_schema: [{key: k, default: z, choices: [{value: v}]}, {key: k}], option_defaults: {q: v, k: w}}
  bare: {}
agents:
  - {name: a, provider: codx}
  - {name: b, provider: claude, option_defaults: {permision_mode: plan, effort: maxx}}
  - {name: c}
`,
    });
    expect(problems.map((problem) => problem.message)).toEqual([
      'workspace: unknown provider: "gemni"; did you mean "gemini"?',
      'provider "mine": option "k": default "z" is not a valid choice',
      'provider "mine": option "k" is there twice',
      'provider "mine": option_defaults key "q" is not in the options schema',
      'provider "mine": option "k": default "w" is not a valid choice',
      'provider "bare" has no command',
      'agent "a": unknown provider: "codx"; did you mean "codex"?',
      'agent "b": unknown option: permision_mode; did you mean "permission_mode"? (provider "claude")',
      'agent "b": invalid value for effort: maxx; did you mean "max"? (provider "claude")',
    ]);
  });

  it('capacity, prompt modes, ACP', async () => {
    expect(
      await codes({
        'city.yaml': `providers: {p: {command: x, prompt_mode: flag}}
agents:
  - {name: a, start_command: s, min_active_sessions: 2, max_active_sessions: 1}
  - {name: b, start_command: s, prompt_mode: flag}
  - {name: c, provider: amp, session: acp}
  - {name: d, provider: claude, session: acp, prompt_mode: flag, prompt_flag: -p}
  - {name: e, start_command: s, min_active_sessions: 2, max_active_sessions: -1}
`,
      }),
    ).toEqual(['prompt-flag-missing', 'min-above-max', 'prompt-flag-missing', 'no-acp']);
  });

  it('named sessions', async () => {
    const problems = await loadBad({
      'city.yaml': `rigs: [{name: proj, path: /tmp}]
agents:
  - {name: a, start_command: s, max_active_sessions: 1}
  - {name: z, start_command: s, sleep_after_idle: 5m}
  - {name: w, dir: proj, start_command: s}
named_sessions:
  - {name: one, template: a, mode: always}
  - {name: two, template: a, mode: always}
  - {template: z, mode: always}
  - {template: w}
  - {name: one, template: a}
  - {template: proj/w}
  - {name: status, template: a}
`,
    });
    expect(brief(problems)).toEqual([
      '8:12 always-above-max: named_session "two": mode "always" exceeds max_active_sessions capacity 1 on template "a"',
      '9:16 always-sleeps: named_session "z": mode "always" is incompatible with sleep_after_idle="5m" on template "z"',
      '10:16 unknown-template: named_session "w": referenced template not found: no agent "w"',
      expect.stringMatching(
        /^11:12 duplicate-named-session: named_session "one": duplicate identity \(from "city.yaml:7:12" and "city.yaml:11:12"\)$/,
      ),
      expect.stringMatching(
        /^12:16 bad-value: named_sessions\[5\]\.template \(proj\/w\) is not a usable name/,
      ),
      '13:12 reserved-name: named_session "status": "status" is a word of the command line, not a name',
    ]);
    expect(problems[2]?.hint).toBe('there is "proj/w": write dir: proj here');
  });

  it('NAM-01: identities that meet in one session name are refused', async () => {
    const problems = await loadBad({
      'city.yaml': 'agents: [{name: b, dir: a, start_command: s}, {name: a--b, start_command: s}]\n',
    });
    expect(problems.map((problem) => problem.message)).toEqual([
      '"a--b" and "a/b" both get the session name "a--b"',
    ]);
    const template = await loadBad({
      'city.yaml':
        'workspace: {name: c, session_template: "{{.City}}"}\nagents: [{name: a, start_command: s}, {name: b, start_command: s}]\n',
    });
    expect(template.map((problem) => problem.code)).toEqual(['session-name-collision']);
    const unusable = await loadBad({
      'city.yaml':
        'workspace: {name: my city, session_template: "{{.City}}.{{.Agent}}"}\nagents: [{name: a, start_command: s}]\n',
    });
    expect(unusable.map((problem) => problem.message)).toEqual([
      '"a" gets the session name "my city.a", which is not usable',
    ]);
  });

  it('rigs', async () => {
    expect(
      await codes({
        'city.yaml': `workspace: {name: front}
rigs:
  - {name: frontend, path: /tmp}
  - {name: x1, path: /tmp, prefix: A}
  - {name: x1, path: /tmp}
  - {name: y1, path: /tmp, prefix: a}
  - {name: z1, path: /tmp, prefix: a-b}
`,
      }),
    ).toEqual(['prefix-collision', 'duplicate-rig', 'prefix-collision', 'bad-prefix']);
  });

  it('a broken declaration is not reported again by what refers to it', async () => {
    const problems = await loadBad({
      'city.yaml': `providers: {p: [1]}
agents:
  - {name: a, start_command: s, depends_on: [bad]}
  - {name: bad, start_command: s, args: x}
  - {name: "worse!", start_command: s}
  - {name: c, provider: p}
named_sessions: [{template: bad}]
`,
    });
    expect(problems.map((problem) => problem.code)).toEqual(['wrong-type', 'wrong-type', 'bad-value']);
  });

  it('CFG-09: a wrong agent does not hide the others', async () => {
    const problems = await loadBad({
      'city.toml':
        '[[agent]]\nname = "a"\nargs = "x"\n[[agent]]\nname = "b"\nprovider = "clade"\n[[named_session]]\ntemplate = "c"\n',
    });
    expect(problems.map((problem) => problem.code)).toEqual([
      'wrong-type',
      'unknown-provider',
      'unknown-template',
    ]);
  });

  it('warnings do not stop a city', async () => {
    const city = await loadOk({
      'city.yaml': `rigs: [{name: proj, path: /}]
daemon: {graph_workflows: true}
agents:
  - {name: a, dir: porj, start_command: s, skills: [x], namepool: nope.txt, max_active_sessions: -1}
  - {name: b, start_command: s, idle_timeout: 1m, sleep_after_idle: 1m, install_agent_hooks: [amp, claud]}
`,
    });
    expect(city.daemon.formulaV2).toBe(true);
    expect(city.warnings.map((warning) => warning.code)).toEqual([
      'deprecated-key',
      'unknown-rig',
      'deprecated-key',
      'file-not-found',
      'namepool-unlimited',
      'two-idle-rules',
      'no-hooks',
      'no-hooks',
    ]);
  });
});

describe('a name pool', () => {
  it('says once which of its names no session can have, where the first of them stands', async () => {
    const city = await loadOk({
      'city.yaml': 'agents: [{name: cat, start_command: s, namepool: names.txt}]\n',
      'names.txt': '# cats\nfelix\n\n  tom cat\r\nhuman\nfelix\ns-1\n',
    });
    expect(brief(city.warnings)).toEqual([
      '4:3 namepool-name-unusable: agent "cat": no session can have these names, left out: "tom cat": it has ' +
        'characters that no name can have; "human": it means something else; "felix": it stands here twice; and 1 more',
    ]);
    expect(city.warnings[0]?.position?.file).toMatch(/names\.txt$/);
    expect(city.agents[0]?.namepoolNames).toEqual(['felix', 'tom cat', 'human', 'felix', 's-1']);
  });
});

describe('prompts and templates', () => {
  it('CFG-08: a prompt file that is not there is an error that says relative to what', async () => {
    const dir = scratch({
      'city.yaml': 'agents: [{name: a, start_command: s, prompt_template: prompts/nope.md}]\n',
    });
    const result = await loadCity(dir, { env: {} });
    expect(result.kind === 'invalid' && result.problems).toMatchObject([
      {
        code: 'prompt-not-found',
        message: `agent "a": prompt file "prompts/nope.md" does not exist; looked at ${dir}/prompts/nope.md`,
        position: { line: 1, column: 55 },
        hint: 'relative paths start at the folder of the file that declares the agent, then at the city folder',
      },
    ]);
    expect(result.watch).toContain(join(dir, 'prompts/nope.md'));
  });

  it('CFG-07: a misspelt variable is an error with file, line, column and what is allowed', async () => {
    const problems = await loadBad({
      'city.yaml': `workspace: {session_template: "{{.Agnt}}"}
agents:
  - name: a
    start_command: run {{.ConfigDri}}
    work_dir: "w/{{.WorkDir}}"
    pre_start: ["echo {{.Session}}", 'x {{.AgentName}}']
    session_setup:
      - |
        line one
        cd {{.RigRot}}
    resume_command: go {{.Sesion}} {{if
    prompt_template: p.template.md
    env: {MINE: x}
`,
      'p.template.md': 'Hi {{.MINE}}\n{{if .RigName}}{{.RigNam}}{{end}} {{template "nope" .}} {{cmdd}}\n',
      'template-fragments/x.template.md': '{{define "x"}}{{.Unused}}{{end}}',
    });
    expect(brief(problems)).toEqual([
      '1:34 template-error: workspace.session_template: unknown variable ".Agnt"; did you mean "Agent"?',
      '4:26 template-error: agents[0].start_command: unknown variable ".ConfigDri"; did you mean "ConfigDir"?',
      '5:20 template-error: agents[0].work_dir: unknown variable ".WorkDir"',
      '6:43 template-error: agents[0].pre_start[1]: unknown variable ".AgentName"; did you mean "AgentBase"?',
      '8:9 template-error: agents[0].session_setup[0]: unknown variable ".RigRot"; did you mean "RigRoot"?',
      '11:36 template-error: agents[0].resume_command: unclosed action: "{{" without "}}"',
      '2:59 template-error: prompt of agent "a": unknown function "cmdd"; did you mean "cmd"?',
    ]);
  });

  it('names in branches and called fragments are checked, others are not', async () => {
    const problems = await loadBad({
      'city.yaml':
        'workspace: {global_fragments: [tail, gone]}\nagents: [{name: a, start_command: s, prompt_template: p.template.md}]\n',
      'p.template.md':
        '{{if .RigName}}{{.RigNam}}{{end}}{{with .RigName}}{{.}}{{$.Citty}}{{end}}{{template "used" .}}{{template "none"}}',
      'template-fragments/x.template.md':
        '{{define "used"}}{{.CityRoot}}{{.Bad}}{{end}}{{define "unused"}}{{.AlsoBad}}{{end}}{{define "tail"}}\n{{.TailBad}}{{end}}',
    });
    expect(problems.map((problem) => problem.message)).toEqual([
      'agent "a": inject_fragment "gone": template not found',
      'prompt of agent "a": unknown variable ".RigNam"; did you mean "RigName"?',
      'prompt of agent "a": unknown variable ".Citty"',
      'prompt of agent "a": no template "none"',
      'prompt of agent "a": unknown variable ".Bad"',
      'prompt of agent "a": unknown variable ".TailBad"',
    ]);
  });

  it('a binary prompt is an error', async () => {
    const problems = await loadBad({
      'city.yaml': 'agents: [{name: a, start_command: s, prompt_template: p.template.md}]\n',
      'p.template.md': new Uint8Array([0, 1, 2]),
    });
    expect(problems.map((problem) => problem.message)).toEqual([
      'prompt of agent "a": this is a binary file, not text',
    ]);
  });
});
