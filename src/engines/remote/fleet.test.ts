import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { RemoteFailure } from './failure.ts';
import { nextCheckMs, type Replica } from './replica.ts';
import { fleetOf } from './testing/fleet.ts';
import { json, listed, upstream, wellParley, wellVllm } from './testing/upstream.ts';

const nobody: ReadonlySet<Replica> = new Set();
const unwilling = (seconds: number) =>
  new RemoteFailure('unwilling', 'x', 'Draining', { status: 503, retryAfterSeconds: seconds });

describe('engines elsewhere', () => {
  test('say who they are at the start, and what they have', async () => {
    const one = await upstream(wellVllm);
    const other = await upstream(wellParley);
    const { fleet, lines } = fleetOf([one.address(), other.address(',weight=2')]);
    await fleet.start();
    expect(fleet.models().map(({ name }) => name)).toEqual(['model-8b', 'parley-mini']);
    expect(lines).toEqual(
      expect.arrayContaining([
        `The remote backend at ${one.host} is ready (vLLM): model-8b, context 4096`,
        `The remote backend at ${other.host} is ready (Parley): parley-mini, context 2048, weight 2`,
      ]),
    );
  });

  test('with the same model share its work, and others have none of it', async () => {
    const [one, two, other] = [await upstream(wellVllm), await upstream(wellVllm), await upstream(wellParley)];
    const { fleet } = fleetOf([one, two, other].map((each) => each.address()));
    await fleet.start();
    expect(fleet.models()).toHaveLength(2);
    expect(fleet.serving('model-8b').map(({ address }) => address.host)).toEqual([one.host, two.host]);
    const hosts = Array.from({ length: 4 }, () => fleet.assign('model-8b', 'text', nobody)?.replica.address.host);
    expect(new Set(hosts)).toEqual(new Set([one.host, two.host]));
    expect(fleet.assign('no-such', 'text', nobody)).toBeUndefined();
  });

  test('are asked with their key, which nobody else sees', async () => {
    const one = await upstream(wellVllm);
    const { fleet, lines } = fleetOf([one.address(',key=env:A_KEY')], { A_KEY: 'sk-12345' });
    await fleet.start();
    expect(one.received[0]?.headers.authorization).toBe('Bearer sk-12345');
    expect(lines.join()).not.toContain('12345');
  });

  test('serve the model that the command line names, whether they list it or not', async () => {
    const one = await upstream(wellVllm);
    const { fleet } = fleetOf([one.address(',model=org/other')]);
    await fleet.start();
    expect(fleet.models()).toEqual([{ id: 'org/other', name: 'other', contextSize: undefined, embeds: false }]);
    expect(fleet.assign('other', 'x', nobody)?.model.id).toBe('org/other');
    expect(fleet.assign('model-8b', 'x', nobody)).toBeUndefined();
  });

  test('of a named model keep the context that they list for it', async () => {
    const one = await upstream(wellVllm);
    const { fleet } = fleetOf([one.address(',model=org/model-8b')]);
    await fleet.start();
    expect(fleet.models()[0]?.contextSize).toBe(4096);
  });

  test('for vectors offer the model that makes them', async () => {
    const list = json({
      data: [
        { id: 'chat', owned_by: 'vllm' },
        { id: 'bge', owned_by: 'vllm', capabilities: ['embedding'] },
      ],
    });
    const one = await upstream({ ...wellVllm, '/v1/models': list });
    const vectors = fleetOf([one.address(',for=embeddings')]).fleet;
    const texts = fleetOf([one.address()]).fleet;
    await Promise.all([vectors.start(), texts.start()]);
    expect(vectors.models().map(({ id }) => id)).toEqual(['bge']);
    expect(texts.models().map(({ id }) => id)).toEqual(['chat']);
  });
});

describe('work', () => {
  test('is counted until it is given back, once', async () => {
    const one = await upstream(wellVllm);
    const { fleet } = fleetOf([one.address()]);
    await fleet.start();
    const assignment = fleet.assign(undefined, 'x', nobody);
    expect(fleet.replicas[0]?.running).toBe(1);
    assignment?.done();
    assignment?.done();
    expect(fleet.replicas[0]?.running).toBe(0);
  });

  test('goes past those that have all they can take at once, as long as another has not', async () => {
    const [one, two] = [await upstream(wellVllm), await upstream(wellVllm)];
    const { fleet } = fleetOf([one.address(',parallel=1'), two.address(',parallel=9')]);
    await fleet.start();
    expect(fleet.capacity(undefined)).toBe(10);
    for (let count = 0; count < 8; count += 1) fleet.assign(undefined, 'same', nobody);
    expect(fleet.replicas[0]?.running).toBeLessThanOrEqual(1);
    expect(fleet.replicas[1]?.running).toBeGreaterThanOrEqual(7);
  });

  test('is never given to one that was tried', async () => {
    const one = await upstream(wellVllm);
    const { fleet } = fleetOf([one.address()]);
    await fleet.start();
    expect(fleet.assign(undefined, 'x', new Set(fleet.replicas))).toBeUndefined();
  });
});

describe('the health of an engine', () => {
  test('one that is not there at the start joins when it comes', async () => {
    const one = await upstream({ '/v1/models': json({ error: 'loading' }, 503) });
    const { fleet, says, tick, clock } = fleetOf([one.address()]);
    await fleet.start();
    expect(fleet.assign(undefined, 'x', nobody)).toBeUndefined();
    expect(fleet.trouble(undefined).reason).toContain(`${one.host} takes no requests now: loading`);
    one.become(wellVllm);
    clock.now += 5000;
    tick();
    await says('is ready (vLLM)');
    expect(fleet.assign(undefined, 'x', nobody)).toBeDefined();
  });

  test('one that refuses connections is looked for again, at first soon and then less often', async () => {
    const one = await upstream(wellVllm);
    const address = one.address();
    await one.die();
    const { fleet, says, tick } = fleetOf([address]);
    await fleet.start();
    await says('connection refused');
    expect(fleet.replicas[0]?.state).toMatchObject({ type: 'down', failures: 0 });
    expect(tick()).toBe(250);
    expect(fleet.troubleError(undefined)).toMatchObject({
      code: 'remote-down',
      status: 503,
      message: `The remote backend at ${one.base} is not reachable: connection refused.`,
    });
    expect(Array.from({ length: 9 }, (_, failures) => nextCheckMs(failures))).toEqual([
      250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000,
    ]);
  });

  test('one that is well is looked at each few seconds, by the cheapest path that it has', async () => {
    const [one, plain] = [await upstream(wellVllm), await upstream({ '/v1/models': listed.openai })];
    const { fleet, tick } = fleetOf([one.address(), plain.address()]);
    await fleet.start();
    expect(tick()).toBe(5000);
    tick();
    await expect.poll(() => one.asked('/health').length).toBe(1);
    await expect.poll(() => plain.asked('/v1/models').length).toBe(2);
  });

  test('one that is draining gets no new work until its time is over', async () => {
    const [one, two] = [await upstream(wellVllm), await upstream(wellVllm)];
    const { fleet, clock } = fleetOf([one.address(), two.address()]);
    await fleet.start();
    const [first, second] = fleet.replicas as [Replica, Replica];
    first.failed(unwilling(20));
    expect(first.state).toMatchObject({ type: 'away', until: 20_000 });
    for (let count = 0; count < 4; count += 1)
      expect(fleet.assign(undefined, `${count}`, nobody)?.replica).toBe(second);
    expect(fleet.capacity(undefined)).toBe(64);
    clock.now = 20_001;
    expect(first.isOpen()).toBe(true);
  });

  test('replica: a good health check ends the time that a Retry-After asked for', async () => {
    const one = await upstream(wellVllm);
    const { fleet, tick } = fleetOf([one.address()]);
    await fleet.start();
    const [first] = fleet.replicas as [Replica];
    first.failed(unwilling(60));
    expect(first.isOpen()).toBe(false);
    expect(fleet.trouble(undefined).retryAfterSeconds).toBe(30);
    tick();
    await expect.poll(() => first.state.type).toBe('up');
    expect(one.asked('/health')).toHaveLength(1);
  });

  test('replica: a health check that began before the refusal does not end it', async () => {
    const held: (() => void)[] = [];
    const one = await upstream(wellVllm);
    const { fleet, tick } = fleetOf([one.address()]);
    await fleet.start();
    const [first] = fleet.replicas as [Replica];
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

  test('replica: a Retry-After of days keeps it away for a minute at most', async () => {
    const full = json({ error: 'slow down' }, 429, { 'retry-after': '999999999' });
    const one = await upstream({ ...wellVllm, '/v1/completions': full });
    const { fleet } = fleetOf([one.address()]);
    await fleet.start();
    const [first] = fleet.replicas as [Replica];
    const failure = await first.connection.json('POST', '/v1/completions', {}).catch((error: unknown) => error);
    first.failed(failure as RemoteFailure);
    expect(first.state).toMatchObject({ type: 'away', until: 60_000 });
  });

  test('a connection that was closed while it lay idle says nothing of it', async () => {
    const one = await upstream(wellVllm);
    const { fleet } = fleetOf([one.address()]);
    await fleet.start();
    const [first] = fleet.replicas as [Replica];
    first.failed(new RemoteFailure('unreachable', 'x', 'connection closed', { stale: true }));
    expect(first.state.type).toBe('up');
    first.failed(new RemoteFailure('refused', 'x', 'too long', { status: 400 }));
    expect(first.state.type).toBe('up');
  });

  test('what runs on one that stays silent is given up after a while', async () => {
    const one = await upstream(wellVllm);
    const { fleet, tick } = fleetOf([one.address()]);
    await fleet.start();
    const [first] = fleet.replicas as [Replica];
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

  test('nothing is looked at any more once all who need it have stopped it', async () => {
    const one = await upstream(wellVllm);
    const { fleet, tick } = fleetOf([one.address()]);
    await Promise.all([fleet.start(), fleet.start()]);
    fleet.stop();
    expect(fleet.replicas[0]?.state.type).toBe('up');
    fleet.stop();
    expect(fleet.replicas[0]?.state.type).toBe('unknown');
    expect(tick()).toBeUndefined();
  });
});
