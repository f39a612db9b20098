import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jsonObject, parseJson } from './body.ts';

const bytes = (text: string): Buffer => Buffer.from(text);
const nested = (levels: number): Buffer => bytes('['.repeat(levels) + ']'.repeat(levels));

describe('parseJson', () => {
  test('reads what JSON.stringify writes', () =>
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parseJson(bytes(text))).toEqual(JSON.parse(text));
      }),
    ));

  test('ignores a leading byte order mark', () => expect(parseJson(bytes('\ufeff{"a":1}'))).toEqual({ a: 1 }));

  test.each([
    ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'it is not UTF-8'],
    ['empty', bytes(''), 'it is empty'],
    ['blank', bytes(' \n'), 'it is empty'],
    ['cut off', bytes('{"a":'), 'unexpected end of JSON input'],
    ['a string without an end', bytes('{"a": "[[['), 'unterminated string in JSON'],
    ['no JSON at all', bytes('hello'), "unexpected token 'h'"],
    ['too deep', nested(129), 'it is nested deeper than 128 levels'],
    ['far too deep', bytes('['.repeat(5_000_000)), 'it is nested deeper than 128 levels'],
  ])('rejects %s with a reason', (_name, body, reason) => {
    expect(() => parseJson(body)).toThrow(expect.objectContaining({ code: 'invalid-json', status: 400 }));
    expect(() => parseJson(body)).toThrow(reason);
  });

  test('ignores brackets in strings when it counts levels', () => {
    const text = `["${'['.repeat(500)}", "\\"${'{'.repeat(500)}", "\\\\", ${'1,'.repeat(10)} []]`;
    expect(parseJson(bytes(text))).toHaveLength(14);
    expect(parseJson(nested(128))).toBeInstanceOf(Array);
    expect(parseJson(bytes(`[${'[],'.repeat(1000)}[]]`))).toHaveLength(1001);
  });
});

describe('jsonObject', () => {
  test('accepts an object', async () =>
    expect(await jsonObject(bytes('{"a":1}'), { empty: 'refuse' })).toEqual({ a: 1 }));
  test.each(['', ' \r\n\t'])('an empty body "%s" gives the default of the caller', async (text) => {
    expect(await jsonObject(bytes(text), { empty: 'object' })).toEqual({});
    await expect(jsonObject(bytes(text), { empty: 'refuse' })).rejects.toThrow('it is empty');
  });
  test.each(['[]', 'null', '3', '"a"'])('rejects %s, which is not an object', async (text) =>
    expect(jsonObject(bytes(text), { empty: 'object' })).rejects.toThrow('body must be an object.'),
  );
});

describe('jsonObject: body of megabytes', () => {
  const filler = 'x'.repeat(1100 * 1024);
  const large = (rest: string): Buffer => bytes(`{"filler":"${filler}",${rest}}`);

  test('gives the same result as for a small body', async () => {
    const read = await jsonObject(large('"messages":[{"role":"user"}],"__proto__":1'), { empty: 'refuse' });
    expect(Object.keys(read)).toEqual(['filler', 'messages', '__proto__']);
    expect(read).toMatchObject({ filler, messages: [{ role: 'user' }] });
  });

  test('ignores a leading byte order mark', async () => {
    const marked = Buffer.concat([bytes('\ufeff'), large('"a":1')]);
    expect(await jsonObject(marked, { empty: 'refuse' })).toMatchObject({ a: 1 });
  });

  test.each<[string, Buffer, string]>([
    ['not UTF-8', Buffer.concat([large('"a":1'), Buffer.from([0xff])]), 'it is not UTF-8'],
    ['blank', bytes(' '.repeat(1024 * 1024)), 'it is empty'],
    ['cut off', large('"a":').subarray(0, -1), 'unexpected end of JSON input'],
    ['a string without an end', large('"a":"'), 'a string has no end'],
    ['too deep', large(`"a":${'['.repeat(129)}${']'.repeat(129)}`), 'it is nested deeper than 128 levels'],
    ['not JSON inside', large('"a":tru'), 'unexpected token'],
    ['a list', bytes(`["${filler}"]`), 'body must be an object.'],
    ['a text', bytes(`"${filler}"`), 'body must be an object.'],
  ])('rejects a body that is %s with a sentence', async (_name, body, reason) => {
    const read = jsonObject(body, { empty: 'refuse' });
    await expect(read).rejects.toThrow(expect.objectContaining({ status: 400 }));
    await expect(read).rejects.toThrow(reason);
  });

  test('stops parsing when the client disconnects', async () => {
    const numbers = `{"a":[${'1,'.repeat(3_000_000)}1]}`;
    const disconnected = new AbortController();
    const read = jsonObject(bytes(numbers), { empty: 'refuse', signal: disconnected.signal });
    disconnected.abort(new Error('disconnected'));
    await expect(read).rejects.toThrow('disconnected');
  });
});
