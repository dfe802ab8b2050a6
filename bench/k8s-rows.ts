import { systemClock } from '../internal/platform/clock.ts';
import { systemIds } from '../internal/platform/ids.ts';
import { K8sProvider } from '../internal/runtime/k8s/k8s-provider.ts';
import { resolveK8sSettings } from '../internal/runtime/k8s/k8s-settings.ts';
import { citySelector } from '../internal/runtime/k8s/manifest.ts';
import { K8sWorld, startOptions } from '../internal/runtime/k8s/testing/k8s-world.ts';
import { aPod, ScriptedKube } from '../internal/runtime/k8s/testing/scripted-kube.ts';
import { runShell } from '../internal/runtime/run-shell.ts';
import { localSessionLock } from '../internal/runtime/terminal/session-lock.ts';
import { whyNoPods } from '../test/kube-api/sandbox.ts';
import { median, ms, type Row } from './row.ts';

const PODS = 100;
const OBSERVE_BAR_MS = 1;
const ROUNDS = 201;
const NUDGES = 10;

/** Looking at a hundred pods, and what one nudge asks of the cluster. */
export async function k8sRows(): Promise<readonly Row[]> {
  return [await observing(), ...(whyNoPods() === undefined ? [await nudging()] : [])];
}

async function observing(): Promise<Row> {
  const kube = new ScriptedKube();
  kube.pods = Array.from({ length: PODS }, (_, index) => aPod(`p${index}`, index + 1));
  const provider = new K8sProvider(
    {
      clock: systemClock,
      ids: systemIds,
      launcherDir: '/nonexistent',
      hostEnv: {},
      runShell,
      lock: localSessionLock(),
    },
    {
      settings: resolveK8sSettings({ GC_K8S_IMAGE: 'agent:1' }),
      target: { kubeconfig: '', context: '', service: '' },
      cityId: 'city',
      host: { dir: '/nonexistent', command: ['false'], env: {} },
      clock: systemClock,
      ids: systemIds,
      openApi: async () => kube.api,
    },
  );
  try {
    await provider.observe();
    const requests = kube.requests;
    const took: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const started = performance.now();
      const survey = await provider.observe();
      took.push(performance.now() - started);
      if (survey.kind !== 'seen' || survey.sessions.size !== PODS) {
        throw new Error(`${citySelector('city')}: not all pods were seen`);
      }
    }
    const asked = kube.requests - requests;
    return {
      what: `observing ${PODS} pods, from memory`,
      bar: `${OBSERVE_BAR_MS} ms, no request`,
      measured: `${ms(median(took))}, ${asked} requests in ${ROUNDS} looks`,
      floor: 'a turn of the event loop',
      met: median(took) < OBSERVE_BAR_MS && asked === 0,
    };
  } finally {
    await provider.close();
  }
}

const RECORDER = `printf 'READY> '; while IFS= read -r line; do printf '%s\\n' "$line" >> messages; printf 'READY> '; done`;

async function nudging(): Promise<Row> {
  const world = await K8sWorld.open();
  try {
    const provider = world.provider();
    await provider.start('n', world.config('', { command: RECORDER }), startOptions());
    const count = () => world.cluster.requests.count({});
    const before = count();
    const took: number[] = [];
    for (let round = 0; round < NUDGES; round += 1) {
      const started = performance.now();
      const outcome = await provider.nudge('n', [{ type: 'text', text: `message ${round}` }]);
      took.push(performance.now() - started);
      if (outcome.kind !== 'delivered') throw new Error(JSON.stringify(outcome));
    }
    const asked = count() - before;
    return {
      what: 'nudge into a pod',
      bar: 'no request beside the open stream: one round trip on it',
      measured: `${asked} requests for ${NUDGES} nudges; ${ms(median(took))}`,
      floor: 'the submit gap',
      met: asked === 0,
    };
  } finally {
    await world.close();
  }
}
