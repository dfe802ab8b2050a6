import { integer, listOf, mapOf, object, type Shape, type ShapeOf, text } from '../../host/shape.ts';

/** The parts of Kubernetes' objects that are read here, checked where they come in; everything else is ignored. */

const ANY_INTEGER = integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);

/** Go programs write an empty field as `null` now and then. */
const nullable =
  <T>(inner: Shape<T>): Shape<T | undefined> =>
  (value, at) =>
    value === undefined || value === null ? undefined : inner(value, at);

const waiting = object({ reason: nullable(text), message: nullable(text) });
const terminated = object({
  exitCode: ANY_INTEGER,
  signal: nullable(ANY_INTEGER),
  reason: nullable(text),
  message: nullable(text),
  finishedAt: nullable(text),
});
const containerStatus = object({
  name: text,
  image: nullable(text),
  state: nullable(
    object({
      waiting: nullable(waiting),
      running: nullable(object({ startedAt: nullable(text) })),
      terminated: nullable(terminated),
    }),
  ),
});
const condition = object({ type: text, status: text, reason: nullable(text), message: nullable(text) });

const metadata = object({
  name: text,
  uid: text,
  resourceVersion: nullable(text),
  creationTimestamp: nullable(text),
  deletionTimestamp: nullable(text),
  labels: nullable(mapOf(text)),
  annotations: nullable(mapOf(text)),
});

const pod = object({
  metadata,
  spec: nullable(
    object({
      nodeName: nullable(text),
      containers: nullable(
        listOf(
          object({
            name: text,
            workingDir: nullable(text),
            env: nullable(listOf(object({ name: text, value: nullable(text) }))),
          }),
        ),
      ),
    }),
  ),
  status: nullable(
    object({
      phase: nullable(text),
      reason: nullable(text),
      message: nullable(text),
      conditions: nullable(listOf(condition)),
      containerStatuses: nullable(listOf(containerStatus)),
      initContainerStatuses: nullable(listOf(containerStatus)),
    }),
  ),
});

const podList = object({
  metadata: nullable(object({ resourceVersion: nullable(text), continue: nullable(text) })),
  items: nullable(listOf(pod)),
});

const status = object({
  status: nullable(text),
  message: nullable(text),
  reason: nullable(text),
  code: nullable(ANY_INTEGER),
});

const watchLine = object({ type: text, object: ((value) => value) as Shape<unknown> });
const bookmark = object({ metadata: object({ resourceVersion: text }) });

const podMetrics = object({
  items: listOf(
    object({
      metadata: object({ name: text }),
      containers: listOf(object({ name: text, usage: object({ cpu: text, memory: text }) })),
    }),
  ),
});

export type Pod = ShapeOf<typeof pod>;
export type PodContainerStatus = ShapeOf<typeof containerStatus>;
export type KubeStatus = ShapeOf<typeof status>;
export type PodMetricsList = ShapeOf<typeof podMetrics>;

/** @throws BadMessageError, all of these, for an answer that no API server gives */
export const parsePod = (value: unknown): Pod => pod(value, 'pod');
export const parsePodList = (value: unknown): ShapeOf<typeof podList> => podList(value, 'pods');
export const parseStatus = (value: unknown): KubeStatus => status(value, 'status');
export const parseWatchLine = (value: unknown): ShapeOf<typeof watchLine> => watchLine(value, 'event');
export const parseBookmark = (value: unknown): string => bookmark(value, 'bookmark').metadata.resourceVersion;
export const parsePodMetrics = (value: unknown): PodMetricsList => podMetrics(value, 'metrics');
