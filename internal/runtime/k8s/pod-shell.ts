import { readFile } from 'node:fs/promises';
import { messageOf } from '../../platform/errors.ts';
import type { RunShell, ShellRequest, ShellResult } from '../run-shell.ts';
import { quoteShell } from '../terminal/launch.ts';
import type { KubeApi } from './api/kube-api.ts';
import type { Pod } from './api/pod.ts';
import { AGENT_CONTAINER } from './manifest.ts';
import { cityPathOf, type PathMap, pathMapOf, remapCommand } from './path-map.ts';
import { metaOf } from './pod-meta.ts';

/** For the answer, on top of the command's own time. */
const ANSWER_EXTRA_MS = 5_000;
const STDERR_TAIL_CHARS = 2_048;
/** Told by the shell around a command that was killed for its time. */
const LATE_CODE = 124;

export interface PodShell {
  readonly api: () => Promise<KubeApi>;
  /** @throws SessionNotFoundError, RuntimeUnavailableError */
  readonly find: (name: string) => Promise<Pod>;
}

/**
 * Runs set-up commands beside a session's agent, in its container and with its environment; nothing of this machine's is
 * given to them. A script of this machine is sent with the command that runs it.
 */
export function podShell({ api, find }: PodShell, name: string): RunShell {
  return async (request) => {
    request.signal.throwIfAborted();
    try {
      const [cluster, pod] = await Promise.all([api(), find(name)]);
      const map = mapOf(request);
      const script = request.script === undefined ? undefined : await readFile(request.script);
      const result = await cluster.exec({
        pod: pod.metadata.name,
        container: AGENT_CONTAINER,
        argv: ['/bin/sh', '-c', wrapped(request, map, pod, name, script !== undefined)],
        ...(script && { stdin: script }),
        timeoutMs: request.timeoutMs + ANSWER_EXTRA_MS,
        signal: request.signal,
      });
      return resultOf(request, result.exit, result.stderrTail);
    } catch (error) {
      request.signal.throwIfAborted();
      return { kind: 'not-started', reason: messageOf(error) };
    }
  };
}

function mapOf({ env, cwd }: ShellRequest): PathMap {
  return pathMapOf({ workDir: cwd === '' ? cityPathOf(env) : cwd, env });
}

/** The command with a watchdog, as leaving a connection does not end what was run over it. */
function wrapped(request: ShellRequest, map: PathMap, pod: Pod, name: string, piped: boolean): string {
  const seconds = Math.max(1, Math.ceil(request.timeoutMs / 1_000));
  const folder = metaOf(pod)['GC_DIR'] ?? map.podWorkDir;
  const command = piped ? 'exec /bin/sh -s' : remapCommand(map, request.command);
  return [
    `cd ${quoteShell(folder)} 2>/dev/null`,
    `export GC_SESSION=${quoteShell(name)}`,
    'exec 3<&0',
    `/bin/sh -c ${quoteShell(command)} <&3 & p=$!`,
    `late=/tmp/.gc-late-$p; ( n=0; while [ $n -lt ${seconds} ]; do sleep 1; n=$((n+1)); done; : > $late; kill -9 $p ) >/dev/null 2>&1 3<&- & w=$!`,
    'wait $p; c=$?; kill $w 2>/dev/null',
    `[ ! -e $late ] || { rm -f $late; exit ${LATE_CODE}; }`,
    'exit $c',
  ].join('\n');
}

function resultOf(request: ShellRequest, code: number, stderr: string): ShellResult {
  if (code === 0) return { kind: 'ok' };
  const stderrTail = stderr.trim().slice(-STDERR_TAIL_CHARS);
  if (code === LATE_CODE) return { kind: 'timed-out', timeoutMs: request.timeoutMs, stderrTail };
  return { kind: 'exited', exit: { code }, stderrTail };
}
