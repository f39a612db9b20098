import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Characters, includes, union } from '../../patterns/characters.ts';
import { accepts, begins, compileGbnf, machineOf } from '../testing/recognise.ts';
import { CharacterClasses, operation } from './compile.ts';
import { GbnfError, grammarLimits } from './parse.ts';

function trouble(gbnf: string): string {
  try {
    compileGbnf(gbnf, () => undefined);
    return 'none';
  } catch (error) {
    if (!(error instanceof GbnfError)) throw error;
    expect(error).toMatchObject({ status: 400, details: { field: 'grammar' } });
    return error.details.expected.replace('valid GBNF, but at ', '');
  }
}

describe('compileGbnf: rejects with line and column', () => {
  test.each([
    ['', 'line 1, column 1 there is no rule named root'],
    ['  # nothing but a comment', 'line 1, column 1 there is no rule named root'],
    ['rot ::= "a"', 'line 1, column 1 there is no rule named root'],
    ['root ::= "a', 'line 1, column 12 the grammar ends in the middle of something'],
    ['root ::= [a-z', 'line 1, column 14 the grammar ends in the middle of something'],
    ['root ::= [a-', 'line 1, column 13 the grammar ends in the middle of something'],
    ['root ::= []', 'line 1, column 10 there is a class without characters'],
    ['root ::= [z-a]', 'line 1, column 14 the range is in the wrong order'],
    ['root = "a"', 'line 1, column 6 ::= is missing'],
    ['root ::= "a"\n\n  ::= "b"', 'line 3, column 3 the name of a rule is missing'],
    ['root ::= "a" % "b"', 'line 1, column 14 there is an unexpected "%"'],
    ['root ::= "a" 😀', 'line 1, column 14 there is an unexpected "😀"'],
    ['root ::= "a" )', 'line 1, column 14 there is an unexpected ")"'],
    ['root ::= ("a"', 'line 1, column 14 a ) is missing'],
    ['root ::= ("a" &)', 'line 1, column 15 there is an unexpected "&" or a missing )'],
    ['root ::= "a"\n  | "b"', 'line 2, column 3 the name of a rule is missing'],
    ['root ::= * "a"', 'line 1, column 10 there is nothing before * that it could repeat'],
    ['root ::= {3}', 'line 1, column 10 there is nothing before { that it could repeat'],
    ['root ::= "a"{}', 'line 1, column 14 a number is missing'],
    ['root ::= "a"{2', 'line 1, column 15 a } is missing'],
    ['root ::= "a"{2,x}', 'line 1, column 16 a } is missing'],
    ['root ::= "a"{3,2}', 'line 1, column 18 the counts are in the wrong order'],
    ['root ::= "\\q"', 'line 1, column 11 there is an unknown escape \\q'],
    ['root ::= "\\x4"', 'line 1, column 13 2 hexadecimal digits are missing'],
    ['root ::= "\\u12G4"', 'line 1, column 13 4 hexadecimal digits are missing'],
    ['root ::= "a\0b"', 'line 1, column 12 there is a NUL character'],
    ['root ::= other', 'line 1, column 10 there is no rule named other'],
    ['root ::= "a"\nunused ::= ( "x" | missing )', 'line 2, column 20 there is no rule named missing'],
    ['root ::= "a"\r\nx ::= y', 'line 2, column 7 there is no rule named y'],
    ['root ::= "a"\rx ::= y', 'line 2, column 7 there is no rule named y'],
    ['root ::= <nobody>', 'line 1, column 10 <nobody> is not one token of this model'],
    ['root ::= <', 'line 1, column 10 there is no token like <name> or <[number]>'],
    ['root ::= !"a"', 'line 1, column 11 there is no token like <name> or <[number]>'],
  ])('%j', (gbnf, expected) => expect(trouble(gbnf)).toBe(expected));

  test.each([
    ['root ::= root "a"', 'line 1, column 1 the rule root begins with itself (left recursion)'],
    ['root ::= a\na ::= b "x"\nb ::= a', 'line 2, column 1 the rule a begins with itself (left recursion)'],
    [
      'root ::= a\na ::= "x"? b\nb ::= ("y"* | "") a',
      'line 2, column 1 the rule a begins with itself (left recursion)',
    ],
    ['root ::= empty root\nempty ::= ""', 'line 1, column 1 the rule root begins with itself (left recursion)'],
    ['root ::= "a"\nb ::= b', 'line 2, column 1 the rule b begins with itself (left recursion)'],
  ])('left recursion: %j', (gbnf, expected) => expect(trouble(gbnf)).toBe(expected));

  test.each([
    [
      '100,000 brackets',
      `root ::= ${'('.repeat(100_000)}"a"${')'.repeat(100_000)}`,
      'groups are nested deeper than 200',
    ],
    ['counts of counts', 'root ::= (((("a"{1,99}){1,99}){1,99}){1,99}){1,99}', 'grows beyond 500000 steps'],
    ['one huge count', 'root ::= "ab"{999999999999}', 'grows beyond 500000 steps'],
    ['a huge choice of nothing', 'root ::= ""{0,999999999}', 'grows beyond 500000 steps'],
    ['a tower of quantifiers', `root ::= "a"${'*'.repeat(100_000)}`, 'too many quantifiers in a row'],
    ['megabytes', `root ::= "${'a'.repeat(1_200_000)}"`, 'longer than 1200000 characters'],
    ['a literal without end', `root ::= "${'a'.repeat(grammarLimits.steps)}"`, 'grows beyond 500000 steps'],
    ['many mistakes', `root ::= ${'"a" '.repeat(1000)}%`, 'line 1, column 4010 there is an unexpected "%"'],
  ])('too large: %s', (_, gbnf, expected) => expect(trouble(gbnf)).toContain(expected));

  test('accepts large grammars within the limits', () => {
    expect(trouble(`root ::= ${'('.repeat(200)}"a"${')'.repeat(200)}`)).toBe('none');
    expect(trouble('root ::= [a-z]{1,100000}')).toBe('none');
    expect(trouble(`root ::= ${Array.from({ length: 40_000 }, (_, index) => `"word ${index}"`).join(' | ')}`)).toBe(
      'none',
    );
    const chain = Array.from({ length: 20_000 }, (_, index) => `r${index} ::= r${index + 1}`).join('\n');
    expect(trouble(`root ::= r0\n${chain}\nr20000 ::= "end"`)).toBe('none');
    expect(trouble(`root ::= "a"${' '.repeat(1_000_000)}`)).toBe('none');
    expect(trouble(`root ::= "a" #${'#'.repeat(1_000_000)}`)).toBe('none');
  });
});

describe('parseGbnf', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['root ::= "a" "b"', ['ab'], ['', 'a', 'abb', 'b']],
    ['root ::= "a" | "b" "c" | ""', ['a', 'bc', ''], ['b', 'ac']],
    ['root ::= "a"* "b"+ "c"?', ['b', 'aabb', 'abc'], ['', 'a', 'ac', 'bcc']],
    ['root ::= "ab"* "c"', ['c', 'ababc'], ['abac', 'abb']],
    ['root ::= "a"{2} "b"{1,} "c"{0,2}', ['aab', 'aabbbcc'], ['ab', 'aa', 'aaabc', 'aabccc']],
    ['root ::= "a" {2 , 3}', ['aa', 'aaa'], ['a', 'aaaa']],
    ['root ::= ("a" | "b"){2}', ['aa', 'ab', 'ba'], ['a', 'abc']],
    ['root ::= ("a"?)* "b"', ['b', 'aaab'], ['a', 'ba']],
    ['root ::= [a-cx-]+', ['abcx-'], ['d', '']],
    ['root ::= [^a-c\\]]', ['d', '-', '\n', 'é', '😀'], ['a', ']', '']],
    ['root ::= [^]', ['a', ']'], ['']],
    ['root ::= .', ['a', '\n', '日'], ['', 'ab']],
    ['root ::= "\\x41\\u00e9\\U0001F600\\n\\t\\r\\\\\\"\\[\\]\\-"', ['Aé😀\n\t\r\\"[]-'], ['A']],
    ['root ::= "日本" [ぁ-ん]+', ['日本ご'], ['日', '日本', '日本x']],
    ['# first\nroot ::= a # then\n\na ::= "x" # last', ['x'], ['a']],
    ['root ::= (\n  "a" # one\n  | "b"\n)\n', ['a', 'b'], ['']],
    ['root ::= "a" |\n  "b"', ['a', 'b'], ['ab']],
    ['root ::=\n  "a"', ['a'], []],
    ['root ::= "a"\r\nx ::= "b"\r\n', ['a'], ['b']],
    ['root ::= a\na ::= "x"\na ::= "y"', ['y'], ['x']],
    ['root ::= 1-a\n1-a ::= "x"', ['x'], []],
    ['root ::= ""', [''], ['a']],
    ['root ::= "a" | | "b"', ['a', '', 'b'], ['c']],
    ['root ::= ""{3} "a"', ['a'], ['']],
  ])('%j', (gbnf, fitting, wrong) => {
    const machine = machineOf(gbnf);
    for (const text of fitting) expect(accepts(machine, text), text).toBe(true);
    for (const text of wrong) expect(accepts(machine, text), text).toBe(false);
  });

  test('counts are exact', () => {
    const machine = machineOf('root ::= "a"{3000,3001}');
    expect([2999, 3000, 3001, 3002].map((count) => accepts(machine, 'a'.repeat(count)))).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect(begins(machine, 'a'.repeat(2999))).toBe(true);
  });

  test('any text is accepted or rejected with a sentence', () => {
    const word = fc.constantFrom(
      ...['root', '::=', '"a"', '"', '[', ']', '[a-z]', '(', ')', '|', '*', '+', '?', '{', '}', '1', ',', '{2,3}'],
      ...['\n', ' ', '#', '\\', '\\x', '<', '>', '!', '<[3]>', 'x', '.', '-', '^', '\0', 'é', '😀'],
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 20 }), fc.boolean(), (words, begun) => {
        const gbnf = `${begun ? 'root ::= ' : ''}${words.join('')}`;
        const message = trouble(gbnf);
        if (message !== 'none' && !/^line \d+, column \d+ /.test(message)) throw new Error(message);
      }),
      { numRuns: 3000 },
    );
  });
});

function circles(rules: Readonly<Record<string, string>>): boolean {
  const gbnf = Object.entries(rules).map(([name, body]) => `${name} ::= ${body}`);
  try {
    compileGbnf(gbnf.join('\n'), () => undefined);
    return false;
  } catch (error) {
    expect(String(error)).toContain('begins with itself');
    return true;
  }
}

describe('compileGbnf: left recursion', () => {
  test.each([
    [{ root: 'root' }],
    [{ root: '"a" | root "b"' }],
    [{ root: '("a" | root)*' }],
    [{ root: 'a', a: 'b', b: 'c', c: 'a "x"' }],
    [{ root: '"x"? root' }],
    [{ root: '"x"* root "y"' }],
    [{ root: '"x"{0,3} root "y"' }],
    [{ root: 'empty also root', empty: '""', also: 'empty | "z"' }],
    [{ root: '"x"', unused: 'unused "y"' }],
  ])('rejects %j', (rules) => expect(circles(rules as Record<string, string>)).toBe(true));

  test.each([
    [{ root: '"a" root | ""' }],
    [{ root: '"(" root ")" | "x"' }],
    [{ root: 'a root | "x"', a: '"y"' }],
    [{ root: '"x"{1,3} root | "y"' }],
    [{ root: 'a b', a: '"x" b', b: '"y" a | ""' }],
    [{ root: '(a | b)*', a: '""', b: 'a a' }],
  ])('accepts %j', (rules) => expect(circles(rules as Record<string, string>)).toBe(false));

  test('rejects exactly the cycles of first references', () => {
    const names = ['root', 'a', 'b', 'c', 'd'];
    const body = fc.tuple(fc.constantFrom(...names), fc.constantFrom('first', 'later', 'maybe'));
    fc.assert(
      fc.property(fc.tuple(body, body, body, body, body), (bodies) => {
        const rules = Object.fromEntries(
          bodies.map(([to, how], index) => {
            const written = { first: `${to} "x"`, later: `"x" ${to}`, maybe: `"x"? ${to} "y"` }[how];
            return [names[index] as string, written as string];
          }),
        );
        const leads = (from: string) => {
          const [to, how] = bodies[names.indexOf(from)] as [string, string];
          return how === 'later' ? undefined : to;
        };
        const inCircle = names.some((name) => {
          let at = leads(name);
          for (let step = 0; step < names.length && at !== undefined && at !== name; step += 1) at = leads(at);
          return at === name;
        });
        expect(circles(rules)).toBe(inCircle);
      }),
      { numRuns: 300 },
    );
  });
});

const range = fc
  .tuple(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 40 }))
  .map(([from, length]): [number, number] => [from, from + length]);
const sets = fc.array(
  fc.array(range, { maxLength: 4 }).map((ranges): Characters => union(ranges)),
  { maxLength: 6 },
);

describe('CharacterClasses', () => {
  test('distinguish exactly what any set distinguishes', () => {
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

  test('cover characters of any UTF-8 length', () => {
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

describe('compileGbnf: program', () => {
  const steps = (gbnf: string) => compileGbnf(gbnf, () => undefined).operations.length;
  const words = (count: number, begin: string) =>
    `root ::= ${Array.from({ length: count }, (_, index) => `"${begin}${index + 100}"`).join(' | ')}`;

  test('has one step per character of a literal, and one for the end', () => {
    expect(steps('root ::= "abc"')).toBe(4);
    expect(steps('root ::= ""')).toBe(1);
    expect(steps('root ::= [a-z] .')).toBe(3);
  });

  test('has common prefixes of alternatives once', () => {
    expect(steps(words(10, 'the same beginning '))).toBeLessThan(40);
    expect(steps('root ::= "abc" x | "abd" x\nx ::= "y"')).toBe(1 + 2 + 1 + 2 + 2 + 2);
  });

  test('has a copy for each counted repetition', () => {
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

  test('alternatives that are prefixes of each other do not overflow the stack', () => {
    const stairs = Array.from({ length: 700 }, (_, index) => `"${'a'.repeat(index + 1)}"`).join(' | ');
    expect(steps(`root ::= ${stairs}`)).toBeLessThan(300_000);
  });
});
