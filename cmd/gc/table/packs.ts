import { type ArgSpec, type CommandSpec, type GroupSpec, JSON_OPTION } from '../cli/spec.ts';

const NAME: ArgSpec = { name: 'name', summary: 'name of an import of the city' };

const importAdd: CommandSpec = {
  path: 'import add',
  summary: 'Import a pack: a folder, or a folder of a git repository.',
  details:
    'Fetches the repository, pins its commit in packs.lock and writes the import into pack.toml when the city has one, ' +
    'else into the city file; comments and layout stay. Nothing is changed when it cannot be fetched.',
  args: [
    {
      name: 'source',
      summary: 'a folder, or <repository>//<folder>; the version goes into --version',
      completes: 'path',
    },
  ],
  options: [
    { name: 'name', value: 'name', summary: 'name of the import (default: its folder or repository)' },
    {
      name: 'version',
      value: 'version',
      summary: '^1.2, ">=1.0 <2", a tag, a branch or sha:<commit> (default: the newest release)',
    },
  ],
  examples: [
    {
      command: 'gc import add https://github.com/owner/packs//review',
      explains: 'its agents are review.<agent>',
    },
    { command: 'gc import add ../packs/tools --name tools', explains: 'a folder of your own' },
  ],
  city: true,
  load: async () => (await import('../commands/import.ts')).runImportAdd,
};

const importList: CommandSpec = {
  path: 'import list',
  summary: 'List the imports of the city, its pins, and what is fetched.',
  options: [{ name: 'tree', summary: 'with all that they include and import' }, JSON_OPTION],
  examples: [{ command: 'gc import list --tree', explains: 'who brings what' }],
  city: true,
  load: async () => (await import('../commands/import.ts')).runImportList,
};

const importRemove: CommandSpec = {
  path: 'import remove',
  summary: 'Take an import out of the city and its pin out of packs.lock.',
  args: [NAME],
  examples: [{ command: 'gc import remove review', explains: 'its agents are gone at the next reload' }],
  city: true,
  load: async () => (await import('../commands/import.ts')).runImportRemove,
};

const importInstall: CommandSpec = {
  path: 'import install',
  summary: 'Fetch everything that the city imports, at the pinned commits.',
  details: 'What has no pin yet, or one that no longer fits its version, is pinned now.',
  examples: [{ command: 'gc import install', explains: 'after cloning a city' }],
  city: true,
  load: async () => (await import('../commands/import.ts')).runImportInstall,
};

const importUpgrade: CommandSpec = {
  path: 'import upgrade',
  summary: 'Move pins to the newest commits that their versions allow.',
  args: [{ ...NAME, optional: true, summary: 'only this import (default: all, also nested ones)' }],
  examples: [{ command: 'gc import upgrade review', explains: 'packs.lock says what it was before' }],
  city: true,
  load: async () => (await import('../commands/import.ts')).runImportUpgrade,
};

const importMigrate: CommandSpec = {
  path: 'import migrate',
  summary: 'Turn [packs] and the includes that name them into imports.',
  details: 'Agents of an import carry its name: <import>.<agent>.',
  options: [{ name: 'dry-run', short: 'n', summary: 'only print what would change' }],
  examples: [{ command: 'gc import migrate --dry-run', explains: 'nothing is touched' }],
  city: true,
  load: async () => (await import('../commands/import-migrate.ts')).runImportMigrate,
};

export const importGroup: GroupSpec = {
  word: 'import',
  heading: 'Configuration',
  summary: 'Bring in packs from folders and git repositories.',
  bare: 'help',
  commands: [importAdd, importList, importRemove, importInstall, importUpgrade, importMigrate],
};

const packList: CommandSpec = {
  path: 'pack list',
  summary: 'List the named pack sources of the city: its [packs].',
  options: [JSON_OPTION],
  examples: [{ command: 'gc pack list', explains: 'sources, refs and pinned commits' }],
  city: true,
  load: async () => (await import('../commands/pack.ts')).runPackList,
};

const packFetch: CommandSpec = {
  path: 'pack fetch',
  summary: 'Fetch the named pack sources of the city.',
  details: 'The commits are pinned in pack.lock: the next fetch takes the same ones.',
  options: [{ name: 'update', summary: 'take the newest commits instead of the pinned ones' }],
  examples: [{ command: 'gc pack fetch', explains: 'into .gc/cache/packs/' }],
  city: true,
  load: async () => (await import('../commands/pack.ts')).runPackFetch,
};

export const packGroup: GroupSpec = {
  word: 'pack',
  heading: 'Configuration',
  summary: 'Named pack sources, as older cities have them.',
  bare: 'help',
  commands: [packList, packFetch],
};
