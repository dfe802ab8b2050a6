// Bundles the program: one entry per process, one lazily loaded chunk per command group. Native modules and everything
// that must be found as a package at run time stay outside.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { buildKit } from './build-kit.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const out = join(root, 'dist');
/** What the entry itself imports: with it in every part, all of it comes in one file. */
const COMMON = ['cmd/gc/program.ts', 'cmd/gc/city/invocation.ts', 'internal/platform/clock.ts'].map((file) =>
  join(root, file),
);
const EXTERNAL = ['better-sqlite3', 'node-pty'];
const SOURCES = [
  'cmd',
  'internal',
  'conformance',
  'scripts/build.mjs',
  'scripts/build-kit.mjs',
  'package-lock.json',
];

/** What CommonJS packages in the bundle are given as modules of their own. */
const COMMONJS_BANNER =
  "import{createRequire as __gcRequire}from'node:module';const require=__gcRequire(import.meta.url),__filename=import.meta.filename,__dirname=import.meta.dirname;";

/** The argument parser can run subcommands as programs; ours are functions, and loading processes costs every command 5 ms. */
const leanParser = {
  name: 'lean-parser',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:child_process$/ }, ({ importer }) =>
      importer.includes(join('node_modules', 'commander'))
        ? { path: 'none', namespace: 'no-processes' }
        : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'no-processes' }, () => ({
      contents: 'module.exports = {};',
      loader: 'js',
    }));
  },
};

/** The files of the cluster's client that list its thousand models and calls. None says that it does nothing by itself. */
const CLUSTER_LISTS =
  /^(@kubernetes\/client-node|\.\/gen\/index\.js|\.\/models\/all\.js|\.\/types\/ObjectParamAPI\.js)$/;

/** What is not used of the cluster's client is left out: half a megabyte of program, and 8 MB of memory. */
const leanCluster = {
  name: 'lean-cluster',
  setup({ onResolve, resolve: find }) {
    onResolve({ filter: CLUSTER_LISTS }, async ({ path, pluginData, resolveDir, importer, kind }) => {
      if (pluginData === leanCluster.name) return undefined; // asked by ourselves
      const found = await find(path, { resolveDir, importer, kind, pluginData: leanCluster.name });
      return { ...found, sideEffects: false };
    });
  },
};

/**
 * Everything that each command needs is to be one file, not a dozen: finding and reading a file costs half a millisecond.
 * The bundler puts modules together that the same lazily loaded parts reach, so every such part is made to reach them.
 */
const oneCommonChunk = {
  name: 'one-common-chunk',
  setup({ onLoad }) {
    // Found beforehand: a part that is also loaded in the ordinary way may be read before anybody asks for it lazily.
    const lazy = new Set(['cmd', 'internal'].flatMap((folder) => lazyParts(join(root, folder))));
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      if (!lazy.has(path)) return undefined;
      const common = COMMON.map((file) => `import ${JSON.stringify(file)};`).join('');
      return { contents: `${common}\n${readFileSync(path, 'utf8')}`, loader: 'ts' };
    });
  },
};

/** Files of ours that some file below the folder imports when it needs them. */
function lazyParts(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return lazyParts(path);
    if (!entry.name.endsWith('.ts') || entry.name.endsWith('.test.ts')) return [];
    const imports = readFileSync(path, 'utf8').matchAll(/\bimport\(\s*'(\.[^']+)'/g);
    return [...imports].map(([, target]) => resolve(folder, target));
  });
}

const stamp = sourceHash();
const stampFile = join(out, '.sources');
if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp && !process.argv.includes('--force')) {
  process.exit(0);
}

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const fresh = join(root, `.dist-${process.pid}`);
mkdirSync(fresh, { recursive: true });
try {
  // Apart, not together: what both use would become small files that every command has to find.
  const entries = [
    { entryPoints: { main: 'cmd/gc/main.ts' }, plugins: [leanParser, leanCluster, oneCommonChunk] },
    { entryPoints: { host: 'internal/runtime/host/main.ts' }, plugins: [leanCluster] },
  ];
  for (const entry of entries) {
    await build({
      absWorkingDir: root,
      ...entry,
      outdir: fresh,
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      minifySyntax: true,
      minifyWhitespace: true,
      legalComments: 'none',
      external: EXTERNAL,
      chunkNames: 'chunks/[name]-[hash]',
      banner: { js: COMMONJS_BANNER },
      define: {
        __GC_VERSION__: JSON.stringify(version),
        __GC_COMMIT__: JSON.stringify(git('rev-parse', '--short', 'HEAD') || 'unknown'),
        __GC_BUILT__: JSON.stringify(new Date().toISOString().slice(0, 19)),
      },
      logLevel: 'warning',
    });
  }
  dropUnusedBanners();
  await buildKit(root, join(fresh, 'kit'));
  writeFileSync(join(fresh, '.sources'), stamp);
  const main = join(fresh, 'main.js');
  writeFileSync(main, `#!/usr/bin/env node\n${readFileSync(main, 'utf8')}`);
  chmodSync(main, 0o755);
  rmSync(out, { recursive: true, force: true });
  renameSync(fresh, out);
} finally {
  rmSync(fresh, { recursive: true, force: true });
}

/** Loading node:module costs a millisecond: only the files that need what the banner gives keep it. */
function dropUnusedBanners() {
  for (const folder of [fresh, join(fresh, 'chunks')]) {
    for (const name of readdirSync(folder)) {
      const file = join(folder, name);
      if (!name.endsWith('.js')) continue;
      const [, body = ''] = readFileSync(file, 'utf8').split(COMMONJS_BANNER, 2);
      if (!/\brequire\b|\b__filename\b|\b__dirname\b/.test(body)) writeFileSync(file, body.trimStart());
    }
  }
}

function sourceHash() {
  const hash = createHash('sha256');
  const visit = (path) => {
    const entries = readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      const child = join(path, entry.name);
      if (entry.isDirectory()) visit(child);
      else add(child);
    }
  };
  const add = (file) =>
    hash.update(file.slice(root.length)).update('\0').update(readFileSync(file)).update('\0');
  for (const source of SOURCES) {
    const path = join(root, source);
    if (!existsSync(path)) continue;
    if (source.includes('.')) add(path);
    else visit(path);
  }
  return hash.digest('hex');
}

function git(...args) {
  try {
    return execFileSync('git', args, {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return ''; // built from a tarball
  }
}
