import { describe, expect, test } from 'vitest';
import type { Call, Endpoint, Reply } from '../http/call.ts';
import type { ModelEndpoint } from '../protocols/endpoint.ts';
import { type ModelResolver, routed } from './routed.ts';

interface Named {
  readonly name: string;
}

const call = { method: 'POST', path: '/say', signal: new AbortController().signal } as Call;

function endpoint(handle: ModelEndpoint<Named>['handle'], more: Partial<ModelEndpoint<Named>> = {}) {
  const dialect = { name: 'test', title: 'Test', errorReply: () => ({ status: 500, body: '' }) };
  const common = { method: 'POST', match: 'exact', path: '/say', access: 'open', queued: true, summary: '' } as const;
  return { ...common, dialect, ...more, handle };
}

const saying = (text: string) => () => ({ status: 200, body: text });

/** One model and one endpoint with this handler, and how often the model was released. */
function single(handle: ModelEndpoint<Named>['handle'], more: Partial<ModelEndpoint<Named>> = {}) {
  let left = 0;
  const release = () => {
    left += 1;
  };
  const resolve = async () => ({ context: { name: 'only' }, release });
  const [one] = routed([endpoint(handle, more)], { byName: false, resolve });
  return { ask: async () => (one as Endpoint).handle(call), left: () => left };
}

async function streamOf(reply: Reply) {
  if (!('stream' in reply)) throw new Error('no stream');
  return reply.stream[Symbol.asyncIterator]();
}

describe('routed', () => {
  test('passes the context of the selected model to the handler, on every path', async () => {
    let name = 'a';
    const paths = ['/say', '/sing'].map((path) =>
      endpoint((_, context) => ({ status: 200, body: `${context.name}${path}` }), { path }),
    );
    const resolve = async () => ({ context: { name }, release: () => undefined });
    const endpoints = routed(paths, { byName: false, resolve });
    const answers = async () => Promise.all(endpoints.map(async (one) => (await one.handle(call)) as { body: string }));
    expect((await answers()).map(({ body }) => body)).toEqual(['a/say', 'a/sing']);
    name = 'b';
    expect((await answers()).map(({ body }) => body)).toEqual(['b/say', 'b/sing']);
  });

  test('tells those who follow the call which model it is', async () => {
    const seen: string[] = [];
    const resolve = async () => ({ context: { name: 'mini' }, release: () => undefined });
    const [one] = routed([endpoint(saying(''))], { byName: false, resolve }, ({ name }) => name);
    await one?.handle({ ...call, watch: { modelSelected: (name) => void seen.push(name) } });
    expect(seen).toEqual(['mini']);
  });

  test('keeps the description of the endpoint, and tells the router whether the call is queued', async () => {
    const seen: unknown[] = [];
    const looks = endpoint(saying(''), { queued: false, summary: 'Looks.', modelSelection: 'any-name' });
    const resolve: ModelResolver<Named>['resolve'] = async (...request) => {
      seen.push(...request);
      return { context: { name: '' }, release: () => undefined };
    };
    const [one] = routed([looks], { byName: false, resolve });
    expect(one).toMatchObject({ method: 'POST', path: '/say', rateLimited: false, summary: 'Looks.' });
    await one?.handle(call);
    expect(seen).toEqual([undefined, { queued: false, modelSelection: 'any-name' }, call.signal]);
  });

  test('reads the name of the model as the row says, in the body by default, and only where names select models', async () => {
    const seen: unknown[] = [];
    const resolve: ModelResolver<Named>['resolve'] = async (name) => {
      seen.push(name);
      return { context: { name: '' }, release: () => undefined };
    };
    const rows = [endpoint(saying('')), endpoint(saying(''), { modelNamed: ({ path }) => path })];
    const sent = { ...call, body: Buffer.from('{"model":"mini"}') };
    for (const byName of [true, false]) for (const one of routed(rows, { byName, resolve })) await one.handle(sent);
    expect(seen).toEqual(['mini', '/say', undefined, undefined]);
  });

  test('rejects with the error of the router', async () => {
    const resolve = () => Promise.reject(new Error('nobody'));
    const [one] = routed([endpoint(saying(''))], { byName: false, resolve });
    await expect(one?.handle(call)).rejects.toThrow('nobody');
  });
});

describe('routed: releases the model exactly once', () => {
  test('after a whole reply', async () => {
    const { ask, left } = single(saying('done'));
    expect(await ask()).toMatchObject({ body: 'done' });
    expect(left()).toBe(1);
  });

  test('when the handler throws, synchronously or later', async () => {
    const now = single(() => {
      throw new Error('now');
    });
    await expect(now.ask()).rejects.toThrow('now');
    const later = single(() => Promise.reject(new Error('later')));
    await expect(later.ask()).rejects.toThrow('later');
    expect([now.left(), later.left()]).toEqual([1, 1]);
  });

  test('at the end of a stream, and not again on a further next()', async () => {
    const { ask, left } = single(() => ({ status: 200, stream: pieces('a', 'b') }));
    const iterator = await streamOf(await ask());
    expect(await iterator.next()).toEqual({ done: false, value: 'a' });
    expect(await iterator.next()).toEqual({ done: false, value: 'b' });
    expect(left()).toBe(0);
    expect((await iterator.next()).done).toBe(true);
    expect(left()).toBe(1);
  });

  test('before a stream that is not queued: the work that it follows has its own model', async () => {
    const { ask, left } = single(() => ({ status: 200, stream: pieces('a') }), { queued: false });
    expect(await (await streamOf(await ask())).next()).toEqual({ done: false, value: 'a' });
    expect(left()).toBe(1);
  });

  test('when a stream fails, and passes the error on', async () => {
    const { ask, left } = single(() => ({ status: 200, stream: failing('a') }));
    const iterator = await streamOf(await ask());
    await iterator.next();
    await expect(iterator.next()).rejects.toThrow('broken');
    expect(left()).toBe(1);
  });

  test('when the client disconnects, and returns the source', async () => {
    let closed = false;
    async function* stream() {
      try {
        yield 'a';
        yield 'b';
      } finally {
        closed = true;
      }
    }
    const { ask, left } = single(() => ({ status: 200, stream: stream() }));
    const iterator = await streamOf(await ask());
    await iterator.next();
    expect(await iterator.return?.()).toMatchObject({ done: true });
    expect([closed, left()]).toEqual([true, 1]);
  });

  test('when the client disconnects before the stream starts', async () => {
    const { ask, left } = single(() => ({ status: 200, stream: pieces('a') }));
    await (await streamOf(await ask())).return?.();
    expect(left()).toBe(1);
  });

  test('when the source has no return()', async () => {
    const stream = { [Symbol.asyncIterator]: () => ({ next: async () => ({ done: false as const, value: 'a' }) }) };
    const { ask, left } = single(() => ({ status: 200, stream }));
    expect(await (await streamOf(await ask())).return?.()).toEqual({ done: true, value: undefined });
    expect(left()).toBe(1);
  });
});

test('routed: keeps status, headers and keep-alive of a stream', async () => {
  const keepAlive = { milliseconds: 5, filler: ':\n' };
  const { ask } = single(() => ({ status: 201, headers: { a: 'b' }, keepAlive, stream: pieces() }));
  expect(await ask()).toMatchObject({ status: 201, headers: { a: 'b' }, keepAlive });
});

async function* pieces(...texts: string[]) {
  yield* texts;
}

async function* failing(...texts: string[]) {
  yield* texts;
  throw new Error('broken');
}

describe('routed: failed swap', () => {
  const refusal = new Error('it could not be loaded');

  /** First the model that is swapped in, which then cannot be loaded, and the old one after that. */
  function world(handle: ModelEndpoint<Named>['handle'], signal = new AbortController().signal) {
    const log: string[] = [];
    let givenUp = false;
    const answering = endpoint((asked, context) => (context.name === 'old' ? saying('old')() : handle(asked, context)));
    const resolve = async () => {
      const name = givenUp ? 'old' : 'coming';
      log.push(`into ${name}`);
      return {
        context: { name },
        release: () => void log.push(`out of ${name}`),
        abandoned: () => givenUp && name === 'coming',
      };
    };
    const [one] = routed([answering], { byName: false, resolve });
    return {
      log,
      giveUp: () => {
        givenUp = true;
      },
      ask: async () => (one as Endpoint).handle({ ...call, signal }),
    };
  }

  test.each<[string, () => Reply]>([
    [
      'fail',
      () => {
        throw refusal;
      },
    ],
    ['are refused', () => ({ status: 503, body: 'not loaded' })],
  ])('requests of the new model that %s are repeated on the old one', async (_, fail) => {
    const { ask, giveUp, log } = world(() => {
      giveUp();
      return fail();
    });
    expect(await ask()).toMatchObject({ status: 200, body: 'old' });
    expect(log).toEqual(['into coming', 'out of coming', 'into old', 'out of old']);
  });

  test('a repeated request for information waits for its model', async () => {
    const asked: boolean[] = [];
    const resolve: ModelResolver<Named>['resolve'] = async (_, { queued = false }) => {
      asked.push(queued);
      const name = queued ? 'new' : 'old';
      return { context: { name }, release: () => undefined, abandoned: () => name === 'old' };
    };
    const counting = endpoint(
      (_, { name }) => {
        if (name === 'old') throw refusal;
        return saying(name)();
      },
      { queued: false },
    );
    const [one] = routed([counting], { byName: false, resolve });
    expect(await (one as Endpoint).handle(call)).toMatchObject({ body: 'new' });
    expect(asked).toEqual([false, true]);
  });

  test('a complete reply stays', async () => {
    const { ask, giveUp, log } = world(() => {
      giveUp();
      return { status: 200, body: 'counted without a model' };
    });
    expect(await ask()).toMatchObject({ body: 'counted without a model' });
    expect(log).toEqual(['into coming', 'out of coming']);
  });

  test('an error from before the failure stays', async () => {
    const { ask, log } = world(() => {
      throw refusal;
    });
    await expect(ask()).rejects.toBe(refusal);
    expect(log).toEqual(['into coming', 'out of coming']);
  });

  test('a started stream is not repeated', async () => {
    async function* stream() {
      yield 'loading';
      giveUp();
      yield 'failed';
    }
    const { ask, giveUp, log } = world(() => ({ status: 200, stream: stream() }));
    const pieces: unknown[] = [];
    const iterator = await streamOf(await ask());
    for (let step = await iterator.next(); !step.done; step = await iterator.next()) pieces.push(step.value);
    expect(pieces).toEqual(['loading', 'failed']);
    expect(log).toEqual(['into coming', 'out of coming']);
  });

  test('nothing is repeated for a disconnected client', async () => {
    const gone = new AbortController();
    const { ask, giveUp, log } = world(() => {
      giveUp();
      gone.abort();
      throw refusal;
    }, gone.signal);
    await expect(ask()).rejects.toBe(refusal);
    expect(log).toEqual(['into coming', 'out of coming']);
  });
});
