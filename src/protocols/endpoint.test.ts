import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { modelInBody, modelInQuery } from './endpoint.ts';
import { callOf } from './testing/doubles.ts';

const named = (body: string | object, method = 'POST') => modelInBody(callOf('/', body, { method }));

describe('modelInBody', () => {
  test.each([
    [{ model: 'a' }, 'a'],
    [{ name: 'a' }, 'a'],
    [{ model: 'a', name: 'b' }, 'a'],
    [{ model: 7, name: 'b' }, 'b'],
    [{ model: '  a\n' }, 'a'],
    [{ model: 'a b/c:d' }, 'a b/c:d'],
  ])('of %j is %j', async (body, expected) => {
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
  ])('of %j is undefined', async (body) => {
    expect(await named(body)).toBeUndefined();
  });

  test('reads methods with a body only', async () => {
    expect(await named({ model: 'a' }, 'GET')).toBeUndefined();
  });

  test.each([
    ['a field', new Map([['model', [' a ', 'b']]]), 'a'],
    ['an empty field', new Map([['model', ['']]]), undefined],
    ['no field', new Map(), undefined],
  ])('of a form with %s', async (_, fields, expected) => {
    expect(await modelInBody(callOf('/', '', { form: { fields, files: [] } }))).toBe(expected);
  });

  test('ignores a leading byte order mark', async () => {
    expect(await named('\uFEFF{"model":"a"}')).toBe('a');
  });

  test('never throws', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.json(), fc.string()), async (body) => {
        const name = await named(body);
        expect(name === undefined || name.trim() !== '').toBe(true);
      }),
    );
  });
});

describe('modelInQuery', () => {
  const named = (query: string, authorized = true) =>
    modelInQuery(callOf('/', '', { method: 'GET', query: new URLSearchParams(query), authorized }));

  test('is what ?model= says', () => {
    expect([named('model=a'), named('model=+a+'), named('model='), named('')]).toEqual([
      'a',
      'a',
      undefined,
      undefined,
    ]);
  });

  test('is undefined without the key: clients cannot try names', () => {
    expect(named('model=a', false)).toBeUndefined();
  });
});
