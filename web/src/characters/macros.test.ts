import { describe, expect, test } from 'vitest';
import { fraction, type MacroValues, resolveMacros, seededRandom } from './macros.ts';

const values: MacroValues = {
  user: 'Maren',
  char: 'Ada',
  persona: '{{user}} keeps a lighthouse.',
  description: 'Mends engines.',
  now: new Date(2026, 2, 4, 5, 6),
  random: () => 0.5,
  seed: 's',
};
const resolved = (text: string, more: Partial<MacroValues> = {}): string => resolveMacros(text, { ...values, ...more });

describe('resolveMacros', () => {
  test.each([
    ['{{user}} and {{Char}}', 'Maren and Ada'],
    ['<USER>, <bot>, <char>', 'Maren, Ada, Ada'],
    ['{{persona}}', 'Maren keeps a lighthouse.'],
    ['{{description}}{{newline}}x', 'Mends engines.\nx'],
    ['a\n\n{{trim}}\n\nb', 'ab'],
    ['a{{// a note }}b{{comment:x}}{{noop}}', 'ab'],
    ['{{isodate}} {{isotime}}', '2026-03-04 05:06'],
    ['{{random::a::b}}', 'b'],
    ['{{random:a, b\\, c}}', 'b, c'],
    ['{{random::{{user}}::{{char}}}}', 'Ada'],
    ['{{roll:d6}} {{roll 20}} {{roll:2d4+1}}', '4 11 7'],
    ['{{reverse:abc}}', 'cba'],
    ['{{original}}x', 'x'],
    ['{{unknown}} {{ }} {x}', '{{unknown}} {{ }} {x}'],
    ['no macros', 'no macros'],
  ])('%j becomes %j', (text, expected) => {
    expect(resolved(text)).toBe(expected);
  });

  test('{{pick}} keeps its choice for the same seed', () => {
    const text = '{{pick::a::b::c::d::e::f}}';
    expect(resolved(text)).toBe(resolved(text, { random: () => 0.9 }));
    const all = new Set(Array.from({ length: 50 }, (_, index) => resolved(text, { seed: `${index}` })));
    expect(all.size).toBeGreaterThan(3);
  });

  test('macros that contain themselves end', () => {
    expect(resolved('{{persona}}', { persona: '{{persona}}' })).toBe('{{persona}}');
  });
});

test('seededRandom: the same seed gives the same numbers, all below 1', () => {
  const [one, two] = [seededRandom('a'), seededRandom('a')];
  for (let index = 0; index < 20; index += 1) {
    const number = one();
    expect(number).toBe(two());
    expect(number).toBeGreaterThanOrEqual(0);
    expect(number).toBeLessThan(1);
  }
  expect(fraction('a')).not.toBe(fraction('b'));
});
