import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { type Backend, nextCheckMs } from './backend.ts';
import { RemoteFailure } from './failure.ts';
import { poolOf } from './testing/backend-pool.ts';
import { json, listed, upstream, wellParley, wellVllm } from './testing/upstream.ts';

const nobody: ReadonlySet<Backend> = new Set();
const unwilling = (seconds: number) =>
  new RemoteFailure('unwilling', 'x', 'Draining', { status: 503, retryAfterSeconds: seconds });

describe('BackendPool', () => {
  test('reports kind and model of each backend at the start', async () => {
    const one = await upstream(wellVllm);
    const other = await upstream(wellParley);
    const { pool, lines } = poolOf([one.address(), other.address(',weight=2')]);
    await pool.start();
    expect(pool.models().map(({ name }) => name)).toEqual(['model-8b', 'parley-mini']);
    expect(lines).toEqual(
      expect.arrayContaining([
        `The remote backend at ${one.host} is ready (vLLM): model-8b, context 4096`,
        `The remote backend at ${other.host} is ready (Parley): parley-mini, context 2048, weight 2`,
      ]),
    );
  });

  test('backends with the same model share its requests', async () => {
    const [one, two, other] = [await upstream(wellVllm), await upstream(wellVllm), await upstream(wellParley)];
    const { pool } = poolOf([one, two, other].map((each) => each.address()));
    await pool.start();
    expect(pool.models()).toHaveLength(2);
    expect(pool.serving('model-8b').map(({ address }) => address.host)).toEqual([one.host, two.host]);
    const hosts = Array.from({ length: 4 }, () => pool.assign('model-8b', 'text', nobody)?.backend.address.host);
    expect(new Set(hosts)).toEqual(new Set([one.host, two.host]));
    expect(pool.assign('no-such', 'text', nobody)).toBeUndefined();
  });

  test('sends the key, which is not shown anywhere', async () => {
    const one = await upstream(wellVllm);
    const { pool, lines } = poolOf([one.address(',key=env:A_KEY')], { A_KEY: 'sk-12345' });
    await pool.start();
    expect(one.received[0]?.headers.authorization).toBe('Bearer sk-12345');
    expect(lines.join()).not.toContain('12345');
  });

  test('a configured model is served whether it is listed or not', async () => {
    const one = await upstream(wellVllm);
    const { pool } = poolOf([one.address(',model=org/other')]);
    await pool.start();
    expect(pool.models()).toEqual([{ id: 'org/other', name: 'other', contextSize: undefined, embeds: false }]);
    expect(pool.assign('other', 'x', nobody)?.model.id).toBe('org/other');
    expect(pool.assign('model-8b', 'x', nobody)).toBeUndefined();
  });

  test('a configured model keeps its listed context size', async () => {
    const one = await upstream(wellVllm);
    const { pool } = poolOf([one.address(',model=org/model-8b')]);
    await pool.start();
    expect(pool.models()[0]?.contextSize).toBe(4096);
  });

  test('for embeddings uses the embedding model', async () => {
    const list = json({
      data: [
        { id: 'chat', owned_by: 'vllm' },
        { id: 'bge', owned_by: 'vllm', capabilities: ['embedding'] },
      ],
    });
    const one = await upstream({ ...wellVllm, '/v1/models': list });
    const vectors = poolOf([one.address(',for=embeddings')]).pool;
    const texts = poolOf([one.address()]).pool;
    await Promise.all([vectors.start(), texts.start()]);
    expect(vectors.models().map(({ id }) => id)).toEqual(['bge']);
    expect(texts.models().map(({ id }) => id)).toEqual(['chat']);
  });
});

describe('BackendPool.assign', () => {
  test('counts a request until it is released, once', async () => {
    const one = await upstream(wellVllm);
    const { pool } = poolOf([one.address()]);
    await pool.start();
    const assignment = pool.assign(undefined, 'x', nobody);
    expect(pool.backends[0]?.running).toBe(1);
    assignment?.done();
    assignment?.done();
    expect(pool.backends[0]?.running).toBe(0);
  });

  test('prefers backends below their parallel limit', async () => {
    const [one, two] = [await upstream(wellVllm), await upstream(wellVllm)];
    const { pool } = poolOf([one.address(',parallel=1'), two.address(',parallel=9')]);
    await pool.start();
    expect(pool.capacity(undefined)).toBe(10);
    for (let count = 0; count < 8; count += 1) pool.assign(undefined, 'same', nobody);
    expect(pool.backends[0]?.running).toBeLessThanOrEqual(1);
    expect(pool.backends[1]?.running).toBeGreaterThanOrEqual(7);
  });

  test('never returns a backend that was tried', async () => {
    const one = await upstream(wellVllm);
    const { pool } = poolOf([one.address()]);
    await pool.start();
    expect(pool.assign(undefined, 'x', new Set(pool.backends))).toBeUndefined();
  });
});

describe('BackendPool: health', () => {
  test('a backend that starts later is added', async () => {
    const one = await upstream({ '/v1/models': json({ error: 'loading' }, 503) });
    const { pool, says, tick, clock } = poolOf([one.address()]);
    await pool.start();
    expect(pool.assign(undefined, 'x', nobody)).toBeUndefined();
    expect(pool.trouble(undefined).reason).toContain(`${one.host} takes no requests now: loading`);
    one.become(wellVllm);
    clock.now += 5000;
    tick();
    await says('is ready (vLLM)');
    expect(pool.assign(undefined, 'x', nobody)).toBeDefined();
  });

  test('requests that fail together do not delay the next check', async () => {
    const one = await upstream(wellVllm);
    const { pool, tick } = poolOf([one.address()]);
    await pool.start();
    const [first] = pool.backends;
    for (let request = 0; request < 8; request += 1) {
      first?.failed(new RemoteFailure('unreachable', 'x', 'connection refused', { unconnected: true }));
    }
    expect(tick()).toBe(250);
  });

  test('a backend with a broken response stays open, and is checked once and at once', async () => {
    const one = await upstream(wellVllm);
    const { pool } = poolOf([one.address()]);
    await pool.start();
    const [first] = pool.backends as [Backend];
    for (let request = 0; request < 8; request += 1) {
      first.failed(new RemoteFailure('unreachable', 'x', 'connection closed'));
      expect(first.isOpen()).toBe(true);
    }
    await expect.poll(() => one.asked('/v1/models').length).toBe(2);
    expect(first.isOpen()).toBe(true);
  });

  test('a backend with a broken response is down when the check fails', async () => {
    const one = await upstream(wellVllm);
    const { pool, says } = poolOf([one.address()]);
    await pool.start();
    const [first] = pool.backends as [Backend];
    await one.die();
    first.failed(new RemoteFailure('unreachable', 'x', 'connection closed'));
    await says('connection refused');
    expect(first.state.type).toBe('down');
  });

  test('a backend that is down is checked with exponential back-off', async () => {
    const one = await upstream(wellVllm);
    const address = one.address();
    await one.die();
    const { pool, says, tick } = poolOf([address]);
    await pool.start();
    await says('connection refused');
    expect(pool.backends[0]?.state).toMatchObject({ type: 'down', failures: 0 });
    expect(tick()).toBe(250);
    expect(pool.troubleError(undefined)).toMatchObject({
      code: 'remote-down',
      status: 503,
      message: `The remote backend at ${one.base} is not reachable: connection refused.`,
    });
    expect(Array.from({ length: 9 }, (_, failures) => nextCheckMs(failures))).toEqual([
      250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000,
    ]);
  });

  test('a healthy backend is checked every few seconds by its health path', async () => {
    const [one, plain] = [await upstream(wellVllm), await upstream({ '/v1/models': listed.openai })];
    const { pool, tick } = poolOf([one.address(), plain.address()]);
    await pool.start();
    expect(tick()).toBe(5000);
    tick();
    await expect.poll(() => one.asked('/health').length).toBe(1);
    await expect.poll(() => plain.asked('/v1/models').length).toBe(2);
  });

  test('an overloaded backend gets no requests until Retry-After', async () => {
    const [one, two] = [await upstream(wellVllm), await upstream(wellVllm)];
    const { pool, clock } = poolOf([one.address(), two.address()]);
    await pool.start();
    const [first, second] = pool.backends as [Backend, Backend];
    first.failed(unwilling(20));
    expect(first.state).toMatchObject({ type: 'away', until: 20_000 });
    for (let count = 0; count < 4; count += 1) expect(pool.assign(undefined, `${count}`, nobody)?.backend).toBe(second);
    expect(pool.capacity(undefined)).toBe(64);
    clock.now = 20_001;
    expect(first.isOpen()).toBe(true);
  });

  test('backend: a successful health check ends the time of a Retry-After', async () => {
    const one = await upstream(wellVllm);
    const { pool, tick } = poolOf([one.address()]);
    await pool.start();
    const [first] = pool.backends as [Backend];
    first.failed(unwilling(60));
    expect(first.isOpen()).toBe(false);
    expect(pool.trouble(undefined).retryAfterSeconds).toBe(30);
    tick();
    await expect.poll(() => first.state.type).toBe('up');
    expect(one.asked('/health')).toHaveLength(1);
  });

  test('backend: a health check that began before the rejection does not end it', async () => {
    const held: (() => void)[] = [];
    const one = await upstream(wellVllm);
    const { pool, tick } = poolOf([one.address()]);
    await pool.start();
    const [first] = pool.backends as [Backend];
    one.become({ '/health': (_, response) => void held.push(() => response.end('{}')) });
    tick();
    await expect.poll(() => held.length).toBe(1);
    first.failed(unwilling(60));
    held[0]?.();
    // The next check is planned once this one is over.
    await expect.poll(() => tick()).toBe(5000);
    await expect.poll(() => held.length).toBe(2);
    expect(first.state.type).toBe('away');
    held[1]?.();
    await expect.poll(() => first.state.type).toBe('up');
  });

  test('backend: Retry-After is limited to a minute', async () => {
    const full = json({ error: 'slow down' }, 429, { 'retry-after': '999999999' });
    const one = await upstream({ ...wellVllm, '/v1/completions': full });
    const { pool } = poolOf([one.address()]);
    await pool.start();
    const [first] = pool.backends as [Backend];
    const failure = await first.connection.json('POST', '/v1/completions', {}).catch((error: unknown) => error);
    first.failed(failure as RemoteFailure);
    expect(first.state).toMatchObject({ type: 'away', until: 60_000 });
  });

  test('a stale keep-alive connection does not mark the backend as down', async () => {
    const one = await upstream(wellVllm);
    const { pool } = poolOf([one.address()]);
    await pool.start();
    const [first] = pool.backends as [Backend];
    first.failed(new RemoteFailure('unreachable', 'x', 'connection closed', { stale: true }));
    expect(first.state.type).toBe('up');
    first.failed(new RemoteFailure('refused', 'x', 'too long', { status: 400 }));
    expect(first.state.type).toBe('up');
  });

  test('requests of an unresponsive backend are aborted after some failed checks', async () => {
    const one = await upstream(wellVllm);
    const { pool, tick } = poolOf([one.address()]);
    await pool.start();
    const [first] = pool.backends as [Backend];
    const { cut } = first;
    one.become({ '/health': json({ detail: 'dead' }, 500), '/v1/models': json({ detail: 'dead' }, 500) });
    const given = once(cut, 'abort');
    for (let count = 0; count < 3; count += 1) {
      const before = one.received.length;
      tick();
      await expect.poll(() => one.received.length).toBe(before + 1);
      await expect.poll(() => first.state.type).toBe('down');
    }
    await given;
  });

  test('checks stop when all users have stopped the pool', async () => {
    const one = await upstream(wellVllm);
    const { pool, tick } = poolOf([one.address()]);
    await Promise.all([pool.start(), pool.start()]);
    pool.stop();
    expect(pool.backends[0]?.state.type).toBe('up');
    pool.stop();
    expect(pool.backends[0]?.state.type).toBe('unknown');
    expect(tick()).toBeUndefined();
  });
});
