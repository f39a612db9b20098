import { expect, test } from 'vitest';
import type { AppError } from '../../../core/errors.ts';
import type { FromWorker, Piece } from '../messages.ts';
import type { Generation } from './generation.ts';
import { BatchLoop, type LoopOptions } from './loop.ts';
import type { Context, DecodeResult } from './memory/context.ts';
import type { Slot } from './memory/slot.ts';

const capacity = 100;

/** A context that only counts tokens; its results come from a list, and are `ok` once that is empty. */
function fakeContext(results: DecodeResult[] = []) {
  const batches: number[] = [];
  let size = 0;
  let duringDecode: (() => void) | undefined;
  const decode = (): DecodeResult => {
    batches.push(size);
    return results.shift() ?? 'ok';
  };
  const context = {
    batchCapacity: capacity,
    get room() {
      return capacity - size;
    },
    get size() {
      return size;
    },
    clearBatch: () => {
      size = 0;
    },
    decodeNow: decode,
    synchronize: () => undefined,
    decode: async () => {
      duringDecode?.();
      return decode();
    },
    abortDecode: () => results.unshift('aborted'),
  };
  return {
    context: context as unknown as Context,
    batches,
    add: (count: number) => {
      size += count;
    },
    whileDecoding: (action: () => void) => {
      duringDecode = action;
    },
  };
}

interface Script {
  readonly id: number;
  /** Tokens of its prompt. */
  readonly prompt: number;
  /** Tokens of its reply. */
  readonly reply: number;
  readonly advance?: () => void;
  /** Another thread samples for it. */
  readonly onThread?: boolean;
}

function fakeGeneration(
  { id, prompt, reply, advance, onThread = false }: Script,
  slot: Slot,
  add: (count: number) => void,
  ended: () => void,
) {
  let remaining = prompt;
  let inBatch = 0;
  let written = 0;
  const finish = () => {
    generation.finished = true;
    ended();
  };
  const generation = {
    id,
    finished: false,
    aborted: false,
    interrupted: 0,
    interruptFrom: undefined as number | undefined,
    slot,
    get isInterruptible() {
      return remaining > 1 && written === 0;
    },
    get remaining() {
      return remaining;
    },
    get inPrefill() {
      return remaining > 1;
    },
    fill: (room: number) => {
      inBatch = Math.min(room, remaining);
      add(inBatch);
    },
    startSampling: () => onThread,
    advance: (pieces: Piece[]) => {
      advance?.();
      remaining -= inBatch;
      if (remaining > 0) return;
      written += 1;
      remaining = 1;
      pieces.push({ type: 'text-delta', id, text: `${id}` });
      if (written >= reply) finish();
    },
    interrupt: () => {
      generation.interrupted += 1;
      if (generation.aborted) finish();
    },
    fail: (error: AppError, pieces: Piece[]) => {
      pieces.push({ type: 'error', id, error: { code: error.code, details: error.details } });
      finish();
    },
  };
  return generation;
}

function world(results: DecodeResult[] = [], changes: Partial<LoopOptions> = {}) {
  const { context, batches, add, whileDecoding } = fakeContext(results);
  const messages: FromWorker[] = [];
  let ended = 0;
  let expected = 0;
  let allEnded: () => void = () => {};
  const padding: string[] = [];
  const slots = Array.from({ length: 8 }, (_, sequence) => ({
    sequence,
    computed: 0,
    capacity,
    addPadding: () => {
      add(1);
      padding.push(`added ${sequence}`);
    },
    dropPadding: () => padding.push(`dropped ${sequence}`),
  })) as unknown as Slot[];
  const loop = new BatchLoop({
    context,
    slots,
    send: (message) => messages.push(message),
    now: () => 0,
    ...changes,
  });
  const oneEnded = () => {
    ended += 1;
    if (ended === expected) allEnded();
  };
  const begin = (script: Script) => {
    const generation = fakeGeneration(script, slots[script.id] as Slot, add, oneEnded);
    loop.add(generation as unknown as Generation);
    return generation;
  };
  /** Resolves when that many generations have ended and their messages are sent. */
  const over = (count: number) =>
    new Promise<void>((resolve) => {
      expected = count;
      allEnded = () => setImmediate(resolve);
      if (ended >= count) allEnded();
    });
  const pieces = () => messages.flatMap((message) => (message.type === 'step' ? message.pieces : []));
  return { loop, begin, over, batches, pieces, messages, whileDecoding, padding, context };
}

test('BatchLoop: prefills a prompt in batches and decodes a reply token by token', async () => {
  const { begin, over, batches, pieces } = world();
  begin({ id: 1, prompt: 250, reply: 3 });
  await over(1);
  expect(batches).toEqual([100, 100, 50, 1, 1]);
  expect(pieces()).toHaveLength(3);
});

test('BatchLoop: tells how long the tokens of prompts took, not how long a prompt waited for the others', async () => {
  const told: number[] = [];
  const { begin, over } = world([], { prefilled: (tokens) => told.push(tokens) });
  begin({ id: 1, prompt: 40, reply: 3 });
  begin({ id: 2, prompt: 40, reply: 3 });
  await over(2);
  expect(told.reduce((sum, tokens) => sum + tokens, 0)).toBeGreaterThanOrEqual(80);
  expect(told.length).toBeLessThanOrEqual(2);
});

/** A clock that advances by this many milliseconds at each reading. */
function clock(milliseconds: number): () => number {
  let time = 0;
  return () => {
    time += milliseconds;
    return time;
  };
}

test('BatchLoop: with steps of a millisecond or two, sends the text of several steps in one message', async () => {
  const { begin, over, messages } = world([], { now: clock(0.3) });
  begin({ id: 1, prompt: 1, reply: 30 });
  await over(1);
  const sizes = messages.flatMap((message) => (message.type === 'step' ? [message.pieces.length] : []));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(30);
  expect(Math.max(...sizes)).toBeGreaterThan(1);
  expect(Math.max(...sizes)).toBeLessThan(6);
});

test('BatchLoop: if the server shares the cores, text waits longer for the next step, but at most 25 ms', async () => {
  const moments = async (sharesCores: boolean) => {
    const now = clock(1);
    const sent: number[] = [];
    const { begin, over } = world([], { now, sharesCores, send: () => sent.push(now()) });
    begin({ id: 1, prompt: 1, reply: 30 });
    await over(1);
    return sent;
  };
  const [shared, alone] = [await moments(true), await moments(false)];
  expect(shared.length).toBeLessThan(alone.length);
  const waits = shared.slice(1).map((moment, index) => moment - (shared[index] as number));
  expect(Math.max(...waits)).toBeLessThanOrEqual(26);
});

test('BatchLoop: sends the text of replies before a prefill', async () => {
  const { begin, over, messages, whileDecoding } = world([], { now: clock(0.01) });
  const sent: number[] = [];
  whileDecoding(() => sent.push(messages.flatMap((one) => (one.type === 'step' ? one.pieces : [])).length));
  begin({ id: 1, prompt: 1, reply: 2 });
  begin({ id: 2, prompt: 200, reply: 1 });
  await over(2);
  expect(sent[0]).toBe(1);
});

test('BatchLoop: decoding requests share a batch and a message', async () => {
  const { begin, over, batches, messages } = world([], { now: clock(5) });
  begin({ id: 1, prompt: 1, reply: 4 });
  begin({ id: 2, prompt: 1, reply: 4 });
  await over(2);
  expect(batches).toContain(2);
  expect(Math.max(...messages.map((message) => (message.type === 'step' ? message.pieces.length : 0)))).toBe(2);
});

test('BatchLoop: decode continues during the prefill of another request', async () => {
  const { begin, over, pieces } = world();
  begin({ id: 1, prompt: 1, reply: 6 });
  begin({ id: 2, prompt: 300, reply: 1 });
  await over(2);
  const order = pieces().flatMap((piece) => (piece.type === 'text-delta' ? [piece.text] : []));
  expect(order.indexOf('2')).toBeGreaterThan(2);
  expect(order.filter((text) => text === '1')).toHaveLength(6);
});

test('BatchLoop: a short prompt does not wait for a long one', async () => {
  const { begin, over, pieces } = world();
  begin({ id: 1, prompt: 900, reply: 1 });
  begin({ id: 2, prompt: 20, reply: 1 });
  await over(2);
  expect(pieces().flatMap((piece) => (piece.type === 'text-delta' ? [piece.text] : []))).toEqual(['2', '1']);
});

test('BatchLoop: prefills several short prompts in one batch, before the first of them decodes', async () => {
  const { begin, over, batches } = world();
  for (const id of [1, 2, 3]) begin({ id, prompt: 10, reply: 2 });
  await over(3);
  expect(batches).toEqual([30, 3]);
});

test('BatchLoop: after a failed batch of prompts, prefills each alone, and only the failing one is an error', async () => {
  const { begin, over, batches, pieces } = world(['no-room', 'ok', 'failed']);
  for (const id of [1, 2, 3]) begin({ id, prompt: 10, reply: 1 });
  await over(3);
  expect(batches).toEqual([30, 10, 10, 10]);
  expect(pieces().map((piece) => (piece.type === 'text-delta' ? piece.text : piece.type))).toEqual(['1', 'error', '3']);
});

test('BatchLoop: prompts whose batch was aborted by contention are prefilled again in one batch', async () => {
  let isFirst = true;
  const threads = {
    needsWatch: true,
    before: () => {},
    after: () => {},
    watch: (context: Pick<Context, 'decode' | 'abortDecode'>) => {
      if (isFirst) context.abortDecode();
      isFirst = false;
      return context.decode();
    },
  };
  const { begin, over, batches, pieces } = world([], { threads });
  for (const id of [1, 2, 3]) begin({ id, prompt: 10, reply: 1 });
  await over(3);
  expect(batches).toEqual([30, 30]);
  expect(pieces().map((piece) => (piece.type === 'text-delta' ? piece.text : piece.type))).toEqual(['1', '2', '3']);
});

test('BatchLoop: isolated, prefills prompts one by one', async () => {
  const { begin, over, batches } = world([], { isolated: true });
  for (const id of [1, 2]) begin({ id, prompt: 10, reply: 1 });
  await over(2);
  expect(batches).toEqual([10, 10]);
});

test('BatchLoop: pads an idle sequence between two active ones, and removes the token afterwards', async () => {
  const { begin, over, batches, padding } = world();
  for (const id of [1, 3]) begin({ id, prompt: 10, reply: 2 });
  await over(2);
  expect(batches).toEqual([20, 3]);
  expect(padding).toEqual(['added 2', 'dropped 2']);
});

test('BatchLoop.abort: during a batch, ends one request, and the others compute theirs again', async () => {
  const { loop, begin, over, whileDecoding } = world();
  const stopped = begin({ id: 1, prompt: 90, reply: 5 });
  const other = begin({ id: 2, prompt: 5, reply: 2 });
  whileDecoding(() => {
    if (!stopped.aborted) loop.abort(1);
  });
  await over(2);
  expect([stopped.finished, other.finished]).toEqual([true, true]);
  expect(stopped.interrupted).toBe(1);
});

test.each([
  { what: 'ends a prompt before its next batch', minTokens: 50, saved: true, batches: [100, 100] },
  { what: 'no effect if fewer tokens are left', minTokens: 51, saved: true, batches: [100, 100, 50, 1] },
  { what: 'no effect if its state is not kept', minTokens: 50, saved: false, batches: [100, 100, 50, 1] },
])('BatchLoop.interrupt: $what', async ({ minTokens, saved, batches: expected }) => {
  const { loop, begin, over, batches, whileDecoding } = world([], { save: () => saved });
  begin({ id: 1, prompt: 250, reply: 2 });
  whileDecoding(() => {
    if (batches.length === 1) loop.interrupt(1, minTokens);
  });
  await over(1);
  expect(batches).toEqual(expected);
});

test('BatchLoop.interrupt: no effect on a reply', async () => {
  const { loop, begin, over, batches } = world([], { save: () => true });
  begin({ id: 1, prompt: 2, reply: 4, advance: () => loop.interrupt(1, 0) });
  await over(1);
  expect(batches).toEqual([2, 1, 1, 1]);
});

test('BatchLoop.interrupt: gives up a batch that has just begun, and no later one', async () => {
  let time = 0;
  const { loop, begin, over, batches, whileDecoding, context } = world([], { save: () => true, now: () => time });
  Object.assign(context, { memory: 'plain' });
  const aborts: number[] = [];
  Object.assign(context, { abortDecode: () => aborts.push(time) });
  begin({ id: 1, prompt: 350, reply: 1 });
  whileDecoding(() => {
    // A batch takes 100 ms; the second is interrupted after 60, the third after 40.
    time += 60 - 20 * (batches.length - 1);
    if (batches.length > 0) loop.interrupt(1, 1000);
    time += 40 + 20 * (batches.length - 1);
  });
  await over(1);
  expect(aborts).toEqual([240]);
});

test('BatchLoop.abort: no effect for an unknown request', async () => {
  const { loop, begin, over, pieces } = world();
  begin({ id: 1, prompt: 1, reply: 1 });
  loop.abort(7);
  await over(1);
  expect(pieces()).toHaveLength(1);
});

test.each([
  ['no-room', /the context is full/],
  ['failed', /could not compute/],
] as const)('BatchLoop: a batch that ends with %s is an error with its reason', async (result, reason) => {
  const { begin, over, pieces } = world([result]);
  begin({ id: 1, prompt: 1, reply: 5 });
  await over(1);
  expect(pieces()).toMatchObject([
    { type: 'error', error: { code: 'engine-failed', details: { reason: expect.stringMatching(reason) } } },
  ]);
});

test('BatchLoop: an exception fails only the generation that threw it', async () => {
  const { begin, over, pieces } = world();
  begin({
    id: 1,
    prompt: 1,
    reply: 5,
    advance: () => {
      throw new Error('broken');
    },
  });
  begin({ id: 2, prompt: 1, reply: 2 });
  await over(2);
  expect(pieces().filter(({ type }) => type === 'error')).toMatchObject([{ id: 1, error: { code: 'internal' } }]);
  expect(pieces().filter(({ id, type }) => id === 2 && type === 'text-delta')).toHaveLength(2);
});

test('BatchLoop: starts again after an idle time', async () => {
  const { begin, over, pieces } = world();
  begin({ id: 1, prompt: 1, reply: 1 });
  await over(1);
  begin({ id: 2, prompt: 1, reply: 1 });
  await over(2);
  expect(pieces()).toHaveLength(2);
});

test('BatchLoop: a medium is computed separately, then the prompt continues', async () => {
  const { begin, over, batches, pieces } = world();
  const generation = begin({ id: 1, prompt: 30, reply: 1 });
  let computed = 0;
  Object.defineProperty(generation, 'atMedium', { get: () => computed === 0 });
  Object.assign(generation, {
    computeMedium: async () => {
      computed += 1;
      return 'ok';
    },
  });
  await over(1);
  expect([computed, batches.length]).toEqual([1, 1]);
  expect(pieces()).toHaveLength(1);
});

test('BatchLoop: a failing picture fails only its generation', async () => {
  const { begin, over, pieces } = world();
  const generation = begin({ id: 1, prompt: 30, reply: 1 });
  begin({ id: 2, prompt: 1, reply: 2 });
  Object.assign(generation, { atMedium: true, computeMedium: () => Promise.reject(new Error('broken')) });
  await over(2);
  expect(pieces().filter(({ type }) => type === 'error')).toMatchObject([{ id: 1, error: { code: 'engine-failed' } }]);
});

test('BatchLoop: work between steps never overlaps a batch or other such work', async () => {
  const { loop, begin, over, whileDecoding } = world();
  const order: string[] = [];
  let working = 0;
  const work = (name: string) => async () => {
    working += 1;
    expect(working).toBe(1);
    await Promise.resolve();
    working -= 1;
    order.push(name);
    return name;
  };
  whileDecoding(() => expect(working).toBe(0));
  begin({ id: 1, prompt: 90, reply: 3 });
  const results = await Promise.all([loop.between(work('a')), loop.between(work('b'))]);
  await over(1);
  expect([results, order]).toEqual([
    ['a', 'b'],
    ['a', 'b'],
  ]);
  expect(await loop.between(work('alone'))).toBe('alone');
  await expect(loop.between(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
});

test('BatchLoop: requests that start during a batch wait for its end and start together', async () => {
  const { loop, begin, over, whileDecoding } = world();
  const order: string[] = [];
  let decoding = false;
  whileDecoding(() => {
    if (decoding) return;
    decoding = true;
    for (const name of ['a', 'b']) loop.beforeNextBatch(() => order.push(name));
    expect(order).toEqual([]);
  });
  begin({ id: 1, prompt: 180, reply: 1 });
  await over(1);
  expect(order).toEqual(['a', 'b']);
});

test('BatchLoop: a request starts at once if idle', () => {
  const { loop } = world();
  let begun = false;
  loop.beforeNextBatch(() => {
    begun = true;
  });
  expect(begun).toBe(true);
});

test('BatchLoop: isolated, computes each request alone, with one message per step', async () => {
  const { begin, over, batches, messages, padding } = world([], { isolated: true, now: clock(5) });
  for (const id of [1, 3, 4]) begin({ id, prompt: 1, reply: 3 });
  await over(3);
  expect(batches).toEqual(Array(9).fill(1));
  expect(padding).toEqual([]);
  expect(Math.max(...messages.map((message) => (message.type === 'step' ? message.pieces.length : 0)))).toBe(3);
});

test('BatchLoop: a failing generation does not affect other ones', async () => {
  const { begin, over, pieces } = world(['ok', 'failed'], { isolated: true });
  begin({ id: 1, prompt: 1, reply: 2 });
  begin({ id: 2, prompt: 1, reply: 2 });
  await over(2);
  const reported = pieces().map((piece) => (piece.type === 'text-delta' ? piece.text : piece.type));
  expect(reported).toEqual(['1', 'error', '1']);
});

test('BatchLoop: nothing runs between a start and its batch, which applies sequence copies', async () => {
  const { loop, begin, over, batches } = world();
  const order: string[] = [];
  let rest: Promise<void> | undefined;
  await loop.between(async () => {
    loop.beforeNextBatch(() => {
      order.push('begun');
      begin({ id: 1, prompt: 5, reply: 1, advance: () => order.push('computed') });
    });
    rest = loop.between(async () => {
      order.push('between');
    });
  });
  await Promise.all([over(1), rest]);
  expect(order).toEqual(['begun', 'computed', 'between']);
  expect(batches).toEqual([5]);
});

test('BatchLoop: with a GPU, sends the events of a step while the next one is computed', async () => {
  const { begin, over, messages, context } = world([], { onGpu: true });
  const sentBefore: number[] = [];
  context.synchronize = () => {
    sentBefore.push(messages.filter(({ type }) => type === 'step').length);
  };
  begin({ id: 1, prompt: 1, reply: 3 });
  await over(1);
  expect(sentBefore).toEqual([0, 1, 2]);
  expect(messages.filter(({ type }) => type === 'step')).toHaveLength(3);
});

test('BatchLoop: with a GPU, sends the first token of a reply before the next step', async () => {
  const { begin, over, messages, context } = world([], { onGpu: true });
  const sentBefore: number[] = [];
  const compute = context.decodeNow;
  context.decodeNow = () => {
    sentBefore.push(messages.filter(({ type }) => type === 'step').length);
    return compute.call(context);
  };
  begin({ id: 1, prompt: 5, reply: 3 });
  await over(1);
  expect(sentBefore).toEqual([0, 1, 1]);
});

test('BatchLoop: takes the tokens of sampler threads after its own', async () => {
  const order: string[] = [];
  const { begin, over } = world([], { samplers: () => ({ go: () => order.push('go') }) });
  for (const id of [1, 2]) {
    begin({ id, prompt: 1, reply: 1, onThread: id === 1, advance: () => order.push(`advance ${id}`) });
  }
  await over(2);
  expect(order).toEqual(['go', 'advance 2', 'advance 1']);
});

test('BatchLoop: reports the times of its steps once a second', async () => {
  let time = 0;
  const { loop, begin, over, messages } = world([], { now: () => ++time });
  begin({ id: 1, prompt: 1, reply: 2 });
  await over(1);
  await loop.between(async () => undefined);
  const [reported, ...more] = messages.flatMap((message) => (message.type === 'step-times' ? [message.times] : []));
  expect(reported).toMatchObject({ steps: 2, rows: 2, computeMs: 2, sampleMs: 2 });
  expect(reported?.totalMs).toBeGreaterThan(4);
  expect(more).toEqual([]);
});
