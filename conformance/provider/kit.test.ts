import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROVIDER_CASES } from './suite.ts';
import type { CaseResult } from './trial.ts';

const ROOT = join(import.meta.dirname, '../..');

interface Report {
  readonly name: string;
  readonly result: CaseResult;
}

describe('the suite in a project of somebody else', () => {
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gc-kit-'));
    const installed = join(folder, 'node_modules', 'gas-city');
    mkdirSync(installed, { recursive: true });
    cpSync(join(ROOT, 'package.json'), join(installed, 'package.json'));
    const { buildKit } = await import(pathToFileURL(join(ROOT, 'scripts/build-kit.mjs')).href);
    await buildKit(ROOT, join(installed, 'dist', 'kit'));
    cpSync(join(import.meta.dirname, 'testing/tiny-provider.mjs'), join(folder, 'tiny-provider.mjs'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const run = (...args: readonly string[]): readonly Report[] =>
    JSON.parse(
      execFileSync(process.execPath, ['tiny-provider.mjs', folder, ...args], {
        cwd: folder,
        encoding: 'utf8',
      }),
    );

  it('is imported by the paths that package.json exports', () => {
    const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    expect(Object.keys(exports)).toEqual(expect.arrayContaining(['./conformance/provider/*', './runtime/*']));
  });

  it('judges a provider that it knows nothing of', () => {
    const reports = run();
    expect(reports.map(({ name }) => name)).toEqual(PROVIDER_CASES.map(({ name }) => name));
    expect(reports.filter(({ result }) => result.kind === 'failed')).toEqual([]);
    expect(reports.filter(({ result }) => result.kind === 'passed').length).toBeGreaterThan(33);
  });

  it('catches one that is broken', () => {
    const failed = run('broken').filter(({ result }) => result.kind === 'failed');
    expect(failed.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['GetMeta_UnsetKey', 'Meta_DoesNotOutliveTheSession']),
    );
  });
});
