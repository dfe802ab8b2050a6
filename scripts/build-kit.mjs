// Makes dist/kit: the provider conformance suite and the contract it judges, as plain modules, for tests of providers that
// live elsewhere (docs/conformance.md). One file per source, the folders as in the sources. Every build writes the code;
// `node scripts/build-kit.mjs` adds the types.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** What others import; everything these need comes along. */
const ENTRIES = [
  'conformance/provider/abilities.ts',
  'conformance/provider/acp-agents.ts',
  'conformance/provider/agents.ts',
  'conformance/provider/case.ts',
  'conformance/provider/run.ts',
  'conformance/provider/suite.ts',
  'conformance/provider/trial.ts',
  'internal/runtime/errors.ts',
  'internal/runtime/provider.ts',
  'internal/runtime/runtime-config.ts',
];

/** The code, without types. */
export async function buildKit(root, out) {
  const files = withImports(root);
  await build({
    absWorkingDir: root,
    entryPoints: files,
    outbase: root,
    outdir: out,
    bundle: false,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'warning',
  });
  for (const file of files) {
    const script = join(out, file.replace(/\.ts$/, '.js'));
    writeFileSync(script, asJs(readFileSync(script, 'utf8')));
  }
}

async function emitTypes(root, out) {
  const { default: ts } = await import('typescript');
  const program = ts.createProgram(
    withImports(root).map((file) => join(root, file)),
    {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      allowImportingTsExtensions: true,
      declaration: true,
      emitDeclarationOnly: true,
      // What is checked is checked by `npm run check`: this only writes.
      noCheck: true,
      skipLibCheck: true,
      types: ['node'],
      rootDir: root,
      outDir: out,
    },
  );
  program.emit(undefined, (path, text) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, asJs(text));
  });
}

/** Imports name the files that there are. */
const asJs = (text) => text.replace(/(\bfrom\s*|\bimport\s+)(['"])(\.[^'"]+)\.ts\2/g, '$1$2$3.js$2');

/** The entries and what they import of ours, types too. */
function withImports(root) {
  const found = new Set();
  const visit = (file) => {
    if (found.has(file)) return;
    found.add(file);
    const source = readFileSync(join(root, file), 'utf8');
    for (const [, target] of source.matchAll(/^(?:import|export|\}) .*from '(\.[^']+)';$/gm))
      visit(relative(root, resolve(root, dirname(file), target)));
  };
  ENTRIES.forEach(visit);
  return [...found].sort();
}

if (resolve(argv[1] ?? '') === fileURLToPath(import.meta.url)) {
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  const out = argv[2] ? resolve(argv[2]) : join(root, 'dist', 'kit');
  await buildKit(root, out);
  await emitTypes(root, out);
}
