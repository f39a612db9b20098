import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { equalName, sameName } from '../core/model-names.ts';
import type { Call } from '../http/call.ts';
import { namedModel } from './named-model.ts';

const named = (body: string | object, method = 'POST') =>
  namedModel({
    method,
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    signal: new AbortController().signal,
  } as unknown as Call);

describe('the model that a request names', () => {
  test.each([
    [{ model: 'a' }, 'a'],
    [{ name: 'a' }, 'a'],
    [{ model: 'a', name: 'b' }, 'a'],
    [{ model: 7, name: 'b' }, 'b'],
    [{ model: '  a\n' }, 'a'],
    [{ model: 'a b/c:d' }, 'a b/c:d'],
  ])('in %j is %j', async (body, expected) => {
    expect(await named(body)).toBe(expected);
  });

  test.each([
    '',
    '  ',
    '{}',
    '{"model":""}',
    '{"model":" "}',
    '{"model":null}',
    '{"model":["a"]}',
    '[]',
    '"a"',
    'no JSON',
    '{"model":"a"',
  ])('is none in %j', async (body) => {
    expect(await named(body)).toBeUndefined();
  });

  test('is only looked for where there is a body to look in', async () => {
    expect(await named({ model: 'a' }, 'GET')).toBeUndefined();
  });

  test('is found in a body that begins with the mark of its byte order', async () => {
    expect(await named('\uFEFF{"model":"a"}')).toBe('a');
  });

  test('never throws, whatever comes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.json(), fc.string()), async (body) => {
        const name = await named(body);
        expect(name === undefined || name.trim() !== '').toBe(true);
      }),
    );
  });
});

describe('two names', () => {
  test.each([
    ['Model', 'model'],
    ['model:latest', 'MODEL'],
    ['koboldcpp/model', 'model'],
    ['koboldcpp/Model:latest', 'model'],
  ])('%j and %j are equal', (left, right) => {
    expect([equalName(left, right), equalName(right, left), sameName(left, right)]).toEqual([true, true, true]);
  });

  test.each([
    ['model.gguf', 'model'],
    ['model.kcpps', 'model.gguf'],
    ['model.KCPPT', 'koboldcpp/model:latest'],
  ])('%j and %j are the same but for the ending', (left, right) => {
    expect([equalName(left, right), sameName(left, right), sameName(right, left)]).toEqual([false, true, true]);
  });

  test.each([
    ['model', 'model2'],
    ['model:7b', 'model'],
    ['folder/model', 'model'],
    ['model.bin', 'model'],
    ['latest', ''],
  ])('%j and %j are two', (left, right) => {
    expect(sameName(left, right)).toBe(false);
  });
});
