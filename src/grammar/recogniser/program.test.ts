import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Characters, includes, union } from '../../patterns/characters.ts';
import { compileGbnf } from './compile.ts';
import { CharacterClasses, operation } from './program.ts';

const range = fc
  .tuple(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 40 }))
  .map(([from, length]): [number, number] => [from, from + length]);
const sets = fc.array(
  fc.array(range, { maxLength: 4 }).map((ranges): Characters => union(ranges)),
  { maxLength: 6 },
);

describe('classes of characters', () => {
  test('tell apart what any set tells apart, and nothing else', () => {
    fc.assert(
      fc.property(sets, fc.integer({ min: 0, max: 350 }), fc.integer({ min: 0, max: 350 }), (all, one, other) => {
        const classes = new CharacterClasses(all);
        const [kind, otherKind] = [classes.classOf(one), classes.classOf(other)];
        if (all.some((set) => includes(set, one) !== includes(set, other))) expect(kind).not.toBe(otherKind);
        all.forEach((set, index) => {
          expect(includes(classes.sets[index] ?? [], kind)).toBe(includes(set, one));
        });
      }),
      { numRuns: 500 },
    );
  });

  test('know characters of every length', () => {
    const classes = new CharacterClasses([[[0x61, 0x7a]], [[0x4e00, 0x9fff]], [[0x1f600, 0x1f600]]]);
    const kinds = ['a', 'm', '0', 'é', '日', '本', '😀', '😁'].map((text) =>
      classes.classOf(text.codePointAt(0) as number),
    );
    expect(kinds[0]).toBe(kinds[1]);
    expect(kinds[4]).toBe(kinds[5]);
    expect(new Set(kinds).size).toBe(6);
    expect(classes.overlap(1, 0, 0x4dff)).toBe(false);
    expect(classes.overlap(1, 0, 0x4e00)).toBe(true);
  });
});

describe('a program', () => {
  const steps = (gbnf: string) => compileGbnf(gbnf, () => undefined).operations.length;
  const words = (count: number, begin: string) =>
    `root ::= ${Array.from({ length: count }, (_, index) => `"${begin}${index + 100}"`).join(' | ')}`;

  test('has one step for each character of a literal, and one for the end', () => {
    expect(steps('root ::= "abc"')).toBe(4);
    expect(steps('root ::= ""')).toBe(1);
    expect(steps('root ::= [a-z] .')).toBe(3);
  });

  test('has what alternatives have in common at their beginning only once', () => {
    expect(steps(words(10, 'the same beginning '))).toBeLessThan(40);
    expect(steps('root ::= "abc" x | "abd" x\nx ::= "y"')).toBe(1 + 2 + 1 + 2 + 2 + 2);
  });

  test('has each copy of what is counted', () => {
    expect(steps('root ::= "a"{5}')).toBe(6);
    expect(steps('root ::= "a"{2,4}')).toBe(1 + 2 + 2 * 2);
    expect(steps('root ::= "a"*')).toBe(3);
    expect(steps('root ::= "a"{0}')).toBe(1);
  });

  test('calls rules instead of copying them', () => {
    const { operations, operands, root, starts } = compileGbnf('x ::= "y"\nroot ::= x x', () => undefined);
    expect([...operations].filter((kind) => kind === operation.call)).toHaveLength(2);
    expect(root).toBe(1);
    expect(starts).toHaveLength(2);
    expect(operands[starts[root] as number]).toBe(0);
  });

  test('of alternatives that are each the beginning of the next is made without end of the stack', () => {
    const stairs = Array.from({ length: 700 }, (_, index) => `"${'a'.repeat(index + 1)}"`).join(' | ');
    expect(steps(`root ::= ${stairs}`)).toBeLessThan(300_000);
  });
});
