import { GcError } from '../../../platform/errors.ts';

/** Which container of which pod a channel leads to. */
export interface PodContainer {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

export type ChannelErrorCode =
  /** There is no such pod or container, or it does not run. */
  | 'k8s-not-found'
  | 'k8s-forbidden'
  | 'k8s-unauthorized'
  /** The server answered, but not with a channel. */
  | 'k8s-refused'
  /** No connection came about. Nothing was done. */
  | 'k8s-unavailable'
  /** The connection broke, or ended without a status: what was run may have been done or not. */
  | 'k8s-lost'
  | 'k8s-timeout'
  /** The cluster told that the command could not be run. */
  | 'k8s-exec-failed'
  | 'k8s-output-too-large';

export class ChannelError extends GcError {
  declare readonly code: ChannelErrorCode;

  constructor(
    code: ChannelErrorCode,
    target: PodContainer,
    what: string,
    options: { cause?: unknown; next?: string } = {},
  ) {
    super(code, `pod ${target.namespace}/${target.pod}, container ${target.container}: ${what}`, options);
  }
}

/** The answer to a request for a channel that was not "switching protocols". */
export function refusal(
  target: PodContainer,
  verb: 'exec' | 'attach',
  status: number,
  body: string,
): ChannelError {
  const said = messageIn(body) || `HTTP ${status}`;
  const kubectl = `kubectl -n ${target.namespace}`;
  switch (status) {
    case 401:
      return new ChannelError(
        'k8s-unauthorized',
        target,
        `the cluster does not accept our credentials (${said})`,
        {
          next: `${kubectl} get pods shows whether the kubeconfig's login still holds`,
        },
      );
    case 403:
      return new ChannelError('k8s-forbidden', target, `${verb} is not allowed: ${said}`, {
        next: `allow the verbs get and create on pods/${verb}: over WebSocket, get is the one that is asked for`,
      });
    case 404:
      return new ChannelError('k8s-not-found', target, `there is no such pod: ${said}`);
    default:
      return NOT_RUNNING.test(said)
        ? new ChannelError('k8s-not-found', target, said)
        : new ChannelError('k8s-refused', target, `${verb} was refused: ${said} (HTTP ${status})`);
  }
}

/** How the API server and the kubelet tell that the container is not there, not yet or no more. */
const NOT_RUNNING =
  /container (\S+ )?is not valid for pod|container not found|cannot (exec|attach)[^.]*in a (stopped|completed)|does not have a host assigned|container .*is not running|pods? "?[^" ]*"? not found/i;

function messageIn(body: string): string {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value === 'object' && value !== null && 'message' in value) return String(value.message);
  } catch {
    // plain text, as a proxy or an older kubelet sends
  }
  return body.trim().split('\n')[0]?.slice(0, 300) ?? '';
}
