import { existsSync } from 'node:fs';
import { join, sep } from 'node:path';
import type { City, Rig } from '../../../internal/config/city.ts';
import { parseText } from '../../../internal/config/document/read-source.ts';
import { removeAt } from '../../../internal/config/edit/document-edit.ts';
import { rigPath, setSuspended } from '../../../internal/config/edit/edit-city.ts';
import { fileEditIo } from '../../../internal/config/edit/file-edit.ts';
import { resolveCityPath } from '../../../internal/controller/registry.ts';
import { startWaves } from '../../../internal/controller/start-waves.ts';
import { holdsWorkBeads } from '../../../internal/controller/work-facts.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { withCityAt } from '../city/access.ts';
import { loadChecked } from '../city/load-city.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { renderTable } from '../output/table.ts';
import { editCityFile, requireRig, rigCityRoot, tellController } from '../rig/rig-city.ts';
import { forgetRig, rememberRig } from '../rig/rig-registry.ts';

interface RigRow {
  readonly name: string;
  readonly path: string;
  readonly prefix: string;
  /** The city itself, which is a rig of its own to its beads. */
  readonly hq: boolean;
  readonly suspended: boolean;
  readonly beads: string;
}

async function cityOf(context: Context): Promise<City> {
  return loadChecked(context, await rigCityRoot(context));
}

export const runRigList: CommandRun = async (context) => {
  const city = await cityOf(context);
  const { name, prefix, suspended } = city.workspace;
  const rows: readonly RigRow[] = [
    { name, path: city.root, prefix, hq: true, suspended, beads: beadsOf(city, city.root) },
    ...city.rigs.map((rig) => ({
      name: rig.name,
      path: rig.path,
      prefix: rig.prefix,
      hq: false,
      suspended: rig.suspended,
      beads: beadsOf(city, rig.path),
    })),
  ];
  if (context.json) {
    const data = { city_path: city.root, city_name: name, rigs: rows };
    context.out.write(`${JSON.stringify(data, null, 2)}\n`);
  } else if (context.out.isTTY) {
    const cells = rows.map((row) => [
      row.hq ? `${row.name} (HQ)` : row.name,
      row.prefix,
      stateOf(row),
      row.path,
    ]);
    const limits = { maxColumns: context.out.columns, shrinks: [3] };
    context.out.write(renderTable(['NAME', 'PREFIX', 'STATE', 'PATH'], cells, limits));
  } else context.out.write(`Rigs in ${city.root}:\n${rows.map(block).join('')}`);
  return 0;
};

const stateOf = (row: RigRow): string =>
  row.suspended ? 'suspended' : existsSync(row.path) ? 'active' : 'no such folder';

function block(row: RigRow): string {
  const head = `\n  ${row.name}${row.hq ? ' (HQ)' : ''}${row.suspended ? ' (suspended)' : ''}:\n`;
  const path = row.hq ? '' : `    Path:   ${row.path}\n`;
  return `${head}${path}    Prefix: ${row.prefix}\n    Beads:  ${row.beads}\n`;
}

/** Work in the city's own database needs nothing to be made beforehand, neither for the city nor for a rig. */
function beadsOf(city: City, path: string): string {
  if (holdsWorkBeads(city)) return 'initialized';
  const has = ['.beads', '.gc/city.db', '.gc/beads.json'].some((name) => existsSync(join(path, name)));
  return has ? 'initialized' : 'not initialized';
}

export const runRigStatus: CommandRun = async (context, input) => {
  const city = await cityOf(context);
  const rig = chosenRig(context, city, input);
  const { agents } = await withCityAt(context, city.root, ({ api }) => api.status());
  const names = namesIn(city, rig);
  const own = agents.filter((agent) => names.has(agent.qualified_name));
  const lines = own.map((agent) => {
    const state = agent.suspended ? 'suspended' : agent.running ? 'running' : 'stopped';
    return `    ${agent.qualified_name}  ${state}\n`;
  });
  context.out.write(
    `${rig.name}:\n  Path:      ${rig.path}\n  Suspended: ${rig.suspended ? 'yes' : 'no'}\n` +
      `  Agents:${lines.length === 0 ? ' none\n' : `\n${lines.join('')}`}`,
  );
  return 0;
};

/** The named one, else the one of the working directory, else the only one. */
function chosenRig(context: Context, city: City, input: Input): Rig {
  const name = input.optionalArg('rig');
  if (name !== undefined) return requireRig(city, name);
  const here = resolveCityPath(context.cwd);
  const around = city.rigs.filter(({ path }) => `${here}${sep}`.startsWith(`${resolveCityPath(path)}${sep}`));
  const [first] = around.sort((a, b) => b.path.length - a.path.length);
  const only = city.rigs.length === 1 ? city.rigs[0] : undefined;
  const rig = first ?? only;
  if (rig) return rig;
  throw new UsageError('missing rig name', city.rigs.length === 0 ? 'gc rig add <path>' : 'gc rig list');
}

const namesIn = (city: City, rig: Rig): ReadonlySet<string> =>
  new Set(city.agents.filter(({ dir }) => dir === rig.name).map((agent) => agent.qualifiedName));

export const runRigRemove: CommandRun = async (context, input) => {
  const city = await cityOf(context);
  const rig = requireRig(city, input.arg('rig'));
  const { file } = rig.source;
  await editCityFile(context, city.root, file, async (text) => {
    const parsed = await parseText(file, text);
    const data = parsed.kind === 'parsed' ? parsed.document.data : undefined;
    return removeAt(text, file, rigPath({ data, file }, rig.name));
  });
  await forgetRig(context, resolveCityPath(rig.path), city.root);
  await tellController(context, city.root);
  context.out.write(`Removed rig '${rig.name}'\n`);
  return 0;
};

export const runRigSuspend: CommandRun = (context, input) => suspendRig(context, input, true);
export const runRigResume: CommandRun = (context, input) => suspendRig(context, input, false);

async function suspendRig(context: Context, input: Input, suspended: boolean): Promise<number> {
  const city = await cityOf(context);
  const rig = requireRig(city, input.arg('rig'));
  const io = fileEditIo({ gcDir: join(city.root, '.gc'), clock: context.clock });
  await setSuspended(city, { kind: 'rig', name: rig.name }, suspended, io);
  await tellController(context, city.root);
  context.out.write(`${suspended ? 'Suspended' : 'Resumed'} rig '${rig.name}'\n`);
  return 0;
}

const DOWN: ReadonlySet<string> = new Set([
  'asleep',
  'suspended',
  'stopped',
  'closed',
  'quarantined',
  'backing-off',
]);

export const runRigRestart: CommandRun = async (context, input) => {
  const city = await cityOf(context);
  const rig = requireRig(city, input.arg('rig'));
  const templates = namesIn(city, rig);
  const count = await withCityAt(context, city.root, async ({ api }) => {
    const { sessions } = await api.status();
    const own = sessions.filter(({ template, condition }) => templates.has(template) && !DOWN.has(condition));
    const items = own.map((session) => ({
      name: session.id,
      template: session.template,
      dependsOn: city.agents.find((agent) => agent.qualifiedName === session.template)?.dependsOn ?? [],
    }));
    // Those that others need go last.
    for (const wave of [...startWaves(items).waves].reverse()) {
      await Promise.all(wave.map((id) => api.kill(id).catch(isFineWhenGone)));
    }
    return own.length;
  });
  context.out.write(
    `Restarted ${count} agent(s) in rig '${rig.name}' (killed sessions; reconciler will restart)\n`,
  );
  return 0;
};

/** It ended by itself between the look and the kill. */
function isFineWhenGone(error: unknown): void {
  if (!(error instanceof GcError && error.code === 'session-not-active')) throw error;
}

/** Which city commands in the rig's folder mean. */
export const runRigDefault: CommandRun = async (context, input) => {
  const city = await cityOf(context);
  const rig = requireRig(city, input.arg('rig'));
  await rememberRig(
    context,
    { path: resolveCityPath(rig.path), name: rig.name, defaultCity: city.root },
    true,
  );
  context.out.write(`Set default city for rig '${rig.name}' to '${city.workspace.name}'\n`);
  return 0;
};
