import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compilePattern, PatternSearch, programLimits } from './search.ts';

/** Reads the text in pieces, and says after each whether there is a match by then. */
function searched(pattern: string, ...pieces: readonly string[]): readonly (number | undefined)[] {
  const search = new PatternSearch(compilePattern(pattern));
  let place = 0;
  return pieces.map((piece) => {
    for (const character of piece) {
      search.push(character.codePointAt(0) as number, place);
      place += character.length;
    }
    return search.found(place);
  });
}

const search = (pattern: string, text: string) => searched(pattern, text)[0];

describe('PatternSearch', () => {
  test.each<[string, string, number | undefined]>([
    ['abc', 'xxabcxx', 2],
    ['abc', 'xxabxc', undefined],
    ['a|bc', 'xbc', 1],
    ['a.c', 'a\nc abc', 4],
    ['[\\s\\S]', '\n', 0],
    ['\\d+-\\w', 'no 12-x', 3],
    ['x{3}', 'xxyxxx', 3],
    ['x{2,}y', 'xyxxxy', 2],
    ['^a', 'ba', undefined],
    ['^a', 'ab', 0],
    ['a$', 'aab', undefined],
    ['a$', 'baa', 2],
    ['\\bcat\\b', 'concat cat', 7],
    ['\\Bcat', 'cat concat', 7],
    ['[^a-c]+', 'abcd', 3],
    ['\\u{1F600}', 'a😀', 1],
    ['é', 'café', 3],
    ['', 'abc', 0],
  ])('/%s/ in %j finds %j', (pattern, text, place) => expect(search(pattern, text)).toBe(place));

  test.each([
    ['lamp', 'i', 'a LAMP', true],
    ['[^a]', 'i', 'A', false],
    ['\\W', 'i', 'sk', false],
    ['[à-ÿ]', 'i', 'É', true],
    ['Ω', 'i', 'ω', true],
    ['^b$', '', 'a\nb\nc', false],
    ['^b$', 'm', 'a\nb\nc', true],
    ['a.b', '', 'a\nb', false],
    ['a.b', 's', 'a\nb', true],
  ])('/%s/%s in %j: %j, as in JavaScript', (pattern, flags, text, expected) => {
    const search = new PatternSearch(
      compilePattern(pattern, {
        ignoreCase: flags.includes('i'),
        multiline: flags.includes('m'),
        dotAll: flags.includes('s'),
      }),
    );
    [...text].forEach((character, place) => {
      search.push(character.codePointAt(0) as number, place);
    });
    expect(search.found(text.length) !== undefined).toBe(expected);
    expect(new RegExp(pattern, flags).test(text)).toBe(expected);
  });

  test('returns the position of the first non-empty group', () => {
    expect(search('a(b)', 'xab')).toBe(2);
    expect(search('a(x?)(b)', 'ab')).toBe(1);
    expect(search('a(?:b)c', 'abc')).toBe(0);
    expect(search('a(x)?b', '-ab')).toBe(1);
    expect(search('a(?<name>b)', 'ab')).toBe(1);
  });

  test('finds a match as soon as it is complete, however the text is cut', () => {
    expect(searched('<call>', 'Hm <c', 'all', '> and', ' more')).toEqual([undefined, undefined, 3, 3]);
  });

  test('the end of the text so far matches $', () => {
    expect(searched('b$', 'ab', 'b', 'c')).toEqual([1, 2, undefined]);
  });

  test('prefers the same match as JavaScript', () => {
    expect(search('(a+)(b)', 'aab')).toBe(0);
    expect(search('a*?(a)', 'aaa')).toBe(0);
    expect(search('a*(a)', 'aaa')).toBe(2);
    expect(search('(?:ab|a)(b|c)', 'abc')).toBe(2);
  });

  test('a pattern that backtracks exponentially in other engines is fast', () => {
    expect(search('(.+)+QQQ', 'a'.repeat(20_000))).toBeUndefined();
    expect(search('(a*)*b', `${'a'.repeat(20_000)}b`)).toBe(0);
    expect(search('(?:a|a|a)*$', `${'a'.repeat(5000)}`)).toBe(0);
  });
});

describe('compilePattern: limits', () => {
  test.each(['a{5000}', '(?:a{100}){100}', `(?:${'ab|'.repeat(1000)}c)`.slice(0, 1990).replace(/\|?[ab]*$/, '){2}')])(
    'is refused: %s',
    (pattern) => expect(() => compilePattern(pattern)).toThrow(`more than ${programLimits.steps} steps`),
  );

  test('too many groups', () => {
    expect(() => compilePattern('(a)'.repeat(programLimits.groups))).not.toThrow();
    expect(() => compilePattern('(a)'.repeat(programLimits.groups + 1))).toThrow('more than 16 groups');
  });
});

describe('random patterns', () => {
  const { filled } = fc.letrec<{ atom: string; filled: string }>((tie) => ({
    atom: fc.oneof(
      { maxDepth: 2 },
      fc.constantFrom('a', 'b', 'c', '.', '[ab]', '[^a]', '\\d', '\\w', '\\S', '1'),
      tie('filled').map((inside) => `(?:${inside})`),
      fc.tuple(tie('filled'), tie('filled')).map(([one, other]) => `(?:${one}|${other})`),
    ),
    // Only non-empty items are repeated, because JavaScript treats empty iterations differently.
    filled: fc
      .array(fc.tuple(tie('atom'), fc.constantFrom('', '', '+', '+?', '{2}', '{1,3}', '{1,3}?')), {
        minLength: 1,
        maxLength: 3,
      })
      .map((parts) => parts.flat().join('')),
  }));
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '1', ' ', '\n', 'é', '😀'), maxLength: 12 });
  const edges = fc.constantFrom('', '', '^', '\\b');
  const ends = fc.constantFrom('', '', '$', '\\b', '?', '*?');

  test('match where JavaScript matches', () => {
    fc.assert(
      fc.property(edges, filled, filled, ends, text, (edge, one, other, end, subject) => {
        const last = end === '?' || end === '*?' ? `(?:${other})${end}` : `${other}${end}`;
        const pattern = `${edge}${one}(${last})`;
        const match = new RegExp(pattern, 'du').exec(subject);
        const group = match?.indices?.[1];
        const expected = group && group[1] > group[0] ? group[0] : match?.index;
        expect(search(pattern, subject)).toBe(expected);
      }),
      { numRuns: 300 },
    );
  });

  test('match at the same position however the text is cut', () => {
    fc.assert(
      fc.property(filled, fc.array(text, { maxLength: 4 }), (pattern, pieces) => {
        expect(searched(pattern, ...pieces, '').at(-1)).toBe(search(pattern, pieces.join('')));
      }),
    );
  });

  test('any characters are accepted or rejected with a position', () => {
    const spelling = fc.string({ unit: fc.constantFrom(...'()[]{}|*+?^$.\\ab1,-:<>='), maxLength: 24 });
    fc.assert(
      fc.property(spelling, text, (pattern, subject) => {
        try {
          search(pattern, subject);
        } catch (error) {
          expect(String(error)).toMatch(/^Error: the pattern /);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
