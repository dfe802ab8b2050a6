import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadOk, scratch } from '../testing/scratch-city.ts';
import { appendedFragments, readPrompt, renderPrompt } from './prompt.ts';
import type { PromptFields } from './template-fields.ts';

const FIELDS: PromptFields = {
  CityRoot: '/c',
  AgentName: 'proj/worker-1',
  TemplateName: 'worker',
  RigName: 'proj',
  RigRoot: '/r',
  WorkDir: '/w',
  IssuePrefix: 'pr',
  Branch: '',
  DefaultBranch: 'main',
  WorkQuery: 'bd ready',
  SlingQuery: 'bd update {}',
};
const FUNCTIONS = { cmd: 'gc', session: (identity: string) => identity.replace('/', '--') };

describe('prompts', () => {
  it('render fields, functions, environment and fragments in their order', async () => {
    const city = await loadOk({
      'city.yaml': `workspace: {global_fragments: [one, file-name]}
agent_defaults: {append_fragments: [three]}
agents: [{name: w, start_command: s, prompt_template: prompts/w.template.md, inject_fragments: [two], env: {MINE: m, WorkDir: no}}]
`,
      'prompts/w.template.md':
        '{{cmd}} {{basename .AgentName}} {{session "a/b"}} {{.MINE}} {{.WorkDir}} {{template "one" .}}',
      'prompts/shared/a.template.md': '{{define "one"}}weak{{end}}{{define "three"}}3{{end}}',
      'template-fragments/b.md.tmpl': '{{define "one"}}legacy{{end}}',
      'template-fragments/a.template.md': '{{- define "one" -}} 1 {{.RigName}} {{- end -}}',
      'prompts/template-fragments/two.template.md': '{{define "two"}}2{{end}}',
      'prompts/template-fragments/file-name.template.md': 'by file name',
      'prompts/template-fragments/ignored.md': '{{define "two"}}not a template{{end}}',
    });
    const [agent] = city.agents;
    if (!agent) throw new Error('no agent');
    const files = await readPrompt(city, agent);
    const fragments = appendedFragments(city, agent);
    expect(fragments).toEqual(['one', 'file-name', 'two', 'three']);
    expect(renderPrompt(files, fragments, agent.env, FIELDS, FUNCTIONS)).toBe(
      'gc worker-1 a--b m /w 1 proj\n\n1 proj\n\nby file name\n\n2\n\n3',
    );
    expect(city.sources).toContain(join(city.root, 'template-fragments/a.template.md'));
  });

  it('a plain file is taken as it is, without fragments', async () => {
    const dir = scratch({ 'p.md': 'use {{.Anything}}\n' });
    const files = await readPrompt({ root: dir }, { dir: '', promptTemplate: join(dir, 'p.md') });
    expect(renderPrompt(files, ['x'], {}, FIELDS, FUNCTIONS)).toBe('use {{.Anything}}\n');
  });

  it('an unknown fragment or name is an error at rendering too', async () => {
    const dir = scratch({ 'p.template.md': '{{.Nope}}' });
    const files = await readPrompt({ root: dir }, { dir: '', promptTemplate: join(dir, 'p.template.md') });
    expect(() => renderPrompt(files, [], {}, FIELDS, FUNCTIONS)).toThrow(
      `${dir}/p.template.md:1:3: unknown variable ".Nope"`,
    );
    expect(() => renderPrompt({ ...files, text: '' }, ['x'], {}, FIELDS, FUNCTIONS)).toThrow(
      'inject_fragment "x": template not found',
    );
  });

  it('the shipped shapes of public prompts render', async () => {
    const dir = scratch({
      'p.template.md':
        'Run `{{ cmd }} prime`.\n{{ template "role" . }}\n{{"{{requester}}"}} {{ .WorkQuery }} {{ .DefaultBranch }}\n',
      'template-fragments/r.template.md':
        '{{- define "role" -}}\nI am {{.AgentName}}.\n{{- if .TemplateName }} ({{ .TemplateName }}){{- end }}\n{{- end -}}\n',
    });
    const files = await readPrompt({ root: dir }, { dir: '', promptTemplate: join(dir, 'p.template.md') });
    expect(renderPrompt(files, [], {}, FIELDS, FUNCTIONS)).toBe(
      'Run `gc prime`.\nI am proj/worker-1. (worker)\n{{requester}} bd ready main\n',
    );
  });

  it('call the fragments of packs, of the rig, of the city and beside them: the nearest one counts', async () => {
    const fragment = (text: string) => `{{define "a"}}${text}{{end}}{{define "${text}"}}${text}{{end}}`;
    const root = scratch({
      'one/template-fragments/f.template.md': fragment('one'),
      'two/prompts/shared/f.template.md': fragment('two'),
      'rig/template-fragments/f.template.md': fragment('rig'),
      'city/template-fragments/f.template.md': fragment('city'),
      'two/agents/w/p.template.md':
        '{{template "a" .}} {{template "one" .}} {{template "two" .}} {{template "rig" .}} {{template "city" .}}',
    });
    const packDirs = { city: [join(root, 'one'), join(root, 'two')], rigs: { r: [join(root, 'rig')] } };
    const none = { city: [], rigs: {} };
    const city = {
      root: join(root, 'city'),
      layers: { packDirs, overlays: none, scripts: none, formulas: none },
    };
    const promptTemplate = join(root, 'two/agents/w/p.template.md');
    const files = await readPrompt(city, { dir: 'r', promptTemplate });
    expect(renderPrompt(files, [], {}, FIELDS, FUNCTIONS)).toBe('city one two rig city');
    const elsewhere = await readPrompt(city, { dir: '', promptTemplate });
    expect(() => renderPrompt(elsewhere, [], {}, FIELDS, FUNCTIONS)).toThrow('p.template.md:1:');
  });
});
