import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { rounds } from '../platform/testing/campaign.ts';
import { CityHarness } from './testing/city-harness.ts';

let harness: CityHarness;
afterEach(() => harness.end());

const CITY = `workspace: {name: harness, includes: [packs/crew]}
imports: {extra: {source: packs/extra}}
agents: [{name: boss, start_command: run-boss, depends_on: [worker]}]
named_sessions: [{template: boss, mode: always}]
`;
const FILES: Readonly<Record<string, string>> = {
  'packs/crew/pack.toml':
    '[pack]\nname = "crew"\nschema = 2\n[global]\nsession_live = ["{{.ConfigDir}}/live {{.Session}}"]\n[[named_session]]\ntemplate = "worker"\nmode = "always"\n',
  'packs/crew/agents/worker/agent.toml': 'start_command = "run-worker"\nnudge = "go"\n[env]\nA = "1"\n',
  'packs/crew/agents/worker/prompt.template.md': 'You are {{ .AgentName }}. {{ template "rule" . }}\n',
  'packs/crew/template-fragments/rule.template.md': '{{ define "rule" }}Be kind.{{ end }}\n',
  'packs/extra/pack.yaml': 'pack: {name: extra, schema: 2}\nagents: [{name: spare, start_command: s}]\n',
};
const RELOADS = rounds(1_000, 150);

/** What says the same: other blanks and comments, another order of writing, another time of change. */
const REWRITES: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => `${text}\n\n`,
  (text) => `# a comment\n${text}`,
  (text) => text.replaceAll('\n', '\n\n'),
];

it(`${RELOADS} reloads of rewritten but equal files restart nothing`, async () => {
  harness = new CityHarness(CITY);
  const write = (rewrite: (text: string) => string) => {
    harness.writeConfig(rewrite(CITY));
    for (const [name, text] of Object.entries(FILES)) {
      mkdirSync(dirname(join(harness.dir, name)), { recursive: true });
      writeFileSync(join(harness.dir, name), /\.(toml|yaml)$/.test(name) ? rewrite(text) : text);
      utimesSync(join(harness.dir, name), harness.clock.now() / 1000, harness.clock.now() / 1000);
    }
  };
  write((text) => text);
  await harness.up();
  await harness.running(2);
  const starts = () =>
    harness.provider.log.calls.filter(({ method }) => method === 'Start' || method === 'Stop').length;
  const before = starts();
  let applied = 0;
  for (let round = 0; round < RELOADS; round += 1) {
    write(REWRITES[round % REWRITES.length] ?? String);
    const reply = await harness.settled(harness.runtime.reload());
    if (reply.kind === 'rejected') throw new Error(reply.error);
    if (reply.kind === 'applied') applied += 1;
  }
  await harness.pass(120_000);
  expect(starts()).toBe(before);
  expect((await harness.eventTypes()).filter((type) => type.includes('drift'))).toEqual([]);
  // The texts did change: it was the meaning that did not.
  expect(applied).toBeGreaterThan(RELOADS / 2);
}, 300_000);
