import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Mount, nodeFolder } from './sandbox.ts';
import type { ContainerSpec, EnvVar, Pod, Volume } from './shapes.ts';

/** Secrets by name; each holds values by key. */
export type Secrets = ReadonlyMap<string, Readonly<Record<string, string>>>;

/** A volume or variable that cannot be had now: the pod waits, as a real one does. */
export class NotYet extends Error {
  readonly reason: 'ContainerCreating' | 'CreateContainerConfigError';
  constructor(reason: NotYet['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

const OPEN_FOLDER = 0o777;
const DEFAULT_SECRET_MODE = 0o644;

/** The folders of a pod's volumes, by the volume's name. @throws NotYet */
export function makeVolumes(pod: Pod, folder: string, secrets: Secrets): Map<string, string> {
  return new Map(
    (pod.spec.volumes ?? []).map((volume) => [volume.name, makeVolume(volume, folder, secrets)]),
  );
}

function makeVolume(volume: Volume, folder: string, secrets: Secrets): string {
  if (volume.hostPath) return volume.hostPath.path;
  const path = join(folder, 'volumes', volume.name);
  mkdirSync(path, { recursive: true });
  // Any user of the containers may write there.
  chmodSync(path, OPEN_FOLDER);
  if (!volume.secret) return path;
  const { secretName, optional, items, defaultMode = DEFAULT_SECRET_MODE } = volume.secret;
  const values = secrets.get(secretName);
  if (!values && optional !== true) {
    const message = `MountVolume.SetUp failed for volume "${volume.name}" : secret "${secretName}" not found`;
    throw new NotYet('ContainerCreating', message);
  }
  const wanted = items ?? Object.keys(values ?? {}).map((key) => ({ key, path: key }));
  for (const item of wanted) {
    const value = values?.[item.key];
    if (value === undefined) continue;
    const file = join(path, item.path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, value, { mode: defaultMode });
  }
  return path;
}

export function mountsOf(
  container: ContainerSpec,
  volumes: ReadonlyMap<string, string>,
  hostFolders: readonly string[],
): Mount[] {
  const shown = hostFolders.map((path) => ({ from: path, at: path, readOnly: true }));
  const mounted = (container.volumeMounts ?? []).map((mount) => {
    const from = join(volumes.get(mount.name) ?? '', mount.subPath ?? '');
    if (mount.subPath) mkdirSync(from, { recursive: true });
    return { from, at: mount.mountPath.replace(/(.)\/+$/, '$1'), readOnly: mount.readOnly === true };
  });
  return [...shown, ...mounted];
}

const IMAGE_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** What the image gives, then the manifest. @throws NotYet */
export function environmentOf(pod: Pod, container: ContainerSpec, secrets: Secrets): Record<string, string> {
  const path = IMAGE_PATH.split(':').includes(nodeFolder) ? IMAGE_PATH : `${nodeFolder}:${IMAGE_PATH}`;
  const env: Record<string, string> = { PATH: path, HOSTNAME: pod.metadata.name, HOME: '/root' };
  if (container.tty) env['TERM'] = 'xterm';
  for (const entry of container.env ?? []) {
    const value = variableOf(pod, entry, env, secrets);
    if (value !== undefined) env[entry.name] = value;
  }
  return env;
}

function variableOf(
  pod: Pod,
  entry: EnvVar,
  env: Readonly<Record<string, string>>,
  secrets: Secrets,
): string | undefined {
  const { secretKeyRef, fieldRef } = entry.valueFrom ?? {};
  if (secretKeyRef) {
    const secret = secrets.get(secretKeyRef.name);
    const value = secret?.[secretKeyRef.key];
    if (value !== undefined || secretKeyRef.optional === true) return value;
    const message = secret
      ? `couldn't find key ${secretKeyRef.key} in Secret ${pod.metadata.namespace}/${secretKeyRef.name}`
      : `secret "${secretKeyRef.name}" not found`;
    throw new NotYet('CreateContainerConfigError', message);
  }
  if (fieldRef) return fieldOf(pod, fieldRef.fieldPath);
  return expand(entry.value ?? '', env);
}

function fieldOf(pod: Pod, path: string): string {
  const key = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path);
  if (key) return pod.metadata[key[1] === 'labels' ? 'labels' : 'annotations']?.[key[2] ?? ''] ?? '';
  const { name, namespace, uid } = pod.metadata;
  const fields: Record<string, string> = {
    'metadata.name': name,
    'metadata.namespace': namespace,
    'metadata.uid': uid,
    'spec.nodeName': pod.spec.nodeName ?? '',
    'status.hostIP': '127.0.0.1',
  };
  return fields[path] ?? '';
}

/** `$(NAME)` of a variable above it; `$$(NAME)` is the text `$(NAME)`; an unknown one stays as it is. */
function expand(value: string, env: Readonly<Record<string, string>>): string {
  return value.replace(/\$\$|\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)/g, (whole, name: string | undefined) => {
    if (name === undefined) return '$';
    return env[name] ?? whole;
  });
}

/** The command line, with the variables that Kubernetes itself fills in. */
export function argvOf(
  container: ContainerSpec,
  imageCommand: readonly string[],
  env: Readonly<Record<string, string>>,
): readonly string[] {
  const command = container.command ?? imageCommand;
  return [...command, ...(container.args ?? [])].map((word) => expand(word, env));
}
