import { META_INSTANCE_TOKEN } from '../provider.ts';
import type { RuntimeConfig } from '../runtime-config.ts';
import { entrypointScript } from './entrypoint.ts';
import { assertQuantities, type K8sSettings, type PodResources } from './k8s-settings.ts';
import { exactLabel, sanitizeLabel } from './names.ts';
import { type PathMap, remapCommand, WORKSPACE } from './path-map.ts';
import { podEnv, unsetInPod } from './pod-env.ts';

export const AGENT_CONTAINER = 'agent';
export const STAGE_CONTAINER = 'stage';
/** Ends the init container. Source: Gas City `k8s` provider. */
export const STAGED_FILE = `${WORKSPACE}/.gc-ready`;
export const CITY_STAGE = '/city-stage';
const STAGE_GIVE_UP_ROUNDS = 18_000;

export const LABEL_APP = 'app';
export const APP = 'gc-agent';
export const LABEL_SESSION = 'gc-session';
const LABEL_AGENT = 'gc-agent';
/** Whose pod it is: nothing without our city's is listed, adopted or deleted. */
export const LABEL_CITY = 'gc-city';
export const ANNOTATION_SESSION = 'gc-session-name';
export const ANNOTATION_CITY = 'gc-city';
/** Told apart from an earlier life of the same session. */
export const ANNOTATION_TOKEN = 'gc-instance-token';
/** The number of the lease under which its controller made it: a higher one came later. */
const ANNOTATION_FENCE = 'gc-fence';
/** RFC 3339; set once the agent has begun. */
export const ANNOTATION_BEGUN = 'gc-begun';

/** Set before a pod is deleted by a process of ours: it is not news to any other. */
export const ANNOTATION_STOPPED = 'gc-stopped';

export interface PodPlan {
  readonly podName: string;
  readonly session: string;
  readonly cityId: string;
  /** Of the lease that its controller holds. */
  readonly fence?: number | undefined;
  readonly settings: K8sSettings;
  readonly config: RuntimeConfig;
  readonly map: PathMap;
  /** The agent's line of sh, in the pod's own paths. */
  readonly commandLine: string;
  /** Files have to be brought: an init container waits for them. */
  readonly staged: boolean;
}

/** The pods of one city. */
export const citySelector = (cityId: string): string =>
  `${LABEL_APP}=${APP},${LABEL_CITY}=${exactLabel(cityId)}`;
/** The pods of one session of one city. */
export const sessionSelector = (cityId: string, session: string): string =>
  `${citySelector(cityId)},${LABEL_SESSION}=${exactLabel(session)}`;

/**
 * The pod of a session. Source: Gas City `k8s` provider; that the agent is the container's own process, on the
 * container's terminal, is ours.
 * @throws GcError `k8s-settings` for a quantity; StartFailedError for what cannot be carried into a pod
 */
export function podManifest(plan: PodPlan): object {
  const { settings, config, map, staged } = plan;
  assertQuantities(settings.resources);
  const city = hasCityVolume(plan);
  const env = config.env;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: plan.podName,
      namespace: settings.namespace,
      labels: {
        [LABEL_APP]: APP,
        [LABEL_SESSION]: exactLabel(plan.session),
        [LABEL_AGENT]: sanitizeLabel(env['GC_ALIAS'] || env['GC_AGENT'] || 'unknown'),
        [LABEL_CITY]: exactLabel(plan.cityId),
      },
      annotations: {
        [ANNOTATION_SESSION]: plan.session,
        [ANNOTATION_CITY]: plan.cityId,
        [ANNOTATION_TOKEN]: env[META_INSTANCE_TOKEN] ?? '',
        ...(plan.fence === undefined ? {} : { [ANNOTATION_FENCE]: String(plan.fence) }),
      },
    },
    spec: {
      ...(settings.serviceAccount === '' ? {} : { serviceAccountName: settings.serviceAccount }),
      restartPolicy: 'Never',
      // What an agent leaves running is collected, and it ends by SIGTERM as on any machine.
      shareProcessNamespace: true,
      enableServiceLinks: false,
      containers: [agentContainer(plan, city)],
      ...(staged ? { initContainers: [stageContainer(settings.image, city)] } : {}),
      volumes: [
        ...(settings.prebaked ? [] : [{ name: 'ws', emptyDir: {} }]),
        { name: 'claude-config', secret: { secretName: 'claude-credentials', optional: true } },
        ...(city ? [{ name: 'city', emptyDir: {} }] : []),
      ],
    },
  };

  function agentContainer(of: PodPlan, withCity: boolean): object {
    return {
      name: AGENT_CONTAINER,
      image: settings.image,
      imagePullPolicy: 'Always',
      workingDir: settings.prebaked ? map.podWorkDir : WORKSPACE,
      command: ['/bin/sh', '-c'],
      args: [
        entrypointScript({
          session: of.session,
          commandLine: of.commandLine,
          preStart: config.preStart.map((command) => remapCommand(map, command)),
          preStartTimeoutMs: config.setupTimeoutMs,
          unset: unsetInPod(env),
          podWorkDir: map.podWorkDir,
          prebaked: settings.prebaked,
          linuxUser: env['LINUX_USERNAME'] ?? '',
        }),
      ],
      env: podEnv(env, map, settings.dolt),
      stdin: true,
      tty: true,
      terminationMessagePolicy: 'FallbackToLogsOnError',
      ...resourcesOf(settings.resources),
      volumeMounts: [
        ...(settings.prebaked ? [] : [{ name: 'ws', mountPath: WORKSPACE }]),
        { name: 'claude-config', mountPath: '/tmp/claude-secret', readOnly: true },
        ...(withCity ? [{ name: 'city', mountPath: map.cityPath }] : []),
      ],
      ...(env['LINUX_USERNAME'] ? { securityContext: { runAsUser: 0 } } : {}),
    };
  }
}

/** The controller's own paths below `.gc` are to lead somewhere in the pod, too. */
function hasCityVolume({ settings, map, staged }: PodPlan): boolean {
  return staged && !settings.prebaked && map.cityPath !== '' && map.cityPath !== map.workDir;
}

function stageContainer(image: string, withCity: boolean): object {
  return {
    name: STAGE_CONTAINER,
    image,
    imagePullPolicy: 'IfNotPresent',
    command: [
      '/bin/sh',
      '-c',
      `n=0; while [ ! -e ${STAGED_FILE} ]; do n=$((n+1)); [ $n -lt ${STAGE_GIVE_UP_ROUNDS} ] || exit 1; sleep 0.1; done`,
    ],
    volumeMounts: [
      { name: 'ws', mountPath: WORKSPACE },
      ...(withCity ? [{ name: 'city', mountPath: CITY_STAGE }] : []),
    ],
  };
}

function resourcesOf(resources: PodResources): object {
  const amounts = (cpu: string, memory: string) => ({
    ...(cpu === '' ? {} : { cpu }),
    ...(memory === '' ? {} : { memory }),
  });
  return {
    resources: {
      requests: amounts(resources.cpuRequest, resources.memRequest),
      limits: amounts(resources.cpuLimit, resources.memLimit),
    },
  };
}
