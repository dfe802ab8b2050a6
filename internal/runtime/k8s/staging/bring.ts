import { lstatSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { codeOf } from '../../../platform/errors.ts';
import type { Ids } from '../../../platform/ids.ts';
import { StartFailedError } from '../../errors.ts';
import { mergeablePaths } from '../../overlay-merge.ts';
import type { RuntimeConfig } from '../../runtime-config.ts';
import { stageFiles } from '../../staging.ts';
import { quoteShell } from '../../terminal/launch.ts';
import type { KubeApi } from '../api/kube-api.ts';
import { CITY_STAGE, STAGED_FILE } from '../manifest.ts';
import { type PathMap, WORKSPACE } from '../path-map.ts';
import { type TarSource, tarOf } from './tar-source.ts';

const STAGE_TIMEOUT_MS = 600_000;
const STDERR_SHOWN = 500;

export interface Destination {
  readonly api: KubeApi;
  readonly pod: string;
  readonly container: string;
  readonly ids: Ids;
  readonly signal: AbortSignal;
}

/** Is there anything to bring into the pod of this session? Empty folders are not worth an init container. */
export async function needsStaging(config: RuntimeConfig, map: PathMap): Promise<boolean> {
  if (config.overlayDir !== '' || config.packOverlayDirs.length > 0 || config.copyFiles.length > 0)
    return true;
  if (await holdsSomething(map.cityPath, skipInCity(map))) return true;
  return await holdsSomething(map.workDir, skipState);
}

async function holdsSomething(folder: string, skip: NonNullable<TarSource['skip']>): Promise<boolean> {
  if (folder === '') return false;
  const names = await readdir(folder).catch(() => []); // missing: nothing is in it
  return names.some((name) => !skip(join(folder, name), name));
}

/**
 * Brings the city's files, the work dir, overlays and files of a session into its pod, in one archive, and lets the
 * init container end. Answers warnings. @throws StartFailedError `staging-failed`
 */
export async function stageWorkspace(
  to: Destination,
  config: RuntimeConfig,
  map: PathMap,
): Promise<readonly string[]> {
  const laid = await layOverlays(config, to.signal);
  try {
    const workDir = map.podWorkDir.slice(WORKSPACE.length + 1);
    const sources: TarSource[] = [];
    if (map.cityPath !== '') sources.push({ from: map.cityPath, to: '', skip: skipInCity(map) });
    if (map.workDir !== '' && map.workDir !== map.cityPath) {
      sources.push({ from: map.workDir, to: workDir, skip: skipState });
    }
    sources.push({ from: laid.folder, to: workDir });
    await unpack(to, sources, WORKSPACE, [
      `[ ! -d ${CITY_STAGE} ] || cp -r ${WORKSPACE}/.gc ${CITY_STAGE}/ 2>/dev/null`,
      `: > ${STAGED_FILE}`,
    ]);
    return laid.warnings;
  } finally {
    await rm(laid.folder, { recursive: true, force: true });
  }
}

/** Copies one file or folder below a folder of the pod; a missing source is fine. @throws StartFailedError `staging-failed` */
export async function copyToPod(
  to: Destination,
  source: string,
  folder: string,
  relativeTarget: string,
): Promise<void> {
  const found = lstatOrMissing(source);
  if (!found) return;
  const target = relativeTarget === '' && !found.isDirectory() ? basename(source) : relativeTarget;
  const below = join('/', target).slice(1).replace(/\/+$/, '');
  if (join('/x', target) !== join('/x', below)) {
    throw new StartFailedError('copy-outside', `${target} is outside of the session's work dir`);
  }
  await unpack(to, [{ from: source, to: below }], folder, []);
}

/** Overlays and files as any other provider would lay them over the work dir, in a folder of their own. */
async function layOverlays(
  config: RuntimeConfig,
  signal: AbortSignal,
): Promise<{ readonly folder: string; readonly warnings: readonly string[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'gc-stage-'));
  try {
    // What overlays are merged with has to be there.
    for (const path of config.workDir === '' ? [] : mergeablePaths()) {
      const there = join(config.workDir, path);
      if (!lstatOrMissing(there)?.isFile()) continue;
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await copyFile(there, join(folder, path));
    }
    return { folder, warnings: await stageFiles({ ...config, workDir: folder }, signal) };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Unpacks an archive in a container and sees that it arrived whole. The input's end is not waited for: it cannot be told
 * over every connection, and `tar` reads on to it. So the container looks for the archive's last file instead.
 */
async function unpack(
  to: Destination,
  sources: readonly TarSource[],
  folder: string,
  then: readonly string[],
): Promise<void> {
  const proof = to.ids.hex(16);
  const last = `.gc-arrived-${proof.slice(0, 8)}`;
  const script = [
    `mkdir -p ${quoteShell(folder)} && cd ${quoteShell(folder)} || exit 1`,
    'exec 3<&0',
    'tar xof - <&3 & p=$!',
    `while kill -0 $p 2>/dev/null; do [ "$(cat ${last} 2>/dev/null)" = ${proof} ] && break; sleep 0.05; done`,
    `[ "$(cat ${last} 2>/dev/null)" = ${proof} ] || { wait $p; echo 'the archive did not arrive whole' >&2; exit 1; }`,
    `kill $p 2>/dev/null; rm -f ${last}`,
    ...then,
    'exit 0',
  ].join('\n');
  const result = await to.api.exec({
    pod: to.pod,
    container: to.container,
    argv: ['/bin/sh', '-c', script],
    stdin: {
      bytes: 'self-ending',
      chunks: tarOf(sources, { name: last, text: proof }, to.signal),
    },
    timeoutMs: STAGE_TIMEOUT_MS,
    signal: to.signal,
  });
  if (result.exit === 0) return;
  throw new StartFailedError(
    'staging-failed',
    `copying files into pod ${to.pod}: exit ${result.exit}: ${result.stderrTail.trim().slice(-STDERR_SHOWN)}`,
    { next: 'the image needs sh and tar' },
  );
}

/** The city's own state, and other projects that lie in it: each session brings its own. */
function skipInCity(map: PathMap): NonNullable<TarSource['skip']> {
  return (path, name) => {
    if (path === map.workDir) return true;
    if (skipState(path, name)) return true;
    const leadsToWorkDir = map.workDir.startsWith(`${path}/`);
    return !leadsToWorkDir && lstatOrMissing(join(path, '.git')) !== undefined;
  };
}

/** Sockets, logs and databases; and the link of a worktree, which leads nowhere in a pod. */
function skipState(path: string, name: string): boolean {
  return name === '.gc' || (name === '.git' && lstatOrMissing(path)?.isFile() === true);
}

function lstatOrMissing(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (codeOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}
