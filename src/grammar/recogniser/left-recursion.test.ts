import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileGbnf } from './compile.ts';

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

describe('a rule begins with itself', () => {
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
  ])('in %j', (rules) => expect(circles(rules as Record<string, string>)).toBe(true));

  test.each([
    [{ root: '"a" root | ""' }],
    [{ root: '"(" root ")" | "x"' }],
    [{ root: 'a root | "x"', a: '"y"' }],
    [{ root: '"x"{1,3} root | "y"' }],
    [{ root: 'a b', a: '"x" b', b: '"y" a | ""' }],
    [{ root: '(a | b)*', a: '""', b: 'a a' }],
  ])('not in %j', (rules) => expect(circles(rules as Record<string, string>)).toBe(false));

  test('exactly where a chain of first references leads back to it', () => {
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
