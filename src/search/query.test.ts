import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pageString } from './charset.ts';
import { plainQuery, searchAddress } from './query.ts';

describe('a query', () => {
  test.each([
    ['  red \n\t lighthouse ', 'red lighthouse'],
    ['', ''],
    [' \n ', ''],
    ['x'.repeat(600), 'x'.repeat(500)],
    ['é'.repeat(300), 'é'.repeat(250)],
    ['🦜'.repeat(126), '🦜'.repeat(125)],
  ])('of %j is one line of at most 500 bytes', (text, expected) => {
    expect(plainQuery(text)).toBe(expected);
  });

  test('is never cut in the middle of a character, and is the same when it is made plain again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 600 }), (text) => {
        const query = plainQuery(text);
        expect(Buffer.byteLength(query)).toBeLessThanOrEqual(500);
        expect(plainQuery(query)).toBe(query);
      }),
    );
  });
});

describe('the address that is asked', () => {
  const address = (template: string, asJson = false) => searchAddress(template, 'a & b$&/?', { asJson }).href;

  test('has the query as its parameter q, beside those that it has', () => {
    expect(address('https://s.example/html/')).toBe('https://s.example/html/?q=a+%26+b%24%26%2F%3F');
    expect(address('https://s.example/?kl=de&q=x', true)).toBe(
      'https://s.example/?kl=de&q=a+%26+b%24%26%2F%3F&format=json',
    );
  });

  test('has it where %s stands', () => {
    expect(address('https://s.example/find/%s?x=%s')).toBe(
      'https://s.example/find/a%20%26%20b%24%26%2F%3F?x=a%20%26%20b%24%26%2F%3F',
    );
  });
});

describe('a page in another encoding', () => {
  const latin = Buffer.from([0x67, 0x72, 0xfc, 0x6e]);

  test.each<[string, Uint8Array, string | undefined, string]>([
    ['the header says', latin, 'text/html; charset=ISO-8859-1', 'grün'],
    [
      'the page says',
      Buffer.concat([Buffer.from('<meta charset="windows-1252">'), latin]),
      'text/html',
      '<meta charset="windows-1252">grün',
    ],
    ['nobody says', Buffer.from('grün'), undefined, 'grün'],
    ['nobody knows', Buffer.from('grün'), 'text/html; charset=klingon', 'grün'],
  ])('is read as %s', (_, bytes, type, text) => {
    expect(pageString(bytes, type)).toBe(text);
  });
});
