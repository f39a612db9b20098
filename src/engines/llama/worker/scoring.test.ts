import { describe, expect, test } from 'vitest';
import type { PromptToken } from '../../../core/events.ts';
import type { Medium } from '../../../core/request.ts';
import type { Projector } from './media/projector.ts';
import { chunk, readImage } from './testing/media.ts';
import { workerWorld } from './testing/worker-world.ts';

type World = ReturnType<typeof workerWorld>;

const scored = (world: World, id: number): readonly PromptToken[] =>
  world.pieces(id).flatMap((piece) => (piece.type === 'prompt-logprobs' ? piece.tokens : []));
const scoredText = (world: World, id: number) =>
  scored(world, id)
    .map(({ text }) => text)
    .join('');
const codes = (text: string) => Array.from(text, (character) => character.charCodeAt(0));

/** The model of this world finds the letter after each letter likeliest. */
describe('prompt logprobs', () => {
  test('are those of the model: its own greedy choice ranks first', async () => {
    const world = workerWorld();
    await world.begin(1, 'abcz', { promptLogprobs: 1 });
    await world.settled();
    const [first, ...rest] = scored(world, 1);
    expect([first?.logprob, first?.rank]).toEqual([null, null]);
    expect(rest.map(({ rank }) => rank === 1)).toEqual([true, true, false]);
    expect(rest.map(({ top }) => top[0]?.text)).toEqual(['b', 'c', 'd']);
    expect(rest.every(({ logprob }) => typeof logprob === 'number' && logprob <= 0)).toBe(true);
  });

  test('come before an unchanged reply', async () => {
    const world = workerWorld();
    await world.begin(1, 'abc', { promptLogprobs: 0 });
    await world.settled();
    const types = world.pieces(1).map(({ type }) => type);
    expect(types.lastIndexOf('prompt-logprobs')).toBeLessThan(types.indexOf('text-delta'));
    expect([scoredText(world, 1), world.text(1)]).toEqual(['abc', 'defg']);
  });

  test('compute the whole prompt despite the cache, and the next prompt reuses it', async () => {
    const world = workerWorld();
    await world.begin(1, 'abcdefgh');
    await world.settled();
    await world.begin(2, 'abcdefgh', { promptLogprobs: 0 });
    await world.settled();
    expect(world.pieces(2)[0]).toMatchObject({ cachedTokens: 0 });
    expect(scoredText(world, 2)).toBe('abcdefgh');
    await world.begin(3, 'abcdefgh');
    await world.settled();
    expect(world.pieces(3)[0]).toMatchObject({ cachedTokens: 7 });
    expect(scored(world, 3)).toEqual([]);
  });

  test('mark the tokens before the prompt', async () => {
    const world = workerWorld({ addsBos: true });
    await world.begin(1, 'xy', { memory: 'ab', promptLogprobs: 0 });
    await world.settled();
    expect(scored(world, 1).map(({ token, inPrompt }) => [token, inPrompt])).toEqual([
      [1, false],
      ...codes('ab').map((token) => [token, false]),
      ...codes('xy').map((token) => [token, true]),
    ]);
  });

  test('do not depend on other requests, and do not change them', async () => {
    const long = 'abcdefghijklmnopqrstuvwxyz'.repeat(3);
    const alone = workerWorld({ contextSize: 256 });
    await alone.begin(1, long, { promptLogprobs: 2 });
    await alone.settled();
    const world = workerWorld({ contextSize: 256, sequences: 2 });
    await Promise.all([world.begin(1, long, { promptLogprobs: 2 }), world.begin(2, 'klm', { maxTokens: 8 })]);
    await world.settled();
    expect(scored(world, 1)).toEqual(scored(alone, 1));
    expect(world.text(2)).toBe('nopqrstu');
  });

  test('reject a prompt that would have to be trimmed', async () => {
    const world = workerWorld({ contextSize: 32 });
    await world.begin(1, 'a'.repeat(80), { overflow: 'trim', promptLogprobs: 0 });
    await world.settled();
    expect(world.pieces(1)).toMatchObject([{ type: 'error', error: { code: 'context-overflow' } }]);
  });

  test('reject a picture', async () => {
    const projector = {
      inputs: { image: true, audio: false },
      read: async () => readImage(chunk(-1, 2)),
    } as unknown as Projector;
    const picture: Medium = { kind: 'image', base64: 'AAAA' };
    const world = workerWorld({ projector });
    await world.begin(1, 'abc', { media: [picture], promptLogprobs: 0 });
    await world.settled();
    expect(world.pieces(1)).toMatchObject([{ type: 'error', error: { code: 'unsupported' } }]);
    expect(world.slots[0]?.busy).toBe(false);
  });
});

describe('max_tokens 0', () => {
  test('ends after the prefill, and the prompt stays in the cache', async () => {
    const world = workerWorld();
    await world.begin(1, 'abcdefgh', { maxTokens: 0 });
    await world.settled();
    const finish = world.pieces(1).at(-1);
    expect(finish).toMatchObject({ type: 'finish', cause: 'limit', usage: { promptTokens: 8, completionTokens: 0 } });
    expect([world.text(1), world.slots[0]?.computed, world.slots[0]?.busy]).toEqual(['', 8, false]);
  });

  test('can have prompt logprobs', async () => {
    const world = workerWorld();
    await world.begin(1, 'abc', { maxTokens: 0, promptLogprobs: 3 });
    await world.settled();
    expect([scoredText(world, 1), world.text(1)]).toEqual(['abc', '']);
  });

  test('allows a prompt as long as the context', async () => {
    const world = workerWorld({ contextSize: 32 });
    await world.begin(1, 'a'.repeat(32), { maxTokens: 0 });
    await world.begin(2, 'a'.repeat(33), { maxTokens: 0 });
    await world.settled();
    expect(world.pieces(1).at(-1)).toMatchObject({ type: 'finish', cause: 'limit' });
    expect(world.pieces(2)).toMatchObject([{ type: 'error', error: { code: 'context-overflow' } }]);
  });
});

describe('prompt as token ids', () => {
  const read = (world: World, count: number) => Array.from(world.slots[0]?.tokens.subarray(0, count) ?? []);

  test('used unchanged, without a BOS token', async () => {
    const world = workerWorld({ addsBos: true });
    await world.begin(1, 'not this', { promptTokens: codes('abc') });
    await world.settled();
    expect(world.pieces(1)[0]).toMatchObject({ promptTokens: 3 });
    expect([read(world, 3), world.text(1)]).toEqual([codes('abc'), 'defg']);
  });

  test('can start with the BOS token', async () => {
    const world = workerWorld({ addsBos: true });
    await world.begin(1, '', { promptTokens: [1, ...codes('abc')], promptLogprobs: 0 });
    await world.settled();
    expect(scored(world, 1).map(({ token, inPrompt }) => [token, inPrompt])).toEqual(
      [1, ...codes('abc')].map((token) => [token, true]),
    );
  });

  test('come after the memory, with one BOS token in front', async () => {
    const world = workerWorld({ addsBos: true });
    await world.begin(1, '', { memory: 'xy', promptTokens: [1, ...codes('abc')] });
    await world.settled();
    expect(read(world, 6)).toEqual([1, ...codes('xy'), ...codes('abc')]);
  });

  test.each([[[-1]], [[1e9]], [[1.5]]])('rejects ids outside the vocabulary: %j', async (promptTokens) => {
    const world = workerWorld();
    await world.begin(1, '', { promptTokens });
    await world.settled();
    expect(world.pieces(1)).toMatchObject([
      { type: 'error', error: { code: 'invalid-field', details: { field: 'prompt' } } },
    ]);
  });
});
