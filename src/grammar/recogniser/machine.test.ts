import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openNativeGrammar } from '../testing/native-grammar.ts';
import { accepts, begins, compileGbnf, machineOf, walked } from '../testing/recognise.ts';
import { type Call, GrammarMachine, type Item, mayEnd, StateTable } from './machine.ts';

describe('GrammarMachine', () => {
  test('follows rules that call each other', () => {
    const machine = machineOf('root ::= list\nlist ::= "[" (item ("," item)*)? "]"\nitem ::= list | [0-9]+');
    for (const text of ['[]', '[1]', '[1,[22,[]],3]']) expect(accepts(machine, text), text).toBe(true);
    for (const text of ['', '[', '[1', '[1,', ']', '[]]', '[1]2', '[,]'])
      expect(accepts(machine, text), text).toBe(false);
    for (const text of ['', '[', '[[[', '[1,']) expect(begins(machine, text), text).toBe(true);
  });

  test('follows all readings in parallel', () => {
    const machine = machineOf('root ::= "a" root "b" | "a" root "c" | "x"');
    const text = 'a'.repeat(300);
    expect(begins(machine, text)).toBe(true);
    expect(accepts(machine, `${text}x${'bc'.repeat(150)}`)).toBe(true);
    expect(accepts(machine, `${text}x${'bc'.repeat(149)}b`)).toBe(false);
  });

  test('right recursion of any length', () => {
    const machine = machineOf('root ::= item root | ""\nitem ::= [a-z] | "," item');
    expect(accepts(machine, 'a,b'.repeat(5000))).toBe(true);
    expect(machine.start.items.length).toBeLessThan(5);
    expect(walked(machine, 'abc'.repeat(1000))?.state.items.length).toBeLessThan(5);
  });

  test('nested recursion of any depth', () => {
    const machine = machineOf('root ::= "(" root ")" | ""');
    const [open, close] = ['('.repeat(20_000), ')'.repeat(20_000)];
    expect(accepts(machine, open + close)).toBe(true);
    expect(accepts(machine, `${open}${close})`)).toBe(false);
    expect(accepts(machine, `(${open}${close}`)).toBe(false);
  });

  test('chains of rules of any length', () => {
    const chain = Array.from({ length: 10_000 }, (_, index) => `r${index} ::= r${index + 1} "."?`).join('\n');
    const machine = machineOf(`root ::= r0\n${chain}\nr10000 ::= "end"`);
    expect(accepts(machine, 'end')).toBe(true);
    expect(accepts(machine, 'end...')).toBe(true);
    expect(accepts(machine, 'en.')).toBe(false);
  });

  test('rules that may be empty', () => {
    const machine = machineOf('root ::= e a e a e\na ::= e "a" | e\ne ::= "" | x\nx ::= ""');
    expect(['', 'a', 'aa', 'aaa'].map((text) => accepts(machine, text))).toEqual([true, true, true, false]);
  });

  test('equal continuations give the same state', () => {
    const machine = machineOf('root ::= "\\"" char* "\\""\nchar ::= [^"\\\\] | "\\\\" ["\\\\]');
    const once = walked(machine, '"a')?.state;
    expect(once).toBeDefined();
    expect(walked(machine, '"some other text')?.state).toBe(once);
    expect(walked(machine, '"\\"\\\\é')?.state).toBe(once);
    expect(walked(machine, '"\\')?.state).not.toBe(once);
  });
});

describe('TextWalk: incomplete characters', () => {
  const machine = machineOf('root ::= "é" | [日-本] "!" | "😀"');

  test('accepts bytes one by one', () => {
    for (const text of ['é', '日!', '本!', '😀']) {
      const position = walked(machine, ...[...Buffer.from(text)].map((byte) => Uint8Array.of(byte)));
      expect(position && mayEnd(position), text).toBe(true);
    }
  });

  test('rejects bytes that begin no allowed character', () => {
    expect(walked(machine, Uint8Array.of(0xc3))).toBeDefined();
    expect(walked(machine, Uint8Array.of(0xc4))).toBeUndefined();
    expect(walked(machine, Uint8Array.of(0xc3), Uint8Array.of(0xaa))).toBeUndefined();
    expect(walked(machine, Uint8Array.of(0xe6))).toBeDefined();
    expect(walked(machine, Uint8Array.of(0xe6, 0x80))).toBeUndefined();
    expect(walked(machine, Uint8Array.of(0xf0, 0x9f))).toBeDefined();
  });

  test('an incomplete character cannot end the text', () => {
    const open = machineOf('root ::= .*');
    const position = walked(open, 'a', Uint8Array.of(0xe6));
    expect(position && mayEnd(position)).toBe(false);
  });

  test.each([
    [[0x80]],
    [[0xff]],
    [[0xc0, 0x80]],
    [[0xc3, 0x28]],
    [[0xe0, 0x80, 0x80]],
    [[0xf5]],
    [[0x61, 0xfe]],
    [[0]],
  ])('rejects invalid UTF-8: %j', (bytes) =>
    expect(walked(machineOf('root ::= .*'), Uint8Array.from(bytes))).toBeUndefined(),
  );
});

describe('GrammarMachine: hostile grammars', () => {
  test('throws if a text has too many readings', () => {
    const program = compileGbnf('root ::= s\ns ::= "a" s s s | "a" s s | "a" s | "a"', () => undefined);
    const machine = new GrammarMachine(program, 2000);
    expect(begins(machine, 'a'.repeat(4))).toBe(true);
    expect(() => begins(machine, 'a'.repeat(100))).toThrow(
      'grammar must be simpler: the text can be read in so many ways',
    );
    expect(begins(machine, 'a'.repeat(4))).toBe(true);
  });

  test('the work per token is bounded', () => {
    const machine = machineOf('root ::= s\ns ::= "a" s s s | "a" s s | "a" s | "a"');
    expect(accepts(machine, 'a'.repeat(200))).toBe(true);
  });

  test('40,000 alternatives', () => {
    const words = Array.from({ length: 40_000 }, (_, index) => `"word ${index}"`).join(' | ');
    const machine = machineOf(`root ::= ${words}`);
    expect(accepts(machine, 'word 39999')).toBe(true);
    expect(accepts(machine, 'word 40000')).toBe(false);
  });
});

const native = openNativeGrammar();
describe.skipIf('missing' in native)('GrammarMachine: random grammars', () => {
  const { expression } = fc.letrec<{ expression: string }>((tie) => ({
    expression: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.constantFrom('"a"', '"b"', '"ab"', '[a-b]', '[^a]', '.', 'one', 'two', '"c"'),
      fc.tuple(tie('expression'), tie('expression')).map((parts) => parts.join(' ')),
      fc.tuple(tie('expression'), tie('expression')).map((parts) => `(${parts.join(' | ')})`),
      fc
        .tuple(tie('expression'), fc.constantFrom('*', '+', '?', '{2}', '{1,3}', '{0,2}', '{2,}'))
        .map(([item, count]) => `(${item})${count}`),
    ),
  }));
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd'), maxLength: 8 });

  test('accept the same texts as llama.cpp', () => {
    let compared = 0;
    fc.assert(
      fc.property(expression, expression, expression, fc.array(text, { maxLength: 6 }), (root, one, two, texts) => {
        const gbnf = `root ::= ${root}\none ::= "a" (${one})? | "b"\ntwo ::= "b" (${two}) "c"? | "a"\n`;
        if ('missing' in native || !native.parses(gbnf)) return;
        compared += 1;
        for (const one of texts) {
          native.begins(gbnf, one);
          native.accepts(gbnf, one);
        }
      }),
      { numRuns: 400 },
    );
    expect(compared).toBeGreaterThan(100);
  });
});

const program = compileGbnf('root ::= "abc" <[7]> x\nx ::= "y"', () => undefined);
const root: Call = { id: 0, rule: 0, returns: [] };
const item = (step: number, call = root): Item => ({ step, call });
const setStep = program.operations.indexOf(0);
const tokenStep = program.operations.indexOf(1);

describe('StateTable', () => {
  test('equal states and calls are identical, in any order of places', () => {
    const table = new StateTable(program);
    const [one, other] = [item(setStep), item(setStep + 1)];
    expect(table.state([one, other], false)).toBe(table.state([item(setStep + 1), item(setStep)], false));
    expect(table.call(1, [one, other])).toBe(table.call(1, [other, one]));
  });

  test('distinguishes end, place, rule and caller', () => {
    const table = new StateTable(program);
    const state = table.state([item(setStep)], false);
    expect(table.state([item(setStep)], true)).not.toBe(state);
    expect(table.state([item(setStep + 1)], false)).not.toBe(state);
    const call = table.call(1, [item(setStep)]);
    expect(table.call(0, [item(setStep)])).not.toBe(call);
    expect(table.call(1, [item(setStep, call)])).not.toBe(call);
    expect(table.state([item(setStep, call)], false)).not.toBe(state);
  });

  test('hasTokens: states that wait for tokens', () => {
    const table = new StateTable(program);
    expect(table.state([item(setStep)], false).hasTokens).toBe(false);
    expect(table.state([item(setStep), item(tokenStep)], false).hasTokens).toBe(true);
  });

  test('does not compare large states, and clears full tables', () => {
    const table = new StateTable(program);
    const many = Array.from({ length: 200 }, (_, index) => item(setStep, { id: index + 1, rule: 0, returns: [] }));
    expect(table.state(many, false)).not.toBe(table.state(many, false));
    expect(table.call(0, many)).not.toBe(table.call(0, many));
    const first = table.call(1, [item(setStep)]);
    for (let id = 1; id <= 20_000; id += 1) table.call(1, [item(setStep, { id: -id, rule: 0, returns: [] })]);
    expect(table.call(1, [item(setStep)])).not.toBe(first);
  });

  test('call ids are unique', () => {
    const table = new StateTable(program);
    const ids = [table.newId(), table.call(0, []).id, table.call(1, []).id, table.newId()];
    expect(new Set([0, ...ids]).size).toBe(5);
  });
});
