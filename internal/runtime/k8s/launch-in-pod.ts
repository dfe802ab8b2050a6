import { StartFailedError } from '../errors.ts';
import type { RuntimeConfig } from '../runtime-config.ts';
import type { ElsewhereLaunch } from '../terminal/backend.ts';
import { commandLine, TERMINAL_COLUMNS, TERMINAL_ROWS, unquoteShell } from '../terminal/launch.ts';
import { COMMAND_LIMIT_BYTES } from './entrypoint.ts';
import type { K8sSettings } from './k8s-settings.ts';
import { pathMapOf, remapCommand } from './path-map.ts';

/** What the agent of a pod is run with, in the pod's own paths. @throws StartFailedError `k8s-image` */
export function launchInPod(name: string, config: RuntimeConfig, settings: K8sSettings): ElsewhereLaunch {
  if (settings.image === '') {
    throw new StartFailedError('k8s-image', `starting session "${name}": GC_K8S_IMAGE is required`, {
      next: 'set session.k8s.image in the city file, or GC_K8S_IMAGE',
    });
  }
  const map = pathMapOf(config);
  const inPod = {
    command: remapCommand(map, config.command),
    promptSuffix: remapCommand(map, config.promptSuffix),
    promptFlag: config.promptFlag,
  };
  const whole = commandLine(inPod);
  const tooLong = Buffer.byteLength(whole) > COMMAND_LIMIT_BYTES && inPod.promptSuffix !== '';
  const line = tooLong ? commandLine({ ...inPod, promptSuffix: '', promptFlag: '' }) : whole;
  return {
    launch: {
      argv: ['/bin/sh', '-c', line],
      cwd: map.podWorkDir,
      env: {},
      unsetEnv: [],
      pty: true,
      columns: TERMINAL_COLUMNS,
      rows: TERMINAL_ROWS,
      config,
    },
    typedPrompt: tooLong ? unquoteShell(inPod.promptSuffix) : '',
  };
}
