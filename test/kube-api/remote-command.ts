import { Channels, exitStatus, SUCCESS, type Upgrade } from './channels.ts';
import type { Container } from './container.ts';
import type { Node } from './node.ts';
import type { Pod } from './shapes.ts';
import { badRequest, StatusError } from './status-error.ts';

/** The container that a log, exec or attach means. @throws StatusError 400 */
export function chooseContainer(pod: Pod, asked: string | null): string {
  const { containers, initContainers = [] } = pod.spec;
  const names = containers.map((container) => container.name);
  const inits = initContainers.map((container) => container.name);
  const { name } = pod.metadata;
  if (asked !== null && asked !== '') {
    if ([...names, ...inits].includes(asked)) return asked;
    throw badRequest(`container ${asked} is not valid for pod ${name}`);
  }
  const [only, second] = names;
  if (only !== undefined && second === undefined) return only;
  const init = inits.length > 0 ? ` or one of the init containers: [${inits.join(' ')}]` : '';
  throw badRequest(
    `a container name must be specified for pod ${name}, choose one of: [${names.join(' ')}]${init}`,
  );
}

/** The running container behind an exec or attach. @throws StatusError 400, 500 */
export function reachContainer(node: Node, pod: Pod, query: URLSearchParams): Container {
  const name = chooseContainer(pod, query.get('container'));
  if (pod.spec.nodeName === undefined)
    throw badRequest(`pod ${pod.metadata.name} does not have a host assigned`);
  if (node.lost) throw unreachable();
  const container = node.runnerOf(pod).containers.get(name);
  if (!container?.running) {
    const message = `unable to upgrade connection: container not found ("${name}")`;
    throw new StatusError(500, 'InternalError', message);
  }
  return container;
}

export const unreachable = (): StatusError =>
  new StatusError(
    500,
    'InternalError',
    'error dialing backend: dial tcp 127.0.0.1:10250: connect: no route to host',
  );

const flag = (query: URLSearchParams, name: string): boolean => ['1', 'true'].includes(query.get(name) ?? '');

/** @throws StatusError before the upgrade was answered */
export async function serveExec(node: Node, pod: Pod, upgrade: Upgrade): Promise<void> {
  const { query } = upgrade.request;
  const container = reachContainer(node, pod, query);
  const argv = query.getAll('command');
  if (argv.length === 0) throw badRequest('you must specify at least one command for the container');
  const tty = flag(query, 'tty');
  const [stdin, stdout, stderr] = [
    flag(query, 'stdin'),
    flag(query, 'stdout'),
    flag(query, 'stderr') && !tty,
  ];
  if (!stdin && !stdout && !stderr) throw badRequest('you must specify at least 1 of stdin, stdout, stderr');
  const channels = await Channels.open(upgrade);
  channels.stdout(Buffer.alloc(0)); // tells that the connection is there
  const missing = container.missingProgram(argv);
  if (missing !== undefined) {
    channels.end(startFailure(missing));
    return;
  }
  let child: ReturnType<Container['exec']>;
  try {
    child = container.exec(
      argv,
      tty,
      stdin,
      (from, bytes) => {
        if (from === 'stdout' && stdout) channels.stdout(bytes);
        if (from === 'stderr' && stderr) channels.stderr(bytes);
      },
      (code) => channels.end(exitStatus(code)),
    );
  } catch (error) {
    channels.end(startFailure(String(error)));
    return;
  }
  channels.start({
    onStdin: (bytes) => child.write(bytes),
    onStdinEnd: () => child.endInput(),
    onResize: (columns, rows) => child.resize(columns, rows),
    // A program that reads its input sees the end of it; another goes on, as in a real cluster.
    onGone: () => child.endInput(),
  });
}

function startFailure(why: string): object {
  const message = `error executing command in container: failed to exec in container: failed to start exec: ${why}`;
  return {
    metadata: {},
    status: 'Failure',
    message: `Internal error occurred: ${message}`,
    reason: 'InternalError',
    details: { causes: [{ message }] },
    code: 500,
  };
}

/** Sees what is written from now on. @throws StatusError before the upgrade was answered */
export async function serveAttach(node: Node, pod: Pod, upgrade: Upgrade): Promise<void> {
  const { query } = upgrade.request;
  const container = reachContainer(node, pod, query);
  const [stdin, stdout, stderr] = [flag(query, 'stdin'), flag(query, 'stdout'), flag(query, 'stderr')];
  if (!stdin && !stdout && !stderr) throw badRequest('you must specify at least 1 of stdin, stdout, stderr');
  const channels = await Channels.open(upgrade);
  channels.stdout(Buffer.alloc(0));
  const stop = container.onOutput((from, bytes) => {
    if (from === 'stdout' && stdout) channels.stdout(bytes);
    if (from === 'stderr' && stderr) channels.stderr(bytes);
  });
  void container.ended.then(() => {
    stop();
    channels.end(SUCCESS);
  });
  channels.start({
    onStdin: (bytes) => {
      if (stdin) container.write(bytes);
    },
    onStdinEnd: () => {
      if (stdin && !container.spec.tty) container.endInput();
    },
    onResize: (columns, rows) => container.resize(columns, rows),
    onGone: stop,
  });
}
