/** A small generator of pseudo-random numbers: the same seed gives the same run. Source: mulberry32. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export type CityFiles = Readonly<Record<string, string>>;

const TOML_CITY: CityFiles = {
  'city.toml': `include = ["more.toml"]
[workspace]
name = "x"
provider = "claude"
includes = ["packs/v1"]
global_fragments = ["rule"]
[imports.a]
source = "packs/a"
[imports.b]
source = "packs/b"
transitive = false
[[rigs]]
name = "proj"
path = "rigs/proj"
includes = ["packs/v1"]
[rigs.imports.c]
source = "packs/b"
[[rigs.overrides]]
agent = "polecat"
nudge = "go"
[[agent]]
name = "own"
prompt_template = "prompts/own.template.md"
depends_on = ["a.mayor"]
[[patches.agent]]
name = "mayor"
session_live_append = ["echo {{.Session}}"]
env = { K = "v" }
[[named_session]]
template = "own"
mode = "always"
`,
  'more.toml': '[[agent]]\nname = "extra"\nstart_command = "true"\n[daemon]\npatrol_interval = "5s"\n',
  'prompts/own.template.md': 'You are {{ .AgentName }}.{{ if .RigName }} In {{ .RigName }}.{{ end }}\n',
  'packs/a/pack.toml': `[pack]
name = "a"
schema = 2
[imports.inner]
source = "../b"
export = true
[global]
session_live = ["{{.ConfigDir}}/live.sh {{.Agent}}"]
[[named_session]]
template = "mayor"
scope = "city"
mode = "always"
[[patches.agent]]
name = "dog"
wake_mode = "fresh"
[[service]]
name = "web"
kind = "proxy_process"
[service.process]
command = ["true"]
`,
  'packs/a/agents/mayor/agent.toml':
    'scope = "city"\nidle_timeout = "1h"\n[option_defaults]\neffort = "low"\n',
  'packs/a/agents/mayor/prompt.template.md': '{{ template "rule" . }} {{ basename .AgentName }}\n',
  'packs/a/template-fragments/rule.template.md':
    '{{ define "rule" }}{{- range $i, $x := .AgentName }}{{ end -}}Be kind.{{ end }}\n',
  'packs/a/commands/tell/command.toml': 'description = "tells"\nrun = "../tell.sh"\n',
  'packs/a/commands/tell.sh': '#!/bin/sh\n',
  'packs/a/doctor/check/doctor.toml': 'description = "d"\nrun = "run.sh"\n',
  'packs/a/doctor/check/run.sh': '#!/bin/sh\n',
  'packs/b/pack.toml':
    '[pack]\nname = "b"\nschema = 2\n[[pack.requires]]\nscope = "city"\nagent = "mayor"\n[[agent]]\nname = "dog"\nfallback = true\nnamepool = "names.txt"\n',
  'packs/b/names.txt': 'rex\nfido\n',
  'packs/v1/pack.toml':
    '[pack]\nname = "v1"\nschema = 1\nincludes = ["../b"]\n[providers.mine]\ncommand = "claude"\n',
  'packs/v1/agents/polecat/agent.toml':
    'scope = "rig"\nwork_dir = ".gc/{{.Rig}}/{{.AgentBase}}"\nmax_active_sessions = 3\n',
  'rigs/proj/README': '',
};

const YAML_CITY: CityFiles = {
  ...TOML_CITY,
  'city.toml': '',
  'city.yaml': `include: [more.toml]
workspace: {name: x, provider: claude, includes: [packs/v1], global_fragments: [rule]}
imports:
  a: &imp {source: packs/a}
  b: {<<: *imp, source: packs/b, transitive: false}
rigs:
  - name: proj
    path: rigs/proj
    imports: {c: {source: packs/b}}
agents:
  - {name: own, prompt_template: prompts/own.template.md, depends_on: [a.mayor]}
patches:
  agent:
    - {name: mayor, nudge: "hello", env: {K: v}}
named_sessions: [{template: own, mode: always}]
`,
};

/** Cities that load; a run changes one of them. */
export const SEED_CITIES: readonly CityFiles[] = [withoutEmpty(TOML_CITY), withoutEmpty(YAML_CITY)];

function withoutEmpty(files: CityFiles): CityFiles {
  return Object.fromEntries(
    Object.entries(files).filter(([name, text]) => text !== '' || name.startsWith('rigs/')),
  );
}

const SCRAPS = [
  '[',
  ']',
  '{',
  '}',
  '{{',
  '}}',
  '"',
  "'",
  '"""',
  '\n',
  '\t',
  ' = ',
  ': ',
  '- ',
  '&a ',
  '*a',
  '<<: ',
  '~',
  'null',
  'true',
  '-1',
  '0',
  '99999999999999999999',
  '1e999',
  '[[x]]',
  '[imports.',
  'source = "../a"',
  'source = "."',
  'source = ".."',
  'source = "/etc"',
  '../../../../etc/passwd',
  '//',
  '//../..',
  '/dev/zero',
  '/proc/self/environ',
  '~/x',
  'https://example.invalid/x.git',
  '-oProxyCommand=x',
  '\0',
  '\u2028',
  '\ufeff',
  '\ud800',
  '__proto__',
  'constructor',
  'toString',
  'includes = ["packs/a"]',
  'schema = 3',
  'name = "a"',
  'scope = "rig"',
  'fallback = true',
  '{{ template "own" . }}',
  '{{ .Nope }}',
  '{{ define "rule" }}',
  '{{ end }}',
  '{{/*',
  '#',
  '|',
  '>',
] as const;

/** One changed city: files to write; what is not named stays as the seed city has it. */
export function mutated(base: CityFiles, random: () => number): CityFiles {
  const names = Object.keys(base);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const changed: Record<string, string> = {};
  const rounds = 1 + Math.floor(random() * 4);
  for (let round = 0; round < rounds; round += 1) {
    const name = pick(names);
    const text = changed[name] ?? base[name] ?? '';
    changed[name] = mutatedText(text, random, pick, () => base[pick(names)] ?? '');
  }
  return changed;
}

function mutatedText(
  text: string,
  random: () => number,
  pick: <T>(items: readonly T[]) => T,
  other: () => string,
): string {
  const at = Math.floor(random() * (text.length + 1));
  const lines = text.split('\n');
  const line = Math.floor(random() * lines.length);
  switch (Math.floor(random() * 10)) {
    case 0:
    case 1:
      return text.slice(0, at) + pick(SCRAPS) + text.slice(at);
    case 2:
      return text.slice(0, at) + text.slice(at + 1 + Math.floor(random() * 8));
    case 3:
      return lines.toSpliced(line, 1).join('\n');
    case 4:
      return lines.toSpliced(line, 0, lines[Math.floor(random() * lines.length)] ?? '').join('\n');
    case 5:
      return lines.toSpliced(line, 0, pick(SCRAPS)).join('\n');
    case 6:
      return text.replace(/"[^"\n]*"/g, (value) => (random() < 0.2 ? JSON.stringify(pick(SCRAPS)) : value));
    case 7:
      return text.slice(0, at) + other();
    case 8:
      return text.slice(0, at) + String.fromCharCode(Math.floor(random() * 256)) + text.slice(at + 1);
    default:
      return text.slice(0, at) + pick(SCRAPS).repeat(1 + Math.floor(random() * 300)) + text.slice(at);
  }
}
