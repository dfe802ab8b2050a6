import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KubeApi, startKubeApi } from './server.ts';
import { at, call, openWatch, PODS, podManifest } from './testing.ts';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/gc/leases';
const MERGE = { 'content-type': 'application/merge-patch+json' };

describe('objects of the test cluster', () => {
  let api: KubeApi;
  beforeAll(async () => {
    // No pod of these tests finds a node: no process is needed.
    api = await startKubeApi({ historyEvents: 20, bookmarkMs: 30 });
    api.stuckPending(() => true);
  });
  afterAll(() => api.close());
  const create = (name: string, labels: object = { app: 'gc-agent' }) =>
    call(api, 'POST', PODS, podManifest(name, 'exit 0', { metadata: { labels } }));

  it('creates once, and says why not', async () => {
    const made = await create('once');
    expect(made.status).toBe(201);
    expect(at(made.body, 'status', 'phase')).toBe('Pending');
    expect(at(made.body, 'metadata', 'uid')).toMatch(/^[0-9a-f-]{36}$/);
    const again = await create('once');
    expect(again.status).toBe(409);
    expect(again.body).toMatchObject({
      kind: 'Status',
      reason: 'AlreadyExists',
      message: 'pods "once" already exists',
    });
    const elsewhere = await call(api, 'POST', '/api/v1/namespaces/nowhere/pods', podManifest('x', ''));
    expect(elsewhere).toMatchObject({ status: 404, body: { message: 'namespaces "nowhere" not found' } });
    expect((await call(api, 'GET', `${PODS}/missing`)).body).toMatchObject({
      code: 404,
      reason: 'NotFound',
      message: 'pods "missing" not found',
    });
  });

  it.each([
    ['a name with capitals', podManifest('Bad', ''), 'metadata.name'],
    [
      'a label that is no label',
      podManifest('bad', '', { metadata: { labels: { a: 'x/y' } } }),
      'metadata.labels',
    ],
    [
      'a letter that is not ASCII',
      podManifest('bad', '', { metadata: { labels: { a: 'é' } } }),
      'metadata.labels',
    ],
    [
      'a quantity',
      podManifest('bad', '', { container: { resources: { limits: { memory: '4 GB' } } } }),
      'spec.containers[0].resources.limits[memory]',
    ],
    [
      'a request above its limit',
      podManifest('bad', '', {
        container: { resources: { requests: { cpu: '2' }, limits: { cpu: '500m' } } },
      }),
      'spec.containers[0].resources.requests',
    ],
    [
      'a volume that is not there',
      podManifest('bad', '', { spec: { volumes: [] } }),
      'spec.containers[0].volumeMounts[0].name',
    ],
  ])('refuses %s', async (_what, manifest, field) => {
    const refused = await call(api, 'POST', PODS, manifest);
    expect(refused.status).toBe(422);
    expect(at(refused.body, 'reason')).toBe('Invalid');
    expect(at(refused.body, 'details', 'causes', 0, 'field')).toBe(field);
  });

  it('lists by labels and fields, page by page, as it was at the first page', async () => {
    for (const [name, of] of [
      ['l1', 'a'],
      ['l2', 'b'],
      ['l3', 'a'],
    ] as const)
      await create(name, { app: 'list', of });
    const names = async (query: string) => {
      const { body } = await call(api, 'GET', `${PODS}?${query}`);
      const items = at(body, 'items');
      return Array.isArray(items) ? items.map((item) => at(item, 'metadata', 'name')) : body;
    };
    expect(await names('labelSelector=app%3Dlist,of%3Da')).toEqual(['l1', 'l3']);
    expect(await names('labelSelector=app%3Dlist,of%20in%20(a,b),of!%3Db')).toEqual(['l1', 'l3']);
    expect(await names('labelSelector=app%3Dlist,!of')).toEqual([]);
    expect(await names('fieldSelector=metadata.name%3Dl2')).toEqual(['l2']);
    expect(await names('fieldSelector=status.phase%3DRunning')).toEqual([]);
    expect(at((await call(api, 'GET', `${PODS}?fieldSelector=spec.colour%3Dred`)).body, 'code')).toBe(400);
    const first = await call(api, 'GET', `${PODS}?labelSelector=app%3Dlist&limit=2`);
    expect(at(first.body, 'metadata', 'remainingItemCount')).toBe(1);
    await call(api, 'DELETE', `${PODS}/l3`);
    const token = at(first.body, 'metadata', 'continue');
    expect(await names(`labelSelector=app%3Dlist&limit=2&continue=${token}`)).toEqual(['l3']);
    api.compact();
    expect(await names(`limit=2&continue=${token}`)).toMatchObject({ code: 410, reason: 'Expired' });
    expect(at((await call(api, 'GET', `${PODS}?resourceVersion=999999`)).body, 'code')).toBe(504);
  });

  it('patches annotations and labels, refuses an old version and a new spec', async () => {
    const made = await create('patched');
    const version = at(made.body, 'metadata', 'resourceVersion');
    const patch = { metadata: { annotations: { a: '1', b: '2' }, labels: { app: null } } };
    const patched = await call(api, 'PATCH', `${PODS}/patched`, patch, MERGE);
    expect(at(patched.body, 'metadata', 'annotations')).toEqual({ a: '1', b: '2' });
    expect(at(patched.body, 'metadata', 'labels')).toEqual({});
    const strategic = { 'content-type': 'application/strategic-merge-patch+json' };
    const removed = await call(
      api,
      'PATCH',
      `${PODS}/patched`,
      { metadata: { annotations: { a: null } } },
      strategic,
    );
    expect(at(removed.body, 'metadata', 'annotations')).toEqual({ b: '2' });
    const stale = { metadata: { resourceVersion: version, annotations: { a: '3' } } };
    const refused = await call(api, 'PATCH', `${PODS}/patched`, stale, MERGE);
    expect(refused.body).toMatchObject({ code: 409, reason: 'Conflict' });
    const spec = await call(
      api,
      'PATCH',
      `${PODS}/patched`,
      { spec: { restartPolicy: 'Never', containers: [] } },
      MERGE,
    );
    expect(at(spec.body, 'code')).toBe(422);
    const status = await call(api, 'PATCH', `${PODS}/patched`, { status: { phase: 'Running' } }, MERGE);
    expect(at(status.body, 'status', 'phase')).toBe('Pending');
    expect((await call(api, 'PATCH', `${PODS}/patched`, {}, { 'content-type': 'text/plain' })).status).toBe(
      415,
    );
    const replaced = await call(api, 'PUT', `${PODS}/patched`, {
      ...Object(status.body),
      metadata: { name: 'patched', labels: { app: 'new' } },
    });
    expect(at(replaced.body, 'metadata', 'labels')).toEqual({ app: 'new' });
    expect(at(replaced.body, 'metadata', 'annotations')).toBeUndefined();
  });

  it('deletes only the object that was meant', async () => {
    const made = await create('meant');
    const wrong = await call(api, 'DELETE', `${PODS}/meant`, { preconditions: { uid: 'another' } });
    expect(wrong.body).toMatchObject({ code: 409, reason: 'Conflict' });
    const right = await call(api, 'DELETE', `${PODS}/meant`, {
      preconditions: { uid: at(made.body, 'metadata', 'uid') },
    });
    expect(right.status).toBe(200);
    expect(api.pod('meant')).toBeUndefined();
    expect((await call(api, 'DELETE', `${PODS}/meant`)).status).toBe(404);
  });

  it('watches from a version, tells what enters and leaves a selector, and bookmarks', async () => {
    const { body } = await call(api, 'GET', PODS);
    const version = at(body, 'metadata', 'resourceVersion');
    await create('w1', { watch: 'yes' });
    const watch = await openWatch(
      api,
      `${PODS}?watch=1&labelSelector=watch%3Dyes&allowWatchBookmarks=true&resourceVersion=${version}`,
    );
    expect(await watch.next()).toMatchObject({
      type: 'ADDED',
      object: { kind: 'Pod', metadata: { name: 'w1' } },
    });
    await call(api, 'PATCH', `${PODS}/w1`, { metadata: { labels: { watch: 'no' } } }, MERGE);
    expect((await watch.until((event) => event.type !== 'BOOKMARK' && event.type !== 'MODIFIED')).type).toBe(
      'DELETED',
    );
    const bookmark = await watch.until((event) => event.type === 'BOOKMARK');
    expect(Number(at(bookmark.object, 'metadata', 'resourceVersion'))).toBeGreaterThan(Number(version));
    watch.close();
    const all = await openWatch(api, `${PODS}?watch=true&resourceVersion=0&fieldSelector=metadata.name%3Dw1`);
    expect(await all.next()).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'w1' } } });
    all.close();
  });

  it('says 410 in the watch when the version is older than what it keeps', async () => {
    const { body } = await call(api, 'GET', PODS);
    await create('noisy');
    for (let round = 0; round < 25; round += 1) {
      await call(
        api,
        'PATCH',
        `${PODS}/noisy`,
        { metadata: { annotations: { round: String(round) } } },
        MERGE,
      );
    }
    const watch = await openWatch(
      api,
      `${PODS}?watch=1&resourceVersion=${at(body, 'metadata', 'resourceVersion')}`,
    );
    expect(watch.status).toBe(200);
    expect(await watch.next()).toMatchObject({
      type: 'ERROR',
      object: { kind: 'Status', code: 410, reason: 'Expired' },
    });
    expect(await watch.next()).toBeUndefined();
  });

  it('ends a watch after its time, with a bookmark', async () => {
    const now = at((await call(api, 'GET', PODS)).body, 'metadata', 'resourceVersion');
    const watch = await openWatch(
      api,
      `${PODS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=1&resourceVersion=${now}`,
    );
    const seen: string[] = [];
    for (let event = await watch.next(); event; event = await watch.next()) seen.push(event.type);
    expect(seen.at(-1)).toBe('BOOKMARK');
    expect(api.streams.count({ verb: 'watch' })).toBe(0);
  });

  it('keeps leases with optimistic locking', async () => {
    const made = await call(api, 'POST', LEASES, {
      metadata: { name: 'lock' },
      spec: { holderIdentity: 'a' },
    });
    expect(made.status).toBe(201);
    const lease = Object(made.body);
    const taken = await call(api, 'PUT', `${LEASES}/lock`, { ...lease, spec: { holderIdentity: 'b' } });
    expect(at(taken.body, 'spec', 'holderIdentity')).toBe('b');
    expect(
      (await call(api, 'PUT', `${LEASES}/lock`, { ...lease, spec: { holderIdentity: 'c' } })).status,
    ).toBe(409);
    expect(
      (await call(api, 'PATCH', `${LEASES}/lock`, { spec: { holderIdentity: 'd' } }, MERGE)).status,
    ).toBe(200);
    expect(at((await call(api, 'GET', `${LEASES}/lock`)).body, 'spec', 'holderIdentity')).toBe('d');
  });

  it('checks the token, single rights and the quota', async () => {
    expect((await call(api, 'GET', PODS, undefined, { authorization: 'Bearer other' })).body).toMatchObject({
      code: 401,
      reason: 'Unauthorized',
    });
    expect((await call(api, 'GET', '/version', undefined, { authorization: '' })).status).toBe(200);
    const giveBack = api.access.forbid('create', 'pods');
    const denied = await create('denied');
    expect(denied.status).toBe(403);
    expect(at(denied.body, 'message')).toContain(
      'cannot create resource "pods" in API group "" in the namespace "gc"',
    );
    const review = { spec: { resourceAttributes: { verb: 'create', resource: 'pods' } } };
    const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
    expect(at((await call(api, 'POST', path, review)).body, 'status', 'allowed')).toBe(false);
    giveBack();
    expect(at((await call(api, 'POST', path, review)).body, 'status', 'allowed')).toBe(true);
    api.access.limitPods(0);
    expect(at((await create('over')).body, 'message')).toContain('exceeded quota');
    api.access.limitPods(undefined);
    expect(at((await call(api, 'GET', '/api/v1/namespaces/gc')).body, 'status', 'phase')).toBe('Active');
  });
});
