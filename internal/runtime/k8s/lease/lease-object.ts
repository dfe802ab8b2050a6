import { integer, mapOf, object, optional, type ShapeOf, text } from '../../host/shape.ts';

/** Source: Kubernetes `coordination.k8s.io/v1` Lease; times have microseconds. */
const spec = object({
  holderIdentity: optional(text),
  leaseDurationSeconds: optional(integer(0, 2_147_483_647)),
  acquireTime: optional(text),
  renewTime: optional(text),
  leaseTransitions: optional(integer(0, 2_147_483_647)),
});
const lease = object({
  metadata: object({
    name: text,
    resourceVersion: text,
    labels: optional(mapOf(text)),
    annotations: optional(mapOf(text)),
  }),
  spec: optional(spec),
});

export type Lease = ShapeOf<typeof lease>;
export type LeaseSpec = ShapeOf<typeof spec>;

/** @throws BadMessageError */
export const parseLease = (value: unknown): Lease => lease(withoutNulls(value), 'lease');

export const microTime = (epochMs: number): string => new Date(epochMs).toISOString().replace('Z', '000Z');

/** Go programs write an empty field as `null` now and then. */
const withoutNulls = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_key, each: unknown) => (each === null ? undefined : each)));
