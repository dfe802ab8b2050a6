import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type KubeApi, startKubeApi } from './server.ts';
import { call, openWatch, PODS, podManifest } from './testing.ts';

describe('faults of the test cluster', () => {
  let api: KubeApi;
  beforeAll(async () => {
    api = await startKubeApi({ bookmarkMs: 20 });
    api.stuckPending(() => true);
  });
  afterAll(() => api.close());
  afterEach(() => {
    api.faults.clear();
    api.requests.clear();
  });
  const list = () => call(api, 'GET', PODS);
  const LIST = { verb: 'list', resource: 'pods' };

  it('hits so many requests as was said, and only those meant', async () => {
    const fault = api.faults.add(LIST, { kind: 'status', code: 429, retryAfterSeconds: 2 }, 1);
    expect((await call(api, 'GET', `${PODS}/none`)).status).toBe(404);
    const hit = await list();
    expect(hit).toMatchObject({ status: 429, body: { reason: 'TooManyRequests' } });
    expect(hit.headers.get('retry-after')).toBe('2');
    expect((await list()).status).toBe(200);
    expect(fault.hits).toBe(1);
    expect(api.requests.counts()).toEqual({ 'get pods': 1, 'list pods': 2 });
    expect(api.requests.all.map((request) => request.status)).toEqual([404, 429, 200]);
  });

  it.each([409, 500, 503])('answers %i', async (code) => {
    api.faults.add(LIST, { kind: 'status', code }, 1);
    expect(await list()).toMatchObject({ status: code, body: { kind: 'Status', code } });
  });

  it('cuts the connection before or after the work', async () => {
    const create = { verb: 'create', resource: 'pods', when: () => true };
    api.faults.add(create, { kind: 'drop' }, 1);
    await expect(call(api, 'POST', PODS, podManifest('lost', ''))).rejects.toThrow();
    expect(api.pod('lost')).toBeUndefined();
    api.faults.add(create, { kind: 'drop', after: true }, 1);
    await expect(call(api, 'POST', PODS, podManifest('lost', ''))).rejects.toThrow();
    expect(api.pod('lost')).toBeDefined();
  });

  it('is late, or never answers', async () => {
    api.faults.add(LIST, { kind: 'delay', ms: 50 }, 1);
    const began = performance.now();
    expect((await list()).status).toBe(200);
    expect(performance.now() - began).toBeGreaterThan(45);
    api.faults.add(LIST, { kind: 'half-open' }, 1);
    const signal = AbortSignal.timeout(60);
    const headers = { authorization: `Bearer ${api.token}` };
    await expect(fetch(`${api.url}${PODS}`, { headers, signal })).rejects.toThrow(/timeout/);
  });

  it('expires, silences and cuts watches', async () => {
    const watched = `${PODS}?watch=1&resourceVersion=0&allowWatchBookmarks=true`;
    api.faults.add({ verb: 'watch' }, { kind: 'gone' }, 1);
    expect(await (await openWatch(api, watched)).next()).toMatchObject({
      type: 'ERROR',
      object: { code: 410 },
    });
    api.faults.add({ verb: 'watch' }, { kind: 'cut', after: 1 }, 1);
    const short = await openWatch(api, watched);
    expect((await short.next())?.type).toBe('ADDED');
    await expect(short.next()).rejects.toThrow();
    const quiet = await openWatch(api, watched);
    expect((await quiet.next())?.type).toBe('ADDED');
    for (const stream of api.streams.matching({ verb: 'watch' })) stream.silence();
    let told = false;
    const more = quiet
      .until((event) => event.type === 'ADDED')
      .then(() => {
        told = true;
      });
    await call(api, 'POST', PODS, podManifest('unheard', ''));
    expect(api.streams.count({ verb: 'watch' })).toBe(1);
    expect(told).toBe(false);
    api.streams.matching({ verb: 'watch' })[0]?.cut();
    await expect(more).rejects.toThrow();
    expect(told).toBe(false);
  });

  it('lets a token run out', async () => {
    api.access.acceptTokens('new');
    expect((await list()).status).toBe(401);
    expect((await call(api, 'GET', PODS, undefined, { authorization: 'Bearer new' })).status).toBe(200);
    api.access.acceptTokens(api.token);
  });

  it('goes down and comes back at the same address, with what it had', async () => {
    await call(api, 'POST', PODS, podManifest('kept', ''));
    const watch = await openWatch(
      api,
      `${PODS}?watch=1&resourceVersion=0&fieldSelector=metadata.name%3Dkept`,
    );
    expect((await watch.next())?.type).toBe('ADDED');
    await api.goDown();
    await expect(watch.until((event) => event.type === 'DELETED')).rejects.toThrow();
    await expect(list()).rejects.toThrow();
    await api.comeUp();
    expect((await call(api, 'GET', `${PODS}/kept`)).status).toBe(200);
  });
});
