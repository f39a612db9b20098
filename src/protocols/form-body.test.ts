import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bodyOfForm } from './form-body.ts';

const body = (...fields: readonly (readonly [string, readonly string[]])[]) =>
  bodyOfForm({ fields: new Map(fields), files: [] });

test('a name that comes once is a text', () => {
  expect(body(['model', ['whisper-1']], ['prompt', ['']])).toEqual({ model: 'whisper-1', prompt: '' });
});

test('a name with brackets, or one that comes again, is a list', () => {
  expect(body(['include[]', ['logprobs']], ['keywords', ['a', 'b']])).toEqual({
    include: ['logprobs'],
    keywords: ['a', 'b'],
  });
});

test('both spellings of a list are one list', () => {
  expect(body(['granularities', ['word']], ['granularities[]', ['segment']])).toEqual({
    granularities: ['word', 'segment'],
  });
});

test('a name with a key is an object, whose last value counts', () => {
  expect(body(['chunking[type]', ['auto', 'server_vad']], ['chunking[threshold]', ['0.5']])).toEqual({
    chunking: { type: 'server_vad', threshold: '0.5' },
  });
});

test('brackets that mean nothing stay part of the name', () => {
  expect(body(['a[b][c]', ['1']], ['[]', ['2']], ['d]', ['3']])).toEqual({ 'a[b][c]': '1', '[]': '2', 'd]': '3' });
});

test('no name reaches into anything but the body', () => {
  const made = body(['__proto__', ['x']], ['constructor[name]', ['y']], ['__proto__[polluted]', ['z']]);
  expect(Object.getPrototypeOf(made)).toBe(Object.prototype);
  expect(Object.hasOwn(made, '__proto__')).toBe(true);
  expect(({} as { polluted?: string }).polluted).toBeUndefined();
});

test('every name of any form is there again, with all that it held', () => {
  const fields = fc.uniqueArray(
    fc.tuple(fc.stringMatching(/^[a-z]{1,5}$/), fc.array(fc.string(), { minLength: 1, maxLength: 3 })),
    {
      selector: ([name]) => name,
    },
  );
  fc.assert(
    fc.property(fields, (all) => {
      const made = bodyOfForm({ fields: new Map(all), files: [] });
      expect(Object.keys(made)).toEqual(all.map(([name]) => name));
      for (const [name, values] of all) expect([made[name]].flat()).toEqual(values);
    }),
  );
});
