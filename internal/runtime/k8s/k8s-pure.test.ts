import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RuntimeUnavailableError } from '../errors.ts';
import { EMPTY_RUNTIME_CONFIG, type RuntimeConfig } from '../runtime-config.ts';
import { clusterTargetOf } from './api/cluster-target.ts';
import { kubeErrorOf } from './api/kube-error.ts';
import { parsePod } from './api/pod.ts';
import { withWriteRight } from './api/write-right.ts';
import { assertQuantities, resolveK8sSettings } from './k8s-settings.ts';
import { plainTail } from './last-lines.ts';
import { launchInPod } from './launch-in-pod.ts';
import { podManifest } from './manifest.ts';
import { exactLabel, podName, podNameInCity, sanitizeLabel, sanitizePodName } from './names.ts';
import { pathMapOf, podStoreRoot, remapCommand, remapPath } from './path-map.ts';
import { doltProjection, podEnv, unsetInPod, withoutMachine } from './pod-env.ts';
import { metaOf, removeMetaChange, setMetaChange } from './pod-meta.ts';
import { amountOf } from './pod-usage.ts';
import { ScriptedKube } from './testing/scripted-kube.ts';

const MANAGED = { host: 'dolt.gc.svc.cluster.local', port: '3307' };
const config = (over: Partial<RuntimeConfig> = {}): RuntimeConfig => ({ ...EMPTY_RUNTIME_CONFIG, ...over });

describe('names of pods', () => {
  it.each([
    ['has/slashes/in/path', 'has-slashes-in-path'],
    ['under_scores', 'under-scores'],
    ['dots.are.replaced', 'dots-are-replaced'],
    ['--leading', 'leading'],
    ['a'.repeat(70), 'a'.repeat(63)],
    ['///', 'unknown'],
    ['', ''],
  ])('the published rule makes %j %j', (session, name) => {
    expect(sanitizePodName(session)).toBe(name);
  });

  it('a name that a pod can have is kept, so that pods of the original have theirs', () => {
    expect(podName('gc-mayor')).toBe('gc-mayor');
  });

  it('two sessions never share a pod, and every name is one that a cluster takes', () => {
    const session = fc.stringMatching(/^[A-Za-z0-9_-]{1,80}$/);
    fc.assert(
      fc.property(session, session, (a, b) => {
        expect(podName(a)).toMatch(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
        expect(podNameInCity(a, 'c')).toMatch(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
        if (a !== b) expect(podName(a)).not.toBe(podName(b));
      }),
    );
  });

  it('labels keep dots, underscores and case, and are ASCII', () => {
    expect(sanitizeLabel('My_agent.v1')).toBe('My_agent.v1');
    expect(sanitizeLabel('é')).toBe('unknown');
    expect(sanitizeLabel('///')).toBe('unknown');
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (value) => {
        expect(exactLabel(value)).toMatch(/^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/);
      }),
    );
  });
});

describe('settings', () => {
  it('the environment wins over the city file, which wins over the default', () => {
    const env = { GC_K8S_NAMESPACE: 'from-env', GC_K8S_MEM_LIMIT: '' };
    const settings = resolveK8sSettings(env, { namespace: 'from-file', image: 'a:1', memLimit: '8Gi' });
    expect(settings).toMatchObject({ namespace: 'from-env', image: 'a:1', prebaked: false });
    expect(settings.resources).toEqual({
      cpuRequest: '500m',
      memRequest: '1Gi',
      cpuLimit: '2',
      memLimit: '8Gi',
    });
  });

  it('prebaked is the exact word true', () => {
    expect(resolveK8sSettings({ GC_K8S_PREBAKED: 'true' }).prebaked).toBe(true);
    expect(resolveK8sSettings({ GC_K8S_PREBAKED: 'yes' }, { prebaked: true }).prebaked).toBe(false);
    expect(resolveK8sSettings({}, { prebaked: true }).prebaked).toBe(true);
  });

  it('half a Dolt alias is refused, and a Dolt server of the controller does not count', () => {
    expect(() => resolveK8sSettings({ GC_K8S_DOLT_HOST: 'h' })).toThrow(
      'requires both GC_K8S_DOLT_HOST and GC_K8S_DOLT_PORT when either is set',
    );
    expect(resolveK8sSettings({ GC_DOLT_HOST: 'x', GC_DOLT_PORT: '1' }).dolt).toEqual(MANAGED);
  });

  it('an amount that is none is named with its variable', () => {
    const resources = { cpuRequest: 'a lot', memRequest: '1Gi', cpuLimit: '', memLimit: '4Gi' };
    expect(() => assertQuantities(resources)).toThrow('parsing GC_K8S_CPU_REQUEST "a lot": ');
    expect(() => assertQuantities({ ...resources, cpuRequest: '.5' })).not.toThrow();
  });

  it('a namespace that cannot be one is refused before anything is asked', () => {
    expect(() => resolveK8sSettings({ GC_K8S_NAMESPACE: 'Not/One' })).toThrow(
      'cannot be the name of a namespace',
    );
  });

  it('in a pod the service account is used, unless a context is asked for', () => {
    const pod = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443', KUBECONFIG: '/k' };
    const everything = () => true;
    expect(clusterTargetOf(pod, '', everything).service).toBe('10.0.0.1:443');
    expect(clusterTargetOf(pod, 'other', everything)).toEqual({
      kubeconfig: '/k',
      context: 'other',
      service: '',
    });
    expect(clusterTargetOf({ HOME: '/h' }, '', everything).kubeconfig).toBe('/h/.kube/config');
    expect(clusterTargetOf({ HOME: '/h' }, '', () => false).kubeconfig).toBe('');
  });
});

describe('paths', () => {
  const inCity = pathMapOf({ workDir: '/city/rigs/front', env: { GC_CITY_PATH: '/city/' } });

  it('a folder of the city keeps its place, any other one is the workspace', () => {
    expect(inCity.podWorkDir).toBe('/workspace/rigs/front');
    expect(pathMapOf({ workDir: '/city', env: { GC_CITY: '/city' } }).podWorkDir).toBe('/workspace');
    expect(pathMapOf({ workDir: '/elsewhere', env: { GC_CITY_ROOT: '/city' } }).podWorkDir).toBe(
      '/workspace',
    );
    expect(pathMapOf({ workDir: '/city-two/x', env: { GC_CITY: '/city' } }).podWorkDir).toBe('/workspace');
  });

  it('paths and commands are told in the pod’s own', () => {
    expect(remapPath(inCity, '/city/a')).toBe('/workspace/a');
    expect(remapPath(inCity, '/citya')).toBe('/citya');
    expect(remapCommand(inCity, 'run --settings=/city/.gc/s.json "/city" /city-two')).toBe(
      'run --settings=/workspace/.gc/s.json "/workspace" /city-two',
    );
  });

  it('the store may be in another folder than the work', () => {
    expect(podStoreRoot(inCity, { GC_STORE_ROOT: '/city/rigs/back' })).toBe('/workspace/rigs/back');
    expect(podStoreRoot(inCity, {})).toBe('/workspace/rigs/front');
  });
});

describe('the environment of a pod', () => {
  const map = pathMapOf({ workDir: '/city/rigs/front', env: { GC_CITY: '/city' } });
  const asMap = (env: Record<string, string>) =>
    Object.fromEntries(
      podEnv(env, map, MANAGED).map((entry) => [entry.name, 'value' in entry ? entry.value : '(secret)']),
    );

  it('what is the controller’s own stays there, what is the city’s is told in the pod’s paths', () => {
    const env = asMap({
      GC_BEADS: 'exec:x',
      GC_SESSION: 'k8s',
      GC_EVENTS: 'x',
      GC_BIN: '/usr/bin/gc',
      GC_CITY: '/city',
      GC_CITY_PATH: '/city',
      GC_DIR: '/city/rigs/front',
      GC_RIG_ROOT: '/city/rigs/front',
      BEADS_DIR: '/city/rigs/front/.beads',
      GT_ROOT: '/city',
      GC_DOLT_PASSWORD: 'pw',
      EMPTY: '',
    });
    expect(env).toEqual({
      GC_CITY: '/workspace',
      GC_CITY_PATH: '/workspace',
      GC_DIR: '/workspace/rigs/front',
      GC_RIG_ROOT: '/workspace/rigs/front',
      BEADS_DIR: '/workspace/rigs/front/.beads',
      GT_ROOT: '/workspace',
      GC_DOLT_PASSWORD: 'pw',
      CLAUDE_CONFIG_DIR: '/home/gcagent/.claude',
      GITHUB_TOKEN: '(secret)',
    });
    expect(unsetInPod({ EMPTY: '', 'not a name': '' })).toEqual(['EMPTY']);
  });

  it.each([
    [{}, {}],
    [{ GC_DOLT_PORT: '3307' }, MANAGED],
    [{ GC_DOLT_HOST: ' LocalHost ', GC_DOLT_PORT: '1' }, MANAGED],
    [{ GC_DOLT_HOST: '::1', GC_DOLT_PORT: '1' }, MANAGED],
    [
      { GC_DOLT_HOST: 'db', GC_DOLT_PORT: ' 1 ' },
      { host: 'db', port: '1' },
    ],
  ])('a Dolt server of %j is %j for the pod', (env, expected) => {
    const seen = doltProjection(env, MANAGED);
    const address = expected as { host?: string; port?: string };
    expect(seen['GC_DOLT_HOST']).toBe(address.host);
    expect(seen['BEADS_DOLT_SERVER_PORT']).toBe(address.port);
  });

  it('a Dolt host without a port is refused', () => {
    expect(() => doltProjection({ GC_DOLT_HOST: 'db' }, MANAGED)).toThrow(
      'requires both GC_DOLT_HOST and GC_DOLT_PORT when GC_DOLT_HOST is set',
    );
  });
});

describe('the manifest', () => {
  const manifestOf = (over: Partial<RuntimeConfig>, prebaked = false, staged = true) => {
    const full = config(over);
    return podManifest({
      podName: 'p',
      session: 'S_1',
      cityId: '/city',
      settings: { ...resolveK8sSettings({ GC_K8S_IMAGE: 'agent:1' }), prebaked },
      config: full,
      map: pathMapOf(full),
      commandLine: 'exec agent',
      staged,
    }) as { metadata: Record<string, Record<string, string>>; spec: Record<string, never> };
  };

  it('says whose the pod is, so that nothing else is ever listed, adopted or deleted', () => {
    const { metadata } = manifestOf({ env: { GC_ALIAS: 'rig/mayor', GC_INSTANCE_TOKEN: 't' } });
    expect(metadata['labels']).toMatchObject({ app: 'gc-agent', 'gc-agent': 'rig-mayor' });
    expect(metadata['annotations']).toMatchObject({
      'gc-session-name': 'S_1',
      'gc-city': '/city',
      'gc-instance-token': 't',
    });
  });

  it('the agent is the container’s own process, on its terminal', () => {
    const [agent] = manifestOf({ workDir: '/city/x', env: { GC_CITY: '/city', LINUX_USERNAME: 'joe' } }).spec[
      'containers'
    ] as unknown as [Record<string, unknown>];
    expect(agent).toMatchObject({
      name: 'agent',
      image: 'agent:1',
      stdin: true,
      tty: true,
      securityContext: { runAsUser: 0 },
      volumeMounts: [
        { name: 'ws', mountPath: '/workspace' },
        { name: 'claude-config', mountPath: '/tmp/claude-secret', readOnly: true },
        { name: 'city', mountPath: '/city' },
      ],
    });
    expect(String(agent['args'])).toContain('exec su -s /bin/sh -c "$gc_line" joe');
  });

  it('a prebaked image keeps its workspace: nothing is mounted over it, nothing waited for', () => {
    const { spec } = manifestOf({ env: { GC_CITY: '/city' } }, true, false);
    expect(spec['initContainers']).toBeUndefined();
    expect(JSON.stringify(spec)).not.toContain('"ws"');
    expect(JSON.stringify(spec)).not.toContain('.gc-workspace-ready');
  });

  it('a user name that would be a piece of shell is refused', () => {
    expect(() => manifestOf({ env: { LINUX_USERNAME: 'joe; rm -rf /' } })).toThrow('is no user name');
  });

  it('an image is required', () => {
    expect(() => launchInPod('s', config(), resolveK8sSettings({}))).toThrow(
      'starting session "s": GC_K8S_IMAGE is required',
    );
  });

  it('a prompt is an argument, and typed when it is too long for one', () => {
    const settings = resolveK8sSettings({ GC_K8S_IMAGE: 'a' });
    const short = launchInPod(
      's',
      config({ command: 'claude', promptSuffix: "'hi'", promptFlag: '-p' }),
      settings,
    );
    expect(short.launch.argv.at(-1)).toBe("exec claude -p 'hi'");
    const long = launchInPod(
      's',
      config({ command: 'claude', promptSuffix: `'${'x'.repeat(90_000)}'` }),
      settings,
    );
    expect(long.launch.argv.at(-1)).toBe('exec claude');
    expect(long.typedPrompt).toHaveLength(90_000);
  });
});

describe('metadata in annotations', () => {
  const pod = (annotations: Record<string, string | null>) =>
    parsePod({
      metadata: {
        name: 'p',
        uid: 'u',
        annotations: Object.fromEntries(Object.entries(annotations).filter(([, value]) => value !== null)),
      },
      spec: { containers: [{ name: 'agent', env: [{ name: 'GC_SESSION_ID', value: 'gc-7' }] }] },
    });

  it('any key and any text comes back as it was', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, unit: 'grapheme' }),
        fc.string({ unit: 'grapheme' }),
        (key, value) => {
          expect(metaOf(pod(setMetaChange(key, value)))[key]).toBe(value);
        },
      ),
      { examples: [['__proto__', '']] },
    );
  });

  it('what the environment says is metadata until it is removed', () => {
    expect(metaOf(pod({}))['GC_SESSION_ID']).toBe('gc-7');
    expect(metaOf(pod(removeMetaChange(pod({}), 'GC_SESSION_ID')))['GC_SESSION_ID']).toBeUndefined();
  });
});

describe('refusals of a cluster', () => {
  const call = { verb: 'create', resource: 'pods', namespace: 'gc', name: '', server: 'k:1' };
  it.each([
    [401, 'Unauthorized', 'k8s-unauthorized', 'does not accept our credentials'],
    [
      403,
      'pods is forbidden: User "x" cannot create resource "pods"',
      'k8s-forbidden',
      'we may not create pods',
    ],
    [403, 'pods "p" is forbidden: exceeded quota: q, requested: pods=1', 'k8s-quota', 'the quota is full'],
    [404, 'namespaces "gc" not found', 'k8s-namespace-missing', 'there is no namespace gc'],
    [409, 'pods "p" already exists', 'k8s-conflict', 'already exists'],
    [410, 'too old resource version', 'k8s-gone', 'too old'],
    [503, '', 'k8s-unavailable', 'HTTP 503'],
  ])('%i %s is %s', (status, message, code, text) => {
    const error = kubeErrorOf(call, status, { message });
    expect(error.code).toBe(code);
    expect(error.message).toContain(text);
  });
});

it('amounts of the metrics API', () => {
  expect([amountOf('250m'), amountOf('500000000n'), amountOf('64Mi'), amountOf('odd')]).toEqual([
    0.25, 0.5, 67_108_864, 0,
  ]);
});

it('the end of raw output can be read', () => {
  expect(plainTail('\u001b[31mred\u001b[0m\r\n10%\r100%\r\n\u001b]0;title\u0007last \r\n\r\n')).toBe(
    'red\n100%\nlast',
  );
});

describe('what belongs to the controller’s machine', () => {
  const machine = { PATH: '/home/me/bin:/usr/bin', HOME: '/home/me', USER: 'me', GC_HOME: '/home/me/.gc' };

  it('is not passed on to pods, which have their own; what the city file sets is', () => {
    const passed = {
      ...machine,
      PATH: `${machine.PATH}:/city/.gc/bin`,
      XDG_CONFIG_HOME: '/home/me/.config',
      XDG_STATE_HOME: '/home/me/.local/state',
      ANTHROPIC_API_KEY: 'k',
    };
    expect(withoutMachine(passed, machine)).toEqual({ ANTHROPIC_API_KEY: 'k' });
    const set = { PATH: '/opt/agent/bin:/usr/bin', HOME: '/home/agent', XDG_CONFIG_HOME: '/etc/agent' };
    expect(withoutMachine(set, machine)).toEqual(set);
  });
});

describe('the right to write to the cluster', () => {
  it('is asked for before each change; reading needs none', async () => {
    let held = true;
    const kube = new ScriptedKube();
    const api = withWriteRight(kube.api, { fence: 3, held: () => held });
    held = false;
    const exec = { pod: 'a', container: 'agent', argv: ['true'], timeoutMs: 1 };
    const changes = [
      () => api.createPod({}),
      () => api.annotatePod('a', 'u', {}),
      () => api.deletePod('a', 'u', 1),
      () => api.exec(exec),
    ];
    for (const change of changes) await expect(change()).rejects.toThrow(RuntimeUnavailableError);
    expect((await api.listPods({ labelSelector: '' })).pods).toEqual([]);
  });
});
