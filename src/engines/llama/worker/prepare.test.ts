import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import type { Grammar, Medium } from '../../../core/request.ts';
import { plainRequest } from '../../../core/testing/plain-request.ts';
import type { Piece } from '../messages.ts';
import type { Projector } from './media/projector.ts';
import type { Slot } from './memory/slot.ts';
import { uncachedTokens, withFamilyPrefix } from './prepare.ts';
import { chunk, readImage } from './testing/media.ts';
import { evenly, nextLetter, workerWorld } from './testing/worker-world.ts';

const types = (pieces: readonly Piece[]) => pieces.map(({ type }) => type).filter((type) => type !== 'prompt-progress');
const picture: Medium = { kind: 'image', base64: 'AAAA' };
const brokenGrammar = { grammar: { gbnf: 'root ::= (', retainState: false } };

/** A projector that reads a picture when the test resolves it. */
function slowProjector() {
  let go: () => void = () => undefined;
  let read = 0;
  const projector = {
    inputs: { image: true, audio: false },
    read: async () => {
      read++;
      await new Promise<void>((resolve) => {
        go = resolve;
      });
      return readImage(chunk(-1, 2));
    },
  } as unknown as Projector;
  return { projector, finish: () => go(), count: () => read };
}

describe('uncachedTokens', () => {
  const ask = (prompt: string, changes = {}) => plainRequest(prompt, 4, changes);
  test('all of a new prompt, and what a slot or a snapshot lacks of another', async () => {
    const sequences = () => [Int32Array.from('xyzxyz', (letter) => letter.charCodeAt(0))];
    const { worker, begin, settled } = workerWorld({ snapshots: { sequences, restoreFor: async () => {} } });
    expect(await uncachedTokens(worker, ask('abcab'))).toBe(5);
    await begin(1, 'abcab');
    await settled();
    expect(await uncachedTokens(worker, ask('abcabxx'))).toBe(2);
    expect(await uncachedTokens(worker, ask('xyzxx'))).toBe(1);
  });
  test('all of a prompt that must not use the cache', async () => {
    const { worker, begin, settled } = workerWorld();
    await begin(1, 'abcab');
    await settled();
    expect(await uncachedTokens(worker, ask('abcab', { freshPrompt: true }))).toBe(5);
  });
});

test('interrupted prompt: begun again after another request, it continues where it was and writes the same', async () => {
  const snapshots = {
    restoreFor: async () => {},
    beforeOverwrite: () => {},
    computed: () => {},
    ended: async () => {},
  };
  const options = { contextSize: 1024, sequences: 2, logits: evenly };
  const world = workerWorld({ ...options, snapshots: { ...snapshots, save: () => true } });
  const prompt = 'abcdefghijkl'.repeat(50);
  await world.begin(1, prompt);
  // Batches have 256 tokens: it stops after the first.
  await vi.waitFor(() => expect(types(world.pieces(1))).toEqual(['start']));
  world.loop.interrupt(1, 100);
  await world.settled();
  expect(world.pieces(1).at(-1)).toMatchObject({ type: 'finish', reason: 'aborted', usage: { completionTokens: 0 } });
  await world.begin(2, 'xyz');
  await world.settled();
  await world.begin(3, prompt);
  await world.settled();
  const computed = world.pieces(1).at(-1) as Piece & { type: 'finish' };
  expect(world.pieces(3)[0]).toMatchObject({ cachedTokens: computed.timings.processedTokens });
  const undisturbed = workerWorld(options);
  await undisturbed.begin(3, prompt);
  await undisturbed.settled();
  expect(world.text(3)).toBe(undisturbed.text(3));
});

describe('request', () => {
  test('sends one start, then its text', async () => {
    const world = workerWorld();
    await world.begin(7, 'abc');
    await world.settled();
    expect(types(world.pieces(7))).toEqual(['start', 'text-delta', 'text-delta', 'text-delta', 'text-delta', 'finish']);
    expect(world.pieces(7)[0]).toMatchObject({ promptTokens: 3, cachedTokens: 0, maxTokens: 4, droppedTokens: 0 });
    expect(world.text(7)).toBe('defg');
    expect([world.reading.size, world.slots[0]?.busy]).toEqual([0, false]);
  });

  test('an empty prompt has one token', async () => {
    const world = workerWorld();
    await world.begin(1, '');
    await world.settled();
    expect(world.pieces(1)[0]).toMatchObject({ type: 'start', promptTokens: 1 });
    expect(types(world.pieces(1)).at(-1)).toBe('finish');
  });

  test('BOS token first, and memory before the prompt', async () => {
    const world = workerWorld({ addsBos: true });
    await world.begin(1, 'xyz', { memory: 'ab' });
    await world.settled();
    expect(world.pieces(1)[0]).toMatchObject({ promptTokens: 6 });
    expect(Array.from(world.slots[0]?.tokens.subarray(0, 6) ?? [])).toEqual([1, 97, 98, 120, 121, 122]);
  });

  test('equal text for equal seeds, different text for different seeds', async () => {
    const written = async (seed: number) => {
      const world = workerWorld({ logits: evenly, reusePrompt: false });
      await world.begin(1, 'abc', { maxTokens: 30 }, seed);
      await world.settled();
      return world.text(1);
    };
    expect(await written(5)).toHaveLength(30);
    expect(await written(5)).toBe(await written(5));
    expect(await written(5)).not.toBe(await written(6));
  });

  test('several share the loop, each with its own text', async () => {
    const world = workerWorld({ sequences: 3 });
    await Promise.all([world.begin(1, 'abc'), world.begin(2, 'klm'), world.begin(3, 'pqr')]);
    await world.settled();
    expect([1, 2, 3].map((id) => world.text(id))).toEqual(['defg', 'nopq', 'stuv']);
  });
});

describe('prompt that is too long', () => {
  const long = 'abcdefgh'.repeat(10);

  test('overflow refuse: fails without touching a slot', async () => {
    const world = workerWorld({ contextSize: 32 });
    await world.begin(1, long);
    await world.settled();
    expect(world.pieces(1)).toEqual([
      { type: 'error', id: 1, error: { code: 'context-overflow', details: { promptTokens: 80, contextSize: 32 } } },
    ]);
    expect([world.slots[0]?.busy, world.slots[0]?.computed, world.reading.size]).toEqual([false, 0, 0]);
  });

  test('overflow trim: drops its beginning, with a warning', async () => {
    const world = workerWorld({ contextSize: 32 });
    await world.begin(1, long, { overflow: 'trim' });
    await world.settled();
    const [start, warning] = world.pieces(1);
    expect(start).toMatchObject({ type: 'start', promptTokens: 28, droppedTokens: 52 });
    expect(warning).toMatchObject({ type: 'warning', code: 'prompt-trimmed' });
    expect(types(world.pieces(1)).at(-1)).toBe('finish');
  });

  test('can use less of the context, but never more', async () => {
    const world = workerWorld({ contextSize: 64 });
    await world.begin(1, 'a'.repeat(40), { maxContext: 32 });
    await world.begin(2, 'a'.repeat(70), { maxContext: 1000 });
    await world.settled();
    expect(world.pieces(1)).toMatchObject([{ error: { code: 'context-overflow', details: { contextSize: 32 } } }]);
    expect(world.pieces(2)).toMatchObject([{ error: { code: 'context-overflow', details: { contextSize: 64 } } }]);
  });

  test('gets a shorter reply if that fits', async () => {
    const world = workerWorld({ contextSize: 32 });
    await world.begin(1, 'a'.repeat(30), { maxTokens: 20 });
    await world.settled();
    expect(world.pieces(1)[0]).toMatchObject({ type: 'start', maxTokens: 2 });
  });
});

describe('rejected request', () => {
  test('invalid grammar: one error, and the slot is free', async () => {
    const world = workerWorld();
    await world.begin(1, 'abc', brokenGrammar);
    await world.settled();
    expect(world.pieces(1)).toMatchObject([{ type: 'error', error: { code: 'invalid-field' } }]);
    expect([world.slots[0]?.busy, world.reading.size]).toEqual([false, 0]);
    await world.begin(2, 'abc');
    await world.settled();
    expect(world.text(2)).toBe('defg');
  });

  test('all sequences active: does not affect them', async () => {
    const world = workerWorld({ sequences: 1 });
    await Promise.all([world.begin(1, 'abc'), world.begin(2, 'klm')]);
    await world.settled();
    expect(world.text(1)).toBe('defg');
    expect(world.pieces(2)).toMatchObject([{ type: 'error', error: { code: 'engine-failed' } }]);
    expect(world.slots[0]?.busy).toBe(false);
  });

  test('image without a projector: the error names what is missing', async () => {
    const world = workerWorld();
    await world.begin(1, 'abc', { media: [picture] });
    await world.settled();
    expect(world.pieces(1)).toMatchObject([
      { type: 'error', error: { code: 'unsupported', details: { feature: 'Image input' } } },
    ]);
    expect([world.slots[0]?.busy, world.reading.size]).toEqual([false, 0]);
  });

  test('unsupported kind of medium: is not read', async () => {
    const { projector, count } = slowProjector();
    const world = workerWorld({ projector });
    await world.begin(1, 'abc', { media: [{ kind: 'audio', base64: 'AAAA' }] });
    await world.settled();
    expect(world.pieces(1)).toMatchObject([{ type: 'error', error: { code: 'unsupported' } }]);
    expect(count()).toBe(0);
  });

  test('unreadable medium: the error contains the reason', async () => {
    const projector = {
      inputs: { image: true, audio: false },
      read: () => Promise.reject(new Error('not a picture')),
    } as unknown as Projector;
    const world = workerWorld({ projector });
    await world.begin(1, 'abc', { media: [picture] });
    await world.settled();
    expect(world.pieces(1)).toMatchObject([
      { type: 'error', error: { code: 'internal', details: { reason: 'not a picture' } } },
    ]);
  });
});

describe('abort', () => {
  const stopped = [
    { type: 'start', promptTokens: 0 },
    { type: 'finish', cause: 'aborted', usage: { completionTokens: 0 } },
  ];

  test('during the prefill ends the request at once, without a start', async () => {
    const world = workerWorld();
    world.hold();
    const begun = world.begin(1, 'abc');
    await world.settled();
    expect(world.reading.size).toBe(1);
    world.abort(1);
    expect(world.pieces(1)).toMatchObject(stopped);
    world.letGo();
    await begun;
    await world.settled();
    expect(world.pieces(1)).toHaveLength(2);
    expect([world.slots[0]?.busy, world.slots[0]?.computed]).toEqual([false, 0]);
  });

  test('does not wait for a picture that is being read', async () => {
    const { projector, finish } = slowProjector();
    const world = workerWorld({ projector });
    const begun = world.begin(1, 'abc', { media: [picture, picture] });
    await world.settled();
    world.abort(1);
    expect(world.pieces(1)).toMatchObject(stopped);
    finish();
    await begun;
    await world.settled();
    expect([world.pieces(1).length, world.slots[0]?.busy]).toEqual([2, false]);
  });

  test('of a request that fails while it is read: sends the abort, not the failure', async () => {
    const world = workerWorld({ contextSize: 32 });
    world.hold();
    const begun = world.begin(1, 'a'.repeat(100));
    await world.settled();
    world.abort(1);
    world.letGo();
    await begun;
    await world.settled();
    expect(world.pieces(1)).toMatchObject(stopped);
  });

  test('between preparation and start ends the request', async () => {
    const world = workerWorld();
    let free: () => void = () => undefined;
    void world.loop.between(
      () =>
        new Promise<void>((resolve) => {
          free = resolve;
        }),
    );
    await world.begin(1, 'abc');
    world.abort(1);
    free();
    await world.settled();
    expect(world.pieces(1)).toMatchObject(stopped);
    expect(world.slots[0]?.busy).toBe(false);
  });

  test('of a running request ends it with its text so far', async () => {
    const world = workerWorld({ contextSize: 4096 });
    await world.begin(1, 'a', { maxTokens: 4000, endTokens: 'ignore' });
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    world.abort(1);
    await world.settled();
    expect(types(world.pieces(1))[0]).toBe('start');
    expect(world.pieces(1).at(-1)).toMatchObject({ type: 'finish', cause: 'aborted' });
    expect(world.slots[0]?.busy).toBe(false);
  });

  test('of an unknown or finished request: no effect', async () => {
    const world = workerWorld();
    world.abort(9);
    await world.begin(1, 'abc');
    await world.settled();
    world.abort(1);
    await world.settled();
    expect(types(world.pieces(1)).filter((type) => type === 'finish')).toHaveLength(1);
  });
});

test.each<[string, Grammar]>([
  ['a grammar that is complete', { gbnf: 'root ::= "bcd"', retainState: false }],
  [
    'a call, although another may follow',
    {
      gbnf: 'root ::= "cd" ("e" "cd")*',
      retainState: false,
      triggers: [{ type: 'word', text: 'c' }],
    },
  ],
])('a ban of end tokens does not go beyond %s', async (_, grammar) => {
  // Behind a d the end is likelier than an e.
  const world = workerWorld({
    logits: (token) => {
      const logits = nextLetter(token);
      if (token === 'd'.charCodeAt(0)) logits[0] = 60;
      return logits;
    },
  });
  await world.begin(1, 'a', { maxTokens: 40, endTokens: 'ban', grammar });
  await world.settled();
  expect(world.text(1)).toBe('bcd');
  expect(world.pieces(1).at(-1)).toMatchObject({ type: 'finish', cause: 'end-token' });
});

describe('cache reuse', () => {
  test('by the next prompt with the same prefix', async () => {
    const world = workerWorld({ contextSize: 256 });
    const beginning = 'once upon a time '.repeat(5);
    await world.begin(1, beginning);
    await world.settled();
    await world.begin(2, `${beginning}there was`);
    await world.settled();
    expect(world.pieces(2)[0]).toMatchObject({ type: 'start', cachedTokens: beginning.length });
  });

  test('not if the request or the server disables it', async () => {
    const world = workerWorld();
    await world.begin(1, 'abc');
    await world.settled();
    await world.begin(2, 'abcd', { freshPrompt: true });
    await world.settled();
    expect(world.pieces(2)[0]).toMatchObject({ cachedTokens: 0 });
    const without = workerWorld({ reusePrompt: false });
    await without.begin(1, 'abc');
    await without.settled();
    await without.begin(2, 'abcd');
    await without.settled();
    expect(without.pieces(2)[0]).toMatchObject({ cachedTokens: 0 });
  });

  test('always leaves a token to compute, since sampling needs logits', async () => {
    const world = workerWorld({ contextSize: 256 });
    const prompt = `${'once upon a time '.repeat(5)}abc`;
    await world.begin(1, prompt, { maxTokens: 1 });
    await world.settled();
    await world.begin(2, prompt);
    await world.settled();
    expect(world.pieces(2)[0]).toMatchObject({ promptTokens: prompt.length, cachedTokens: prompt.length - 1 });
    expect(world.text(2)).toBe('defg');
  });

  test('from a snapshot; a failing restore or copy does not fail the request', async () => {
    const asked: number[] = [];
    const snapshots = {
      restoreFor: async (tokens: Int32Array) => {
        asked.push(tokens.length);
        throw new Error('the disk is gone');
      },
      beforeOverwrite: () => {
        throw new RangeError('no memory');
      },
      computed: () => undefined,
      ended: async () => undefined,
    };
    const world = workerWorld({ snapshots });
    await world.begin(1, 'abc');
    await world.settled();
    expect([asked, world.text(1)]).toEqual([[3], 'defg']);
  });

  test('after a rejected request', async () => {
    const world = workerWorld();
    await world.begin(1, 'abc');
    await world.settled();
    await world.begin(2, 'abcde', brokenGrammar);
    await world.begin(3, 'x'.repeat(100));
    await world.settled();
    await world.begin(4, 'abcdefgh');
    await world.settled();
    expect(world.pieces(4)[0]).toMatchObject({ type: 'start' });
    expect(world.text(4)).toBe('ijkl');
  });
});

test('any order of requests and aborts: at most one start and one end each, and all slots free', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.oneof(
          fc.record({
            act: fc.constant('begin' as const),
            what: fc.constantFrom('good', 'long', 'grammar', 'picture'),
          }),
          fc.record({ act: fc.constant('abort' as const), id: fc.nat({ max: 8 }) }),
          fc.record({ act: fc.constantFrom('hold' as const, 'letGo' as const, 'turn' as const) }),
        ),
        { maxLength: 20 },
      ),
      async (steps) => {
        const world = workerWorld({ sequences: 2, contextSize: 48 });
        let ids = 0;
        for (const step of steps) {
          if (step.act === 'begin') {
            const prompt = step.what === 'long' ? 'a'.repeat(60) : 'abc';
            const changes =
              step.what === 'grammar' ? brokenGrammar : step.what === 'picture' ? { media: [picture] } : {};
            void world.begin(ids++, prompt, changes);
          } else if (step.act === 'abort') world.abort(step.id);
          else if (step.act === 'turn') await new Promise((resolve) => setImmediate(resolve));
          else world[step.act]();
        }
        world.letGo();
        await world.settled();
        for (let id = 0; id < ids; id++) {
          const events = types(world.pieces(id));
          expect(events.filter((type) => type === 'finish' || type === 'error')).toEqual([events.at(-1)]);
          expect(events.filter((type) => type === 'start')).toHaveLength(events.at(-1) === 'finish' ? 1 : 0);
        }
        expect([world.reading.size, world.slots.map(({ busy }) => busy)]).toEqual([0, [false, false]]);
      },
    ),
    { numRuns: 60 },
  ));

const template = '[gMASK]<sop>{% for message in messages %}…{% endfor %}';

test.each([
  ['a plain prompt', { prompt: 'Hello', memory: '' }, { prompt: '[gMASK]<sop>Hello', memory: '' }],
  ['memory', { prompt: 'Hello', memory: 'M' }, { prompt: 'Hello', memory: '[gMASK]<sop>M' }],
  ['marks that are there', { prompt: '[gMASK]<sop>Hello', memory: '' }, { prompt: '[gMASK]<sop>Hello', memory: '' }],
  [
    'marks in the wrong place',
    { prompt: 'a[gMASK]<sop>b', memory: 'm[gMASK]<sop>' },
    { prompt: 'ab', memory: '[gMASK]<sop>m' },
  ],
])('withFamilyPrefix: a GLM model gets its prefix once, at the start: %s', (_, texts, expected) => {
  expect(withFamilyPrefix(template, texts)).toEqual(expected);
});

test.each([undefined, '', '{{ messages }}'])('withFamilyPrefix: no change for other models (%j)', (other) => {
  const texts = { prompt: '[gMASK]<sop>x', memory: 'm' };
  expect(withFamilyPrefix(other, texts)).toEqual(texts);
});

describe('a pool of cells', () => {
  const finished = (world: ReturnType<typeof workerWorld>, ids: readonly number[]) =>
    ids.map((id) => world.pieces(id).at(-1)?.type);
  const letters = (from: string, count: number) =>
    Array.from({ length: count }, (_, index) => String.fromCharCode(Math.min(127, from.charCodeAt(0) + index))).join(
      '',
    );

  test('generations that outgrow it are parked and go on, each with its own text, and little is computed twice', async () => {
    const world = workerWorld({ sequences: 3, contextSize: 600, pool: 620 });
    const prompts = ['a', 'b', 'c'].map((letter) => letter.repeat(40));
    await Promise.all(prompts.map((prompt, id) => world.begin(id, prompt, { maxTokens: 300, freshPrompt: true })));
    for (let turn = 0; turn < 40; turn += 1) await world.settled();
    expect(finished(world, [0, 1, 2])).toEqual(['finish', 'finish', 'finish']);
    expect([0, 1, 2].map(world.text)).toEqual(['b', 'c', 'd'].map((letter) => letters(letter, 300)));
    const needed = 3 * (40 + 300);
    expect(world.rows()).toBeLessThan(needed + 20);
  });

  test('a prompt waits until running ones leave it room, and cached chats are saved and evicted first', async () => {
    const saved: Slot[] = [];
    const snapshots = { beforeOverwrite: (slot: Slot) => void saved.push(slot), restoreFor: async () => undefined };
    const computed = { computed: () => undefined, ended: async () => undefined };
    const world = workerWorld({ sequences: 2, contextSize: 600, pool: 900, snapshots: { ...snapshots, ...computed } });
    await world.begin(1, 'a'.repeat(500));
    await world.settled();
    const evicted = saved.length;
    await world.begin(2, 'z'.repeat(300));
    await world.settled();
    expect(finished(world, [1, 2])).toEqual(['finish', 'finish']);
    expect(saved.slice(evicted)).toContain(world.slots[0]);
    expect(world.slots.filter(({ cached }) => cached[0] === 'a'.charCodeAt(0))).toEqual([]);
  });

  test('a request that is aborted while it waits leaves the queue', async () => {
    const world = workerWorld({ sequences: 3, contextSize: 600, pool: 700, logits: evenly });
    void world.begin(1, 'a'.repeat(400), { maxTokens: 100 });
    void world.begin(2, 'b'.repeat(400), { maxTokens: 100 });
    void world.begin(3, 'c'.repeat(100), { maxTokens: 2 });
    await Promise.resolve();
    world.abort(2);
    for (let turn = 0; turn < 20; turn += 1) await world.settled();
    expect(world.pieces(2).at(-1)).toMatchObject({ type: 'finish', cause: 'aborted' });
    expect(finished(world, [1, 3])).toEqual(['finish', 'finish']);
  });

  test('a parked generation can be aborted', async () => {
    const world = workerWorld({ sequences: 2, contextSize: 600, pool: 620, logits: evenly });
    void world.begin(1, 'a'.repeat(40), { maxTokens: 400, freshPrompt: true });
    void world.begin(2, 'b'.repeat(40), { maxTokens: 400, freshPrompt: true });
    for (let turn = 0; turn < 10; turn += 1) await world.settled();
    world.abort(2);
    for (let turn = 0; turn < 20; turn += 1) await world.settled();
    expect(finished(world, [1, 2])).toEqual(['finish', 'finish']);
    expect(world.slots.map(({ busy }) => busy)).toEqual([false, false]);
  });
});
