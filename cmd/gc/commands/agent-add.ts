import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isToml } from '../../../internal/config/document/read-source.ts';
import { tomlValue, yamlScalar } from '../../../internal/config/edit/value-text.ts';
import { splitQualifiedName } from '../../../internal/config/qualified-name.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { cityRoot } from '../city/access.ts';
import { loadChecked } from '../city/load-city.ts';
import { makeFiles, type NewEntry } from '../city/make-files.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { tellController } from '../rig/rig-city.ts';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

export const runAgentAdd: CommandRun = async (context, input) => {
  const root = await cityRoot(context);
  const { name, dir } = named(input);
  const city = await loadChecked(context, root);
  const folder = join('agents', name);
  const isTaken = city.agents.some((agent) => agent.name === name && agent.binding === '' && !agent.implicit);
  if (isTaken || existsSync(join(root, folder))) {
    throw new GcError('agent-exists', `agent "${name}" already exists`, { next: 'gc agent list' });
  }
  const prompt = promptOf(context, input, name);
  const manifest = manifestOf(isToml(city.file), dir, input.flag('suspended'));
  const entries = new Map<string, NewEntry>();
  entries.set(join(folder, 'prompt.template.md'), { kind: 'file', content: prompt });
  if (manifest) entries.set(join(folder, manifest.file), { kind: 'file', content: manifest.text });
  const made = makeFiles(root, entries, { code: 'agent-add-failed', what: `cannot add agent "${name}"` });
  try {
    await loadChecked(context, root);
  } catch (error) {
    made.undo();
    throw error;
  }
  await tellController(context, root);
  context.out.write(`Scaffolded agent '${name}'\n`);
  if (context.out.isTTY)
    context.out.write(`\n  ${join(folder, 'prompt.template.md')}   say here what it does\n`);
  return 0;
};

/** `--name dir/name` is `--dir dir --name name`. @throws UsageError */
function named(input: Input): { readonly name: string; readonly dir: string } {
  const given = input.text('name');
  if (!given) throw new UsageError('missing --name flag', 'gc agent add --name <name>');
  const split = splitQualifiedName(given);
  const dir = input.text('dir') ?? split.dir;
  if (split.dir !== '' && dir !== split.dir) {
    throw new UsageError(`--name says "${split.dir}" and --dir says "${dir}"`);
  }
  if (!NAME.test(split.name)) {
    throw new UsageError(`"${split.name}" cannot be the name of an agent: use letters, digits, "_" and "-"`);
  }
  return { name: split.name, dir };
}

function promptOf(context: Context, input: Input, name: string): string | Buffer {
  const template = input.text('prompt-template');
  if (template === undefined)
    return `# ${name}\n\nYou are {{.AgentName}}. Describe here what this agent does.\n`;
  const file = resolve(context.cwd, template);
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) {
    throw new GcError('prompt-not-found', `there is no file ${file}`, {
      next: 'gc agent add --name <name> --prompt-template <file>',
    });
  }
  return readFileSync(file);
}

function manifestOf(
  toml: boolean,
  dir: string,
  suspended: boolean,
): { readonly file: string; readonly text: string } | undefined {
  const lines = [
    ...(dir === '' ? [] : [toml ? `dir = ${tomlValue(dir)}` : `dir: ${yamlScalar(dir, false)}`]),
    ...(suspended ? [toml ? 'suspended = true' : 'suspended: true'] : []),
  ];
  if (lines.length === 0) return undefined;
  return { file: toml ? 'agent.toml' : 'agent.yaml', text: `${lines.join('\n')}\n` };
}
