import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { abortCause } from '../core/abort.ts';
import { Channel } from '../core/channel.ts';
import type { Call, ClientKey, Reply } from './call.ts';
import { ResumableStreams, type StreamLimits } from './resumable-streams.ts';
import { sseHeaders } from './sse.ts';
import { handTimer } from './testing/world.ts';

const named = (name: string): ClientKey => ({ name, scopes: [], weight: 1 });
const frame = (text: string): string => `data: ${text}\n\n`;
const numbered = (...texts: readonly string[]): string =>
  texts.map((text, index) => `id: ${index + 1}\n${frame(text)}`).join('');
/** Everything that is ready has been passed on. */
const settled = () => new Promise((resolve) => setImmediate(resolve));
const keepMs = 5 * 60_000;

function callOf(own: Partial<Call> = {}): Call {
  const query = new URLSearchParams();
  const common = { id: 'req_1', method: 'POST', path: '/work', query, body: Buffer.alloc(0), remoteAddress: '::1' };
  return { ...common, authorized: true, headers: {}, signal: new AbortController().signal, ...own };
}

/** A store, and how to begin a stream in it whose source the test feeds. */
function store(limits: Partial<StreamLimits> = {}) {
  const time = handTimer();
  const streams = new ResumableStreams({ startTimer: time.startTimer, limits });
  const begin = (own: Partial<Call> = {}, asked = '1') => {
    const client = new AbortController();
    const call = callOf({ headers: { 'x-parley-resumable': asked }, signal: client.signal, ...own });
    const resumable = streams.accept(call);
    const source = new Channel<string>();
    resumable?.signal.addEventListener('abort', () => source.end());
    const settle = () => resumable?.settle({ status: 200, headers: sseHeaders, stream: source })?.reply as Reply;
    return { client, call, resumable, source, settle };
  };
  const takeUp = (after: number, own: Partial<Call> = {}, id = 'req_1') => streams.takeUp(id, { after }, callOf(own));
  return { streams, time, begin, takeUp };
}

function readerOf(reply: Reply): AsyncIterator<string> {
  if (!('stream' in reply)) throw new Error(`no stream but ${reply.body}`);
  return reply.stream[Symbol.asyncIterator]() as AsyncIterator<string>;
}

async function all(reply: Reply): Promise<string> {
  const reader = readerOf(reply);
  let text = '';
  for (;;) {
    const { done, value } = await reader.next();
    if (done) return text;
    text += value;
  }
}

describe('what can be taken up', () => {
  test('a stream has numbers and the header, and is there until five minutes after its end', async () => {
    const { begin, takeUp, time } = store();
    const { source, settle } = begin();
    const reply = settle();
    expect(reply).toMatchObject({ status: 200, headers: { ...sseHeaders, 'x-parley-resumable': '1' } });
    for (const text of ['a', 'b', 'c']) source.push(frame(text));
    source.end();
    expect(await all(reply)).toBe(numbered('a', 'b', 'c'));
    expect(await all(await takeUp(0))).toBe(numbered('a', 'b', 'c'));
    expect(await all(await takeUp(2))).toBe('id: 3\ndata: c\n\n');
    time.pass(keepMs);
    await expect(takeUp(0)).rejects.toMatchObject({ code: 'stream-missing', status: 404 });
  });

  test.each([
    ['asks for nothing', {}],
    ['asks with another word', { headers: { 'x-parley-resumable': 'yes' } }],
    ['has no key where one is needed', { authorized: false }],
  ])('a call that %s has none', (_, own) => {
    expect(store().begin({ headers: {}, ...own }).resumable).toBeUndefined();
  });

  test.each<[string, Reply]>([
    ['a whole reply', { status: 200, headers: { 'content-type': 'application/json' }, body: '{}' }],
    ['sound', { status: 200, headers: { 'content-type': 'audio/wav' }, stream: new Channel<Uint8Array>() }],
    [
      'a stream that was taken up itself',
      { status: 200, headers: { ...sseHeaders, 'x-parley-resumable': '1' }, stream: new Channel<string>() },
    ],
  ])('%s is sent as it is, and follows its client', async (_, reply) => {
    const { begin, takeUp } = store();
    const { resumable, client } = begin();
    expect(resumable?.settle(reply)).toEqual({ reply, taken: false });
    client.abort();
    expect(resumable?.signal.aborted).toBe(true);
    await expect(takeUp(0)).rejects.toMatchObject({ code: 'stream-missing' });
  });

  test('a stream that ends has nothing left: 204, which stops an EventSource', async () => {
    const { begin, takeUp } = store();
    const { source, settle } = begin();
    const reply = settle();
    source.push(frame('a'));
    source.end();
    await all(reply);
    expect(await takeUp(1)).toEqual({ status: 204, body: '' });
  });

  test('a number that the stream has not reached is refused', async () => {
    const { begin, takeUp } = store();
    begin().settle();
    await expect(takeUp(1)).rejects.toMatchObject({ code: 'stream-number', status: 400 });
  });

  test('without following: what is there, and 204 if there is nothing new', async () => {
    const { begin, streams } = store();
    const { source, settle } = begin();
    const reader = readerOf(settle());
    source.push(frame('a'));
    await reader.next();
    const look = (after: number) => streams.takeUp('req_1', { after, follow: false }, callOf());
    expect(await look(0)).toMatchObject({ status: 200, body: numbered('a') });
    expect(await look(1)).toEqual({ status: 204, body: '' });
  });
});

describe('whose it is', () => {
  test.each([
    ['another key', { key: named('phone') }],
    ['the password', {}],
  ])('the stream of a key cannot be read or stopped with %s', async (_, other) => {
    const { begin, takeUp, streams } = store();
    const { resumable, settle } = begin({ key: named('laptop') });
    settle();
    await expect(takeUp(0, other)).rejects.toMatchObject({ code: 'stream-missing' });
    expect(() => streams.cancel('req_1', callOf(other))).toThrow('no stream');
    expect(resumable?.signal.aborted).toBe(false);
    expect(await takeUp(0, { key: named('laptop') })).toMatchObject({ status: 200 });
  });

  test('a name of the client finds its own stream only', async () => {
    const { begin, takeUp } = store();
    const name = 'a-name-of-16-chars';
    begin({ id: 'req_1', key: named('laptop') }, name).settle();
    const other = begin({ id: 'req_2', key: named('phone') }, name);
    const reply = other.settle();
    other.source.push(frame('mine'));
    other.source.end();
    await all(reply);
    expect(await all(await takeUp(0, { key: named('phone') }, name))).toBe(numbered('mine'));
  });
});

describe('a client that is gone', () => {
  test('before the response has begun: the work is aborted', () => {
    const { begin } = store();
    const { client, resumable } = begin();
    client.abort();
    expect(resumable?.signal.aborted).toBe(true);
  });

  test('after that the work goes on and is read to its end', async () => {
    const { begin, takeUp, streams } = store();
    const { client, resumable, source, settle } = begin();
    const reader = readerOf(settle());
    source.push(frame('a'));
    await reader.next();
    await reader.return?.();
    client.abort();
    expect(resumable?.signal.aborted).toBe(false);
    expect(streams.detached).toBe(1);
    for (let count = 0; count < 1000; count++) source.push(frame(`more ${count}`));
    source.end();
    await settled();
    await settled();
    await settled();
    await settled();
    expect(resumable?.running).toBe(false);
    expect(streams.detached).toBe(0);
    expect((await all(await takeUp(1))).match(/^id: /gm)).toHaveLength(1000);
  });

  test('with a client-chosen name: can be resumed before the response begins', async () => {
    const { begin, takeUp } = store();
    const name = 'a-name-of-16-chars';
    const { client, resumable, source, settle } = begin({}, name);
    client.abort();
    expect(resumable?.signal.aborted).toBe(false);
    const taken = takeUp(0, {}, name);
    settle();
    source.push(frame('a'));
    source.end();
    expect(await all(await taken)).toBe(numbered('a'));
  });

  test('a client that waits for a stream gets the error of its request', async () => {
    const { begin, takeUp } = store();
    const name = 'a-name-of-16-chars';
    const { resumable } = begin({}, name);
    const taken = takeUp(0, {}, name);
    const reply = { status: 503, headers: {}, body: 'busy' };
    resumable?.settle(reply);
    expect(await taken).toBe(reply);
    await expect(takeUp(0, {}, name)).rejects.toMatchObject({ code: 'stream-missing' });
  });

  test('back-pressure: the source is not read while no reader asks for more', async () => {
    const { begin } = store();
    const { resumable } = begin();
    let pulled = 0;
    async function* source() {
      for (; pulled < 100; pulled++) yield frame(String(pulled));
    }
    const reply = resumable?.settle({ status: 200, headers: sseHeaders, stream: source() }).reply as Reply;
    const reader = readerOf(reply);
    await reader.next();
    await settled();
    expect(pulled).toBeLessThan(3);
    await reader.return?.();
    await settled();
    expect(pulled).toBe(100);
  });
});

describe('end', () => {
  test('cancel: aborts the work, and its events stay', async () => {
    const { begin, streams, takeUp, time } = store();
    const { resumable, source, settle } = begin();
    const reply = settle();
    source.push(frame('a'));
    streams.cancel('req_1', callOf());
    expect(abortCause(resumable?.signal as AbortSignal)).toBe('cancelled');
    expect(await all(reply)).toBe(numbered('a'));
    expect(await all(await takeUp(0))).toBe(numbered('a'));
    expect(time.waiting()).toEqual([keepMs]);
  });

  test('cancel: work that goes on anyway is cut off', async () => {
    const { begin, streams, time } = store();
    const { resumable } = begin();
    const source = new Channel<string>();
    const reply = resumable?.settle({ status: 200, headers: sseHeaders, stream: source }).reply as Reply;
    const read = all(reply);
    streams.cancel('req_1', callOf());
    time.pass(5000);
    await expect(read).rejects.toThrow('aborted: cancelled');
  });

  test('a source that fails: readers fail after the last event, and get no complete reply', async () => {
    const { begin, takeUp } = store();
    const { resumable } = begin();
    async function* source() {
      yield frame('a');
      throw new Error('broken');
    }
    const reply = resumable?.settle({ status: 200, headers: sseHeaders, stream: source() }).reply as Reply;
    await expect(all(reply)).rejects.toThrow('broken');
    await expect(takeUp(0).then(all)).rejects.toThrow('broken');
    await expect(takeUp(1)).rejects.toMatchObject({ code: 'stream-broken', status: 410 });
  });

  test('endDetached: stops those without a reader, and settles when they have ended', async () => {
    const { begin, streams } = store();
    const one = begin({ id: 'req_1' });
    const other = begin({ id: 'req_2' });
    void readerOf(one.settle()).return?.();
    other.settle();
    expect(streams.detached).toBe(1);
    const ended = streams.endDetached();
    expect(abortCause(one.resumable?.signal as AbortSignal)).toBe('shutdown');
    expect(other.resumable?.signal.aborted).toBe(false);
    await ended;
    expect(streams.detached).toBe(0);
  });

  test('close: aborts everything and leaves no timer', async () => {
    const { begin, streams, time, takeUp } = store();
    const finished = begin({ id: 'req_1' });
    const reply = finished.settle();
    finished.source.end();
    await all(reply);
    const open = begin({ id: 'req_2' }, 'a-name-of-16-chars');
    const running = begin({ id: 'req_3' });
    running.settle();
    streams.close();
    for (const { resumable } of [open, running]) expect(abortCause(resumable?.signal as AbortSignal)).toBe('shutdown');
    expect(time.waiting()).toEqual([]);
    await expect(takeUp(0)).rejects.toMatchObject({ code: 'stream-missing' });
  });

  test('what belongs to the request is removed when its work ends, not when its client is gone', async () => {
    const { begin } = store();
    const { resumable, source } = begin();
    let removed = false;
    const afterwards = async () => {
      removed = true;
    };
    const reply = resumable?.settle({ status: 200, headers: sseHeaders, stream: source }, afterwards).reply as Reply;
    await readerOf(reply).return?.();
    await settled();
    expect(removed).toBe(false);
    source.end();
    await settled();
    expect(removed).toBe(true);
  });
});

describe('limits', () => {
  const long = 'x'.repeat(1000);

  test('of one stream: drops the oldest events, and refuses requests for them', async () => {
    const { begin, takeUp } = store({ streamBytes: 10_000 });
    const { source, settle } = begin();
    void readerOf(settle()).return?.();
    for (let count = 0; count < 50; count++) source.push(frame(long));
    source.end();
    await settled();
    const refusal = await takeUp(0).catch((error) => error);
    expect(refusal).toMatchObject({ code: 'stream-forgotten', status: 410 });
    const first = Number(/before (\d+)/.exec(refusal.message)?.[1]);
    expect(first).toBeGreaterThan(40);
    expect((await all(await takeUp(first - 1))).startsWith(`id: ${first}\n`)).toBe(true);
  });

  test('of one stream: a reader that is too far behind is cut off', async () => {
    const { begin, takeUp } = store({ streamBytes: 10_000 });
    const { source, settle } = begin();
    const fast = readerOf(settle());
    const slow = readerOf(await takeUp(0));
    for (let count = 0; count < 50; count++) {
      source.push(frame(long));
      await fast.next();
    }
    await expect(slow.next()).rejects.toMatchObject({ code: 'stream-forgotten' });
  });

  test('in total: the oldest finished streams are dropped, then events of the longest', async () => {
    const { begin, takeUp } = store({ totalBytes: 10_000 });
    const finish = async (id: string) => {
      const { source, settle } = begin({ id });
      const reply = settle();
      for (let count = 0; count < 4; count++) source.push(frame(long));
      source.end();
      await all(reply);
    };
    await finish('req_1');
    await finish('req_2');
    const running = begin({ id: 'req_3' });
    void readerOf(running.settle()).return?.();
    for (let count = 0; count < 4; count++) running.source.push(frame(long));
    await settled();
    await expect(takeUp(0)).rejects.toMatchObject({ code: 'stream-missing' });
    expect(await takeUp(0, {}, 'req_2')).toMatchObject({ status: 200 });
    for (let count = 0; count < 20; count++) running.source.push(frame(long));
    await settled();
    await expect(takeUp(0, {}, 'req_2')).rejects.toMatchObject({ code: 'stream-missing' });
    await expect(takeUp(0, {}, 'req_3')).rejects.toMatchObject({ code: 'stream-forgotten' });
  });

  test('of their number: a finished one makes room; while all run, another is an ordinary stream', async () => {
    const { begin } = store({ streams: 2 });
    const first = begin({ id: 'req_1' });
    const reply = first.settle();
    begin({ id: 'req_2' }).settle();
    expect(begin({ id: 'req_3' }).resumable).toBeUndefined();
    first.source.end();
    await all(reply);
    expect(begin({ id: 'req_4' }).resumable).toBeDefined();
  });
});

describe('streams of several keys', () => {
  /** Finished streams of a key. */
  async function finish(world: ReturnType<typeof store>, key: string, count: number): Promise<void> {
    for (let index = 0; index < count; index++) {
      const { source, settle } = world.begin({ id: `${key}_${index}`, key: named(key) });
      const reply = settle();
      source.end();
      if (reply) await all(reply);
    }
  }

  test('260 short streams of one key do not push out the finished stream of another', async () => {
    const world = store();
    await finish(world, 'one', 1);
    await finish(world, 'other', 260);
    expect(await world.takeUp(0, { key: named('one') }, 'one_0')).toMatchObject({ status: 204 });
    await expect(world.takeUp(0, { key: named('other') }, 'other_0')).rejects.toMatchObject({ code: 'stream-missing' });
    expect(await world.takeUp(0, { key: named('other') }, 'other_259')).toMatchObject({ status: 204 });
  });

  test('a key whose streams all run: its next one is ordinary, and the finished ones of others stay', async () => {
    const world = store({ streams: 4 });
    await finish(world, 'one', 1);
    for (const id of ['a', 'b', 'c']) world.begin({ id, key: named('other') }).settle();
    expect(world.begin({ id: 'd', key: named('other') }).resumable).toBeUndefined();
    expect(await world.takeUp(0, { key: named('one') }, 'one_0')).toMatchObject({ status: 204 });
  });

  test('beyond the bytes of all, finished streams of the key with the most bytes go first', async () => {
    const world = store({ totalBytes: 3000 });
    const long = async (id: string, key: string): Promise<void> => {
      const { source, settle } = world.begin({ id, key: named(key) });
      const reply = settle();
      source.push(frame('x'.repeat(900)));
      source.end();
      await all(reply);
    };
    await long('mine', 'one');
    for (const id of ['a', 'b', 'c']) await long(id, 'other');
    expect(await world.takeUp(0, { key: named('one') }, 'mine')).toMatchObject({ status: 200 });
    await expect(world.takeUp(0, { key: named('other') }, 'a')).rejects.toMatchObject({ code: 'stream-missing' });
  });
});

test('status comments: each reader gets the present one, then each change once', async () => {
  const { begin, takeUp } = store();
  const { resumable } = begin();
  let now: string | undefined = ': place 2\n\n';
  const comments = {
    milliseconds: 1000,
    next: () => {
      const text = now;
      now = text === undefined ? undefined : '';
      return text;
    },
  };
  const reply = { status: 200, headers: sseHeaders, stream: new Channel<string>(), statusComments: comments };
  const commentsOf = (sent: Reply | undefined) => (sent && 'stream' in sent ? sent.statusComments : undefined);
  const one = commentsOf(resumable?.settle(reply).reply);
  expect([one?.next(), one?.next()]).toEqual([': place 2\n\n', '']);
  const other = commentsOf(await takeUp(0));
  expect([other?.next(), other?.next()]).toEqual([': place 2\n\n', '']);
  now = ': place 1\n\n';
  expect([one?.next(), other?.next(), one?.next()]).toEqual([': place 1\n\n', ': place 1\n\n', '']);
  now = undefined;
  expect([one?.next(), other?.next()]).toEqual([undefined, undefined]);
});

test('whatever the cuts, what was read before and after them is the uncut stream', async () => {
  const pieces = fc.array(fc.array(fc.string(), { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 20 });
  const steps = fc.array(fc.constantFrom('push', 'read', 'cut', 'again'), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(pieces, steps, async (list, actions) => {
      const { begin, takeUp } = store();
      const { source, settle } = begin();
      const data = list.map((texts) => texts.map((text) => frame(JSON.stringify(text))).join(''));
      const left = [...data];
      let reader: AsyncIterator<string> | undefined = readerOf(settle());
      let got = '';
      const after = (): number => Number([...got.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? 0);
      const pushed = (): boolean => {
        const piece = left.shift();
        if (piece !== undefined) source.push(piece);
        return piece !== undefined;
      };
      for (const action of actions) {
        if (action === 'push') pushed();
        else if (action === 'again') reader ??= readerOf(await takeUp(after()));
        else if (action === 'cut') {
          await reader?.return?.();
          reader = undefined;
        } else if (reader) {
          const total = data.length - left.length;
          const expected = data.slice(0, total).join('').split('\n\n').length - 1;
          if (after() < expected) got += (await reader.next()).value;
        }
        await settled();
      }
      while (pushed());
      source.end();
      await settled();
      await reader?.return?.();
      const rest = await takeUp(after());
      if ('stream' in rest) got += await all(rest);
      expect(got.replace(/^id: \d+\n/gm, '')).toBe(data.join(''));
      expect([...got.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))).toEqual(
        Array.from({ length: data.join('').split('\n\n').length - 1 }, (_, index) => index + 1),
      );
    }),
    { numRuns: 60 },
  );
});
