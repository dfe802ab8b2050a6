import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { CLUSTER_PERMISSIONS } from '../internal/runtime/k8s/permissions.ts';
import { PROJECT_ROOT } from './support/program.ts';

const DEPLOY = join(PROJECT_ROOT, 'deploy');
const MANIFESTS = join(DEPLOY, 'kubernetes');

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly [key: string]: unknown;
}

const read = (file: string): readonly Manifest[] =>
  parseAllDocuments(readFileSync(join(MANIFESTS, file), 'utf8')).map((document) => {
    expect(document.errors, file).toEqual([]);
    return document.toJS() as Manifest;
  });

const listed = (parse(readFileSync(join(MANIFESTS, 'kustomization.yaml'), 'utf8')) as { resources: string[] })
  .resources;
const manifests = listed.flatMap(read);
const named = (kind: string, name: string) => {
  const found = manifests.find((each) => each.kind === kind && each.metadata.name === name);
  if (!found) throw new Error(`there is no ${kind} ${name}`);
  return found;
};

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** `group/resource verb`, sorted. */
const granted = (rules: readonly Rule[]) =>
  rules
    .flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) => resources.flatMap((r) => verbs.map((verb) => `${group}/${r} ${verb}`))),
    )
    .sort();

describe('the manifests for a cluster', () => {
  it('are all applied, each in its namespace, which is among them', () => {
    const files = readdirSync(MANIFESTS).filter((file) => file !== 'kustomization.yaml');
    expect([...listed].sort()).toEqual(files.sort());
    const namespaces = manifests
      .filter(({ kind }) => kind === 'Namespace')
      .map(({ metadata }) => metadata.name);
    const rest = manifests.filter(({ kind }) => kind !== 'Namespace');
    expect(new Set(rest.map(({ metadata }) => metadata.namespace))).toEqual(new Set(namespaces));
    const names = manifests.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
  });

  it('let the controller do what the program asks of a cluster, and nothing else', () => {
    const asked = CLUSTER_PERMISSIONS.flatMap(({ group, resource, verbs }) =>
      verbs.map((verb) => `${group}/${resource} ${verb}`),
    );
    const role = named('Role', 'gc-controller');
    expect(granted(role['rules'] as Rule[])).toEqual(asked.sort());
    expect(named('RoleBinding', 'gc-controller')).toMatchObject({
      roleRef: { kind: 'Role', name: 'gc-controller' },
      subjects: [{ kind: 'ServiceAccount', name: 'gc-controller', namespace: 'gc' }],
    });
  });

  it('let agents do nothing in the cluster', () => {
    expect(named('ServiceAccount', 'gc-agent')).toMatchObject({ automountServiceAccountToken: false });
    const subjects = manifests.flatMap((each) => (each['subjects'] as { name: string }[] | undefined) ?? []);
    expect(subjects.map(({ name }) => name)).not.toContain('gc-agent');
    expect(manifests.some(({ kind }) => kind.startsWith('ClusterRole'))).toBe(false);
  });

  it('run one controller, under the lease, on a volume of its own, as nobody special', () => {
    const { spec } = named('StatefulSet', 'gc-controller') as unknown as { spec: StatefulSet };
    const pod = spec.template.spec;
    const [container] = pod.containers;
    if (!container) throw new Error('no container');
    expect([spec.replicas, pod.serviceAccountName]).toEqual([1, 'gc-controller']);
    expect(spec.selector.matchLabels).toEqual({ app: spec.template.metadata.labels['app'] });
    expect(named('Service', spec.serviceName)).toMatchObject({
      spec: { selector: { app: 'gc-controller' } },
    });
    const env = Object.fromEntries(container.env.map((each) => [each.name, each.value]));
    expect(env).toMatchObject({ GC_K8S_LEASE: 'gc-controller', GC_K8S_SERVICE_ACCOUNT: 'gc-agent' });
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000 });
    expect(container.securityContext).toMatchObject({ allowPrivilegeEscalation: false });
    const volumes = [...pod.volumes, ...spec.volumeClaimTemplates.map(({ metadata }) => metadata)];
    expect(container.volumeMounts.map(({ name }) => name).sort()).toEqual(
      volumes.map(({ name }) => name).sort(),
    );
    const [claim] = spec.volumeClaimTemplates;
    expect(claim).toMatchObject({ metadata: { name: 'city' }, spec: { accessModes: ['ReadWriteOnce'] } });
    expect(container.volumeMounts.find(({ name }) => name === 'city')?.mountPath).toBe('/city');
  });
});

interface StatefulSet {
  readonly replicas: number;
  readonly serviceName: string;
  readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly volumeClaimTemplates: readonly { readonly metadata: { readonly name: string } }[];
  readonly template: {
    readonly metadata: { readonly labels: Readonly<Record<string, string>> };
    readonly spec: {
      readonly serviceAccountName: string;
      readonly securityContext: object;
      readonly volumes: readonly { readonly name: string }[];
      readonly containers: readonly {
        readonly image: string;
        readonly env: readonly { readonly name: string; readonly value?: string }[];
        readonly readinessProbe: { readonly exec: { readonly command: readonly string[] } };
        readonly securityContext: object;
        readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
      }[];
    };
  };
}

describe('the images for a cluster', () => {
  const dockerfile = readFileSync(join(DEPLOY, 'Dockerfile'), 'utf8');
  const copies = [...dockerfile.matchAll(/^COPY (?<flags>(?:--\S+ )*)(?<paths>.+)$/gm)].map((match) => ({
    flags: match.groups?.['flags'] ?? '',
    paths: (match.groups?.['paths'] ?? '').split(' '),
  }));

  it('are made of files that are here', () => {
    const ours = copies.filter(({ flags }) => !flags.includes('--from='));
    expect(ours.length).toBeGreaterThan(5);
    for (const source of ours.flatMap(({ paths }) => paths.slice(0, -1))) {
      expect(existsSync(join(PROJECT_ROOT, source)), source).toBe(true);
    }
  });

  it('hold what the program’s build reads and its package holds', () => {
    const copied = copies.flatMap(({ paths }) => paths.slice(0, -1).map((path) => path.split('/').at(-1)));
    const build = readFileSync(join(PROJECT_ROOT, 'scripts/build.mjs'), 'utf8');
    const sources = /const SOURCES = \[(?<list>[^\]]+)\]/.exec(build)?.groups?.['list'] ?? '';
    const folders = [...sources.matchAll(/'(\w+)'/g)].map(([, folder]) => folder);
    expect(folders.length).toBeGreaterThan(1);
    expect(copied).toEqual(expect.arrayContaining([...folders, 'dist', 'packs', 'examples', 'node_modules']));
  });

  it('are of the Node that the program needs, and run as its user', () => {
    const bases = [...dockerfile.matchAll(/^FROM (\S+) AS (\S+)$/gm)].map(([, base, name]) => [name, base]);
    expect(bases.map(([name]) => name)).toEqual(['build', 'program', 'agent', 'controller']);
    expect(bases.slice(0, 2).every(([, base]) => base?.startsWith('node:20-'))).toBe(true);
    expect(dockerfile.match(/^USER gcagent$/gm)).toHaveLength(2);
  });

  it('have the commands that the manifests and the images run', () => {
    const { spec } = named('StatefulSet', 'gc-controller') as unknown as { spec: StatefulSet };
    const ready = spec.template.spec.containers[0]?.readinessProbe.exec.command[0] ?? '';
    const commands = [ready, ...(parse(/^CMD (.+)$/m.exec(dockerfile)?.[1] ?? '[]') as string[])];
    for (const command of commands) {
      const source = copies.find(({ paths }) => paths.at(-1) === `/usr/local/bin/${command}`)?.paths[0] ?? '';
      expect(statSync(join(PROJECT_ROOT, source)).mode & 0o111, command).not.toBe(0);
      execFileSync('sh', ['-n', join(PROJECT_ROOT, source)]);
    }
  });
});
