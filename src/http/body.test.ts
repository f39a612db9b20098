import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jsonObject, parseJson } from './body.ts';

const bytes = (text: string): Buffer => Buffer.from(text);
const nested = (levels: number): Buffer => bytes('['.repeat(levels) + ']'.repeat(levels));

describe('parseJson', () => {
  test('what JSON writes is read again', () =>
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parseJson(bytes(text))).toEqual(JSON.parse(text));
      }),
    ));

  test('a byte order mark is no harm', () => expect(parseJson(bytes('\ufeff{"a":1}'))).toEqual({ a: 1 }));

  test.each([
    ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'it is not UTF-8'],
    ['empty', bytes(''), 'it is empty'],
    ['blank', bytes(' \n'), 'it is empty'],
    ['cut off', bytes('{"a":'), 'unexpected end of JSON input'],
    ['a string without an end', bytes('{"a": "[[['), 'unterminated string in JSON'],
    ['no JSON at all', bytes('hello'), "unexpected token 'h'"],
    ['too deep', nested(129), 'it is nested deeper than 128 levels'],
    ['far too deep', bytes('['.repeat(5_000_000)), 'it is nested deeper than 128 levels'],
  ])('%s is refused with a reason', (_name, body, reason) => {
    expect(() => parseJson(body)).toThrow(expect.objectContaining({ code: 'invalid-json', status: 400 }));
    expect(() => parseJson(body)).toThrow(reason);
  });

  test('brackets in strings are not levels', () => {
    const text = `["${'['.repeat(500)}", "\\"${'{'.repeat(500)}", "\\\\", ${'1,'.repeat(10)} []]`;
    expect(parseJson(bytes(text))).toHaveLength(14);
    expect(parseJson(nested(128))).toBeInstanceOf(Array);
    expect(parseJson(bytes(`[${'[],'.repeat(1000)}[]]`))).toHaveLength(1001);
  });
});

describe('jsonObject', () => {
  test('an object is taken', () => expect(jsonObject(bytes('{"a":1}'), { empty: 'refuse' })).toEqual({ a: 1 }));
  test.each(['', ' \r\n\t'])('an empty body "%s" is what the caller says it is', (text) => {
    expect(jsonObject(bytes(text), { empty: 'object' })).toEqual({});
    expect(() => jsonObject(bytes(text), { empty: 'refuse' })).toThrow('it is empty');
  });
  test.each(['[]', 'null', '3', '"a"'])('%s is no object', (text) =>
    expect(() => jsonObject(bytes(text), { empty: 'object' })).toThrow('body must be an object.'),
  );
});
