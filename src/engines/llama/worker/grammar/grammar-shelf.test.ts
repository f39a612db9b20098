import { describe, expect, test } from 'vitest';
import { letterVocabulary } from '../testing/letter-vocabulary.ts';
import { GrammarShelf } from './grammar-shelf.ts';

const plain = letterVocabulary('a', 'b', '<x>', '<end>');

describe('a shelf of grammars', () => {
  /** How often the tokenizer was asked: once for each grammar that is made and names a token. */
  function counted() {
    let asked = 0;
    const shelf = new GrammarShelf({
      ...plain,
      tokenize: (text, options) => {
        asked += 1;
        return plain.tokenize(text, options);
      },
    });
    return { shelf, asked: () => asked };
  }
  const grammar = (extra: string) => ({ gbnf: `root ::= <x> # ${extra}`, retainState: false });

  test('makes the grammar of a chat once, however many turns ask for it', () => {
    const { shelf, asked } = counted();
    for (let turn = 0; turn < 5; turn += 1) shelf.take(grammar('same'));
    expect(asked()).toBe(1);
  });

  test('keeps the four that were used last', () => {
    const { shelf, asked } = counted();
    for (const name of ['1', '2', '3', '4', '1', '5', '1', '3']) shelf.take(grammar(name));
    expect(asked()).toBe(5);
    shelf.take(grammar('2'));
    expect(asked()).toBe(6);
  });

  test('gives each request a text of its own', () => {
    const shelf = new GrammarShelf(plain);
    const same = { gbnf: 'root ::= "a" "b"', retainState: false };
    const [one, other] = [shelf.take(same), shelf.take(same)];
    expect(one).not.toBe(other);
    one.accept(0);
    shelf.giveBack(one);
    expect(shelf.take(same)).not.toBe(one);
  });

  test('keeps nothing of a grammar that was refused', () => {
    const { shelf, asked } = counted();
    for (let time = 0; time < 2; time += 1) {
      expect(() => shelf.take({ gbnf: 'root ::= <x> nobody', retainState: false })).toThrow('no rule named nobody');
      expect(() => shelf.take({ gbnf: 'root ::= <nobody>', retainState: false })).toThrow('<nobody> is not one token');
    }
    expect(asked()).toBeGreaterThan(1);
  });

  test('hands a kept state to one request at a time', () => {
    const shelf = new GrammarShelf(plain);
    const kept = { gbnf: 'root ::= "a" "b"', retainState: true };
    const first = shelf.take(kept);
    shelf.giveBack(first);
    expect(shelf.take(kept)).toBe(first);
    expect(shelf.take(kept)).not.toBe(first);
  });
});
