import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { machineOf } from '../../../grammar/testing/recognise.ts';
import { Candidates } from '../../../sampling/candidates.ts';
import { TokenGrammar } from './grammar.ts';
import { letterVocabulary } from './testing/letter-vocabulary.ts';

const smile = Buffer.from('😀');
const pieces = ['a', 'b', 'ab', '', smile.subarray(0, 2), smile.subarray(2), Uint8Array.of(0xff), 'a\0', '<end>'];
const vocabulary = letterVocabulary(...pieces);

function allowed(grammar: TokenGrammar): readonly number[] {
  const candidates = new Candidates(pieces.length);
  pieces.forEach((_, id) => {
    candidates.ids[id] = id;
  });
  candidates.size = pieces.length;
  grammar.keepAllowed(candidates);
  return [...candidates.ids.subarray(0, candidates.size)];
}

describe('TokenGrammar', () => {
  test('tokens may be parts of characters', () => {
    const grammar = new TokenGrammar(machineOf('root ::= "a"? "😀"'), vocabulary);
    expect(allowed(grammar)).toEqual([0, 4]);
    expect(grammar.accept(4)).toBe(true);
    expect(allowed(grammar)).toEqual([5]);
    expect(grammar.accept(5)).toBe(true);
    expect(allowed(grammar)).toEqual([8]);
  });

  test('rejects tokens without text, with invalid bytes or with NUL', () => {
    const grammar = new TokenGrammar(machineOf('root ::= .*'), vocabulary);
    expect(allowed(grammar)).toEqual([0, 1, 2, 4, 8]);
    for (const token of [3, 6, 7]) expect(grammar.accept(token)).toBe(false);
    expect(allowed(grammar)).toEqual([0, 1, 2, 4, 8]);
  });

  test('a rejected token does not change the state', () => {
    const grammar = new TokenGrammar(machineOf('root ::= "ab" "b"'), vocabulary);
    const before = grammar.position;
    expect(grammar.accept(1)).toBe(false);
    expect(grammar.acceptBytes(Buffer.from('ax'))).toBe(false);
    expect(grammar.position).toBe(before);
    expect(grammar.acceptBytes(Buffer.from('a'))).toBe(true);
    expect(allowed(grammar)).toEqual([1]);
  });

  test('a named token cannot come within a character', () => {
    const grammar = new TokenGrammar(machineOf('root ::= ("😀" | "a")* <[1]>'), vocabulary);
    expect(allowed(grammar)).toContain(1);
    grammar.accept(4);
    expect(allowed(grammar)).toEqual([5]);
    expect(grammar.accept(1)).toBe(false);
  });

  test('allows exactly the tokens that it accepts', () => {
    const grammars = [
      'root ::= ("ab" | "😀")* "a"',
      'root ::= [^b]* "b"?',
      `root ::= <[2]>* !<[0]> "b"`,
      'root ::= .{0,3}',
    ];
    fc.assert(
      fc.property(
        fc.constantFrom(...grammars),
        fc.array(fc.integer({ min: 0, max: pieces.length - 2 }), { maxLength: 12 }),
        (gbnf, tokens) => {
          const grammar = new TokenGrammar(machineOf(gbnf), vocabulary);
          for (const token of tokens) expect(allowed(grammar).includes(token)).toBe(grammar.accept(token));
        },
      ),
    );
  });
});
