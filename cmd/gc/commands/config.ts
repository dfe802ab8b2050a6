import { relative } from 'node:path';
import type { City, SourcePosition } from '../../../internal/config/city.ts';
import { problemJson } from '../../../internal/config/document/format-problems.ts';
import {
  configData,
  explainConfig,
  explainText,
  showConfig,
} from '../../../internal/config/show/show-config.ts';
import { cityRoot } from '../city/access.ts';
import { loadChecked } from '../city/load-city.ts';
import type { CommandRun } from '../cli/spec.ts';

export const runConfigShow: CommandRun = async (context, input) => {
  const root = await cityRoot(context);
  const city = await loadChecked(context, root);
  const json = (value: unknown) => context.out.write(`${JSON.stringify(value, null, 2)}\n`);
  if (input.flag('validate')) {
    if (context.json) json({ valid: true, warnings: city.warnings.map(problemJson) });
    else context.out.write('Config valid.\n');
  } else if (input.flag('provenance')) {
    if (context.json) json(provenanceOf(city));
    else context.out.write(provenanceText(city));
  } else if (context.json) json(configData(city));
  else context.out.write(showConfig(city));
  return 0;
};

export const runConfigExplain: CommandRun = async (context, input) => {
  const root = await cityRoot(context);
  const city = await loadChecked(context, root);
  const agent = input.text('agent');
  const rig = input.text('rig');
  const explained = explainConfig(city, { ...(agent ? { agent } : {}), ...(rig ? { rig } : {}) });
  context.out.write(context.json ? `${JSON.stringify(explained, null, 2)}\n` : explainText(explained, root));
  return 0;
};

interface Provenance {
  /** The city file first. */
  readonly sources: readonly string[];
  readonly agents: Readonly<Record<string, SourcePosition>>;
  readonly named_sessions: Readonly<Record<string, SourcePosition>>;
  readonly rigs: Readonly<Record<string, SourcePosition>>;
}

function provenanceOf(city: City): Provenance {
  return {
    sources: city.sources,
    agents: Object.fromEntries(city.agents.map((agent) => [agent.qualifiedName, agent.source])),
    named_sessions: Object.fromEntries(city.namedSessions.map((named) => [named.identity, named.source])),
    rigs: Object.fromEntries(city.rigs.map((rig) => [rig.name, rig.source])),
  };
}

function provenanceText(city: City): string {
  const { sources, agents, named_sessions: named, rigs } = provenanceOf(city);
  const short = (file: string) => relative(city.root, file);
  const section = (title: string, entries: Readonly<Record<string, SourcePosition>>) => {
    const lines = Object.entries(entries).map(
      ([name, { file, line }]) => `  ${name} ← ${short(file)}:${line}`,
    );
    return lines.length > 0 ? [`${title}:`, ...lines] : [];
  };
  const files = sources.map((file, index) => `  ${index === 0 ? '*' : ' '} ${short(file)}`);
  return `${[
    `Sources (${sources.length} file${sources.length === 1 ? '' : 's'}):`,
    ...files,
    ...section('Agents', agents),
    ...section('Named sessions', named),
    ...section('Rigs', rigs),
  ].join('\n')}\n`;
}
