import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Grammar, GrammarTrigger } from '../../../core/request.ts';
import { Candidates } from '../../../sampling/candidates.ts';
import { GrammarCache, type RequestGrammar } from './grammar.ts';
import { letterVocabulary } from './testing/letter-vocabulary.ts';

const pieces = ['a', 'b', 'c', 'ab', '<x>', ' ', '{"name": ', '{"name', '": null', '": "f"', '}', 'abc', '<end>'];
const vocabulary = letterVocabulary(...pieces);
const end = pieces.length - 1;
const idOf = (piece: string) => pieces.indexOf(piece);

function make(gbnf: string, triggers?: readonly GrammarTrigger[], more: Partial<Grammar> = {}): RequestGrammar {
  return new GrammarCache(vocabulary).take({ gbnf, retainState: false, ...(triggers ? { triggers } : {}), ...more });
}

/** The texts of the tokens that may come next. */
function allowed(grammar: RequestGrammar): readonly string[] {
  const candidates = new Candidates(pieces.length);
  pieces.forEach((_, id) => {
    candidates.ids[id] = id;
    candidates.logits[id] = id;
  });
  candidates.size = pieces.length;
  grammar.keepAllowed(candidates);
  const kept = [...candidates.ids.subarray(0, candidates.size)];
  expect([...candidates.logits.subarray(0, candidates.size)]).toEqual(kept);
  return kept.map((id) => pieces[id] as string);
}

const take = (grammar: RequestGrammar, ...texts: readonly string[]) => texts.map((text) => grammar.accept(idOf(text)));
const word = (text: string): GrammarTrigger => ({ type: 'word', text });

describe('RequestGrammar', () => {
  test('allows tokens that continue it, and end tokens where it may end', () => {
    const grammar = make('root ::= "ab" "c"?');
    expect(allowed(grammar)).toEqual(['a', 'ab', 'abc']);
    take(grammar, 'ab');
    expect(allowed(grammar)).toEqual(['c', '<end>']);
    take(grammar, 'c');
    expect(allowed(grammar)).toEqual(['<end>']);
  });

  test('ignores forced tokens and end tokens that did not end the text', () => {
    const grammar = make('root ::= "a" "b" "c"');
    expect(take(grammar, 'a', '<x>', '<end>', 'c')).toEqual([true, true, true, true]);
    expect(allowed(grammar)).toEqual(['b']);
  });

  test('replay: continues from the given tokens', () => {
    const grammar = make('root ::= "a" ("b" | "c") "a"');
    take(grammar, 'ab', 'a');
    grammar.replay(Int32Array.of(idOf('a')));
    expect(allowed(grammar)).toEqual(['b', 'c']);
  });

  test('may name tokens with any text', () => {
    const grammar = make(`root ::= <x> "a" !<[${idOf('b')}]>`);
    expect(allowed(grammar)).toEqual(['<x>']);
    take(grammar, '<x>', 'a');
    expect(allowed(grammar)).not.toContain('b');
    expect(allowed(grammar)).not.toContain('<end>');
    expect(allowed(grammar)).toHaveLength(pieces.length - 2);
    take(grammar, 'abc');
    expect(allowed(grammar)).toEqual(['<end>']);
  });

  test('matches a token by name and by text at once', () => {
    const grammar = make(`root ::= <[${idOf('ab')}]> "c" | "ab" "a"`);
    take(grammar, 'ab');
    expect(allowed(grammar)).toEqual(['a', 'c']);
  });

  test('retainState: keeps its state for the same grammar only', () => {
    const shelf = new GrammarCache(vocabulary);
    const wanted = { gbnf: 'root ::= "a" "b" "c"', retainState: true };
    const first = shelf.take(wanted);
    first.begin();
    take(first, 'a');
    shelf.giveBack(first);
    const second = shelf.take(wanted);
    second.begin();
    expect(allowed(second)).toEqual(['b']);
    take(second, 'b');
    second.replay(new Int32Array(0));
    expect(allowed(second)).toEqual(['b']);
    shelf.giveBack(second);
    expect(allowed(shelf.take({ ...wanted, retainState: false }))).toEqual(['a', 'ab', 'abc']);
    expect(allowed(shelf.take({ ...wanted, gbnf: 'root ::= "c"' }))).toEqual(['c']);
  });

  test('rejects an invalid grammar', () => {
    expect(() => make('root ::= "a')).toThrow(/line 1, column 12/);
    expect(() => make('root ::= <nobody>')).toThrow('<nobody> is not one token of this model');
  });
});

describe('RequestGrammar: lazy', () => {
  test('allows everything before the trigger, then constrains from the trigger on', () => {
    const grammar = make('root ::= "ab" "c" "a"', [word('ab')]);
    expect(allowed(grammar)).toEqual(pieces);
    expect(take(grammar, 'c', 'a')).toEqual([true, true]);
    expect(allowed(grammar)).toEqual(pieces);
    take(grammar, 'b');
    expect(allowed(grammar)).toEqual(['c']);
    take(grammar, 'c', 'a');
    expect(allowed(grammar)).toEqual(['<end>']);
  });

  test('can start within a token, and reads the rest of it', () => {
    const grammar = make('root ::= "bc" "a"', [word('b')]);
    take(grammar, 'abc');
    expect(allowed(grammar)).toEqual(['a']);
  });

  test('can start at a token id', () => {
    const grammar = make('root ::= "<x>" "b"', [{ type: 'token', token: idOf('<x>') }]);
    take(grammar, 'a', '<x>');
    expect(allowed(grammar)).toEqual(['b']);
  });

  test('starts at the first group of a pattern', () => {
    const grammar = make('root ::= "b" "c"', [{ type: 'pattern', source: 'a(b)' }]);
    take(grammar, 'c', 'a', 'b');
    expect(allowed(grammar)).toEqual(['c']);
  });

  test('a text that does not match after the trigger is free, and accept returns false', () => {
    const gbnf = 'root ::= "{\\"name\\": \\"f\\"" "}"';
    const grammar = make(gbnf, [word('{"name": ')]);
    expect(take(grammar, '{"name', '": null', '}')).toEqual([true, false, true]);
    expect(allowed(grammar)).toEqual(pieces);
    expect(take(grammar, ' ', '{"name', '": "f"')).toEqual([true, true, true]);
    expect(allowed(grammar)).toEqual(['}']);
  });

  test('waits again after a rewind to before the trigger only', () => {
    const grammar = make('root ::= "ab" "c"', [word('ab')]);
    take(grammar, 'c', 'ab');
    expect(allowed(grammar)).toEqual(['c']);
    grammar.replay(Int32Array.of(idOf('c')));
    expect(allowed(grammar)).toEqual(pieces);
    grammar.replay(Int32Array.of(idOf('c'), idOf('a'), idOf('b')));
    expect(allowed(grammar)).toEqual(['c']);
  });

  test.each<[GrammarTrigger, string]>([
    [word('a'), 'something with which the grammar can begin, which "a" is not'],
    [{ type: 'token', token: 0 }, 'something with which the grammar can begin, which token 0 is not'],
    [{ type: 'token', token: 99 }, 'something with which the grammar can begin, which token 99 is not'],
  ])('rejects %j, which can never match', (trigger, expected) => {
    expect(() => make('root ::= "b"', [trigger])).toThrow(`grammar_triggers must be ${expected}.`);
  });

  test('any trigger accepts any tokens', () => {
    const trigger = fc.constantFrom<GrammarTrigger>(
      word('ab'),
      { type: 'token', token: idOf('ab') },
      { type: 'pattern', source: '(a+)?b' },
      { type: 'pattern', source: '[\\s\\S]*?(<x>[\\s\\S]*)' },
      { type: 'pattern', source: '^(?:a*)$' },
    );
    fc.assert(
      fc.property(
        fc.array(trigger, { minLength: 1, maxLength: 3 }),
        fc.array(fc.integer({ min: 0, max: end }), { maxLength: 30 }),
        (triggers, tokens) => {
          const grammar = make('root ::= "ab" [a-c<>x ]*', triggers);
          const answers = tokens.map((token) => grammar.accept(token));
          const kept = allowed(grammar);
          grammar.replay(Int32Array.from(tokens));
          expect(allowed(grammar)).toEqual(kept);
          expect(answers).toHaveLength(tokens.length);
        },
      ),
    );
  });
});

const plain = letterVocabulary('a', 'b', '<x>', '<end>');

describe('GrammarCache', () => {
  /** Calls of the tokenizer: one for each compiled grammar that names a token. */
  function counted() {
    let asked = 0;
    const shelf = new GrammarCache({
      ...plain,
      tokenize: (text, options) => {
        asked += 1;
        return plain.tokenize(text, options);
      },
    });
    return { shelf, asked: () => asked };
  }
  const grammar = (extra: string) => ({ gbnf: `root ::= <x> # ${extra}`, retainState: false });

  test('compiles the grammar of a chat once for all its turns', () => {
    const { shelf, asked } = counted();
    for (let turn = 0; turn < 5; turn += 1) shelf.take(grammar('same'));
    expect(asked()).toBe(1);
  });

  test('retains the four most recently used', () => {
    const { shelf, asked } = counted();
    for (const name of ['1', '2', '3', '4', '1', '5', '1', '3']) shelf.take(grammar(name));
    expect(asked()).toBe(5);
    shelf.take(grammar('2'));
    expect(asked()).toBe(6);
  });

  test('each request has its own state', () => {
    const shelf = new GrammarCache(plain);
    const same = { gbnf: 'root ::= "a" "b"', retainState: false };
    const [one, other] = [shelf.take(same), shelf.take(same)];
    expect(one).not.toBe(other);
    one.accept(0);
    shelf.giveBack(one);
    expect(shelf.take(same)).not.toBe(one);
  });

  test('retains nothing of a rejected grammar', () => {
    const { shelf, asked } = counted();
    for (let time = 0; time < 2; time += 1) {
      expect(() => shelf.take({ gbnf: 'root ::= <x> nobody', retainState: false })).toThrow('no rule named nobody');
      expect(() => shelf.take({ gbnf: 'root ::= <nobody>', retainState: false })).toThrow('<nobody> is not one token');
    }
    expect(asked()).toBeGreaterThan(1);
  });

  test('gives a retained state to one request at a time', () => {
    const shelf = new GrammarCache(plain);
    const kept = { gbnf: 'root ::= "a" "b"', retainState: true };
    const first = shelf.take(kept);
    shelf.giveBack(first);
    expect(shelf.take(kept)).toBe(first);
    expect(shelf.take(kept)).not.toBe(first);
  });
});
