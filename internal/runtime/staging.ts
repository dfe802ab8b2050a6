import { stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { GcError, messageOf } from '../platform/errors.ts';
import { StartFailedError } from './errors.ts';
import { applyOverlay, copyFileOrFolder } from './overlay.ts';
import type { CopyEntry, RuntimeConfig } from './runtime-config.ts';

type Staged = Pick<
  RuntimeConfig,
  'workDir' | 'providerName' | 'installAgentHooks' | 'packOverlayDirs' | 'overlayDir' | 'copyFiles'
>;

/**
 * Puts overlays and files into the work dir, lowest priority first: pack overlays in order, the agent's overlay, the
 * copied files. Answers warnings about files that could not be copied.
 * @throws StartFailedError when an overlay cannot be applied.
 */
export async function stageFiles(config: Staged, signal: AbortSignal): Promise<readonly string[]> {
  if (config.workDir === '') return [];
  const slots = [config.providerName, ...config.installAgentHooks];
  for (const dir of config.packOverlayDirs) {
    await overlay('pack overlay', dir, config.workDir, slots, signal, dirname(dir));
  }
  if (config.overlayDir !== '') await overlay('overlay', config.overlayDir, config.workDir, slots, signal);
  const warnings: string[] = [];
  for (const entry of config.copyFiles) {
    signal.throwIfAborted();
    const failure = await copyInto(config.workDir, entry.src, entry.relDst, signal);
    if (failure !== undefined) warnings.push(`${copyLabel(entry)}: ${failure}`);
  }
  return warnings;
}

/**
 * Copies one file or folder below a work dir; a file with no target name keeps its own. Answers why it could not, or
 * `undefined`. A missing source, and a source that is already in place, are fine.
 */
export async function copyInto(
  workDir: string,
  source: string,
  relativeTarget: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const target = targetOf(workDir, source, relativeTarget, await isFile(source));
    if (resolve(source) !== target) await copyFileOrFolder(source, target, signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return messageOf(error);
  }
}

function targetOf(workDir: string, source: string, relativeTarget: string, sourceIsFile: boolean): string {
  const wanted = relativeTarget === '' && sourceIsFile ? basename(source) : relativeTarget;
  const target = resolve(join(workDir, wanted));
  if (relative(resolve(workDir), target).split('/')[0] === '..') {
    throw new GcError('copy-outside', `${join(workDir, wanted)} is outside of the work dir`);
  }
  return target;
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() ?? false; // missing: copying it does nothing
}

function copyLabel(entry: CopyEntry): string {
  return `copying ${entry.src} to ${entry.relDst === '' ? 'the work dir' : entry.relDst}`;
}

async function overlay(
  what: string,
  dir: string,
  workDir: string,
  slots: readonly string[],
  signal: AbortSignal,
  within?: string,
): Promise<void> {
  try {
    await applyOverlay(dir, workDir, slots, signal, within);
  } catch (error) {
    signal.throwIfAborted();
    throw new StartFailedError('staging-failed', `copying ${what} ${dir}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
