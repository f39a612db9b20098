import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PatternError } from './errors.ts';
import { replaceMatches } from './replace.ts';
import { compilePattern } from './search.ts';

function replaced(pattern: string, flags: string, text: string, maxWork?: number): string {
  const program = compilePattern(pattern, {
    ignoreCase: flags.includes('i'),
    multiline: flags.includes('m'),
    dotAll: flags.includes('s'),
    lenient: true,
  });
  return replaceMatches(program, text, ({ groups }) => `<${groups.map((group) => group ?? '-').join('|')}>`, {
    global: flags.includes('g'),
    ...(maxWork !== undefined && { maxWork }),
  });
}

function byJavaScript(pattern: string, flags: string, text: string): string {
  return text.replace(new RegExp(pattern, flags), (...args: unknown[]) => {
    const groups = args.slice(
      0,
      args.findIndex((one) => typeof one === 'number'),
    );
    return `<${groups.map((group) => group ?? '-').join('|')}>`;
  });
}

test.each([
  ['a', '', 'banana'],
  ['a', 'g', 'banana'],
  ['(b)|(n)a', 'g', 'banana'],
  ['a*', 'g', 'baac'],
  ['a*?', 'g', 'baa'],
  ['(a+?)(a*)', 'g', 'xaaay'],
  ['a|ab', 'g', 'abab'],
  ['ab|a', 'g', 'abab'],
  ['^\\s+|\\s+$', 'gm', '  one  \n  two  '],
  ['\\bcat\\b', 'gi', 'Cat, concat, cat'],
  ['<think>[\\s\\S]*?</think>\\s*', 'g', '<think>a</think> b <think>\nc</think>d'],
  ['"([^"]*)"', 'g', 'She said "hi" and "bye".'],
  ['\\*(.+?)\\*', 'g', '*one* two *three*'],
  ['😀', 'g', 'a😀b😀'],
  ['[^a]', 'g', 'a😀'.normalize()],
  ['{hp: (\\d+)}', 'g', 'You {hp: 12} and {hp: 3}'],
  ['[\\w-.]+', 'g', 'a-b.c d'],
  ['$', '', 'abc'],
  ['x', 'g', ''],
  ['\\n{2,}', 'g', 'a\n\n\nb\n\nc'],
])('replaceMatches: /%s/%s in %j is as in JavaScript', (pattern, flags, text) => {
  // Without the flag `u`, JavaScript takes characters apart that are pairs.
  const expected = /[\uD800-\uDFFF]/.test(text + pattern) ? `${flags}u` : flags;
  expect(replaced(pattern, flags, text)).toBe(byJavaScript(pattern, expected, text));
});

test('replaceMatches: random patterns replace as JavaScript does', () => {
  const atom = fc.constantFrom(
    'a',
    'b',
    '.',
    '[ab]',
    '[^a]',
    '(a)',
    '(?:ab)',
    '\\b',
    'a*',
    'b+?',
    '(b|a)',
    'a{2}',
    '^',
    '$',
  );
  const pattern = fc.array(atom, { minLength: 1, maxLength: 5 }).map((atoms) => atoms.join(''));
  const text = fc
    .array(fc.constantFrom('a', 'b', 'c', ' ', '\n'), { maxLength: 12 })
    .map((letters) => letters.join(''));
  fc.assert(
    fc.property(pattern, fc.constantFrom('', 'g', 'gm', 'gi'), text, (source, flags, words) => {
      expect(replaced(source, flags, words)).toBe(byJavaScript(source, flags, words));
    }),
    { numRuns: 500 },
  );
});

test('replaceMatches: gives groups by their names', () => {
  const program = compilePattern('(?<name>\\w+): (?<text>.*)');
  expect(replaceMatches(program, 'Ada: Hi', ({ named }) => `${named.text} (${named.name})`)).toBe('Hi (Ada)');
});

test('replaceMatches: patterns that block JavaScript end', () => {
  expect(replaced('(a+)+$', '', `${'a'.repeat(5000)}b`)).toBe(`${'a'.repeat(5000)}b`);
});

test('replaceMatches: refuses work that would grow with the square of the text', () => {
  expect(() => replaced('a[^]*b|a', 'g', 'a'.repeat(20_000), 100_000)).toThrow(PatternError);
});

test('replaceMatches: a character that begins no match costs next to nothing', () => {
  const text = `${'x'.repeat(200_000)}ab`;
  expect(replaced('a(b)', 'g', text, 100)).toBe(`${'x'.repeat(200_000)}<ab|b>`);
});
