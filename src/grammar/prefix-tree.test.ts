import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { prefixTree } from './prefix-tree.ts';
import { openNativeGrammar } from './testing/native-grammar.ts';

const tree = (...texts: string[]) =>
  prefixTree(texts.map((text) => ({ text: `${text}.`, follows: `"${texts.indexOf(text)}"` })));

test('one text is a sequence', () => {
  expect(tree('abc')).toBe('"abc." "0"');
});

test('what texts have in common stands there once', () => {
  expect(tree('get_time', 'get_weather', 'put')).toBe('( "get_" ( "time." "0" | "weather." "1" ) | "put." "2" )');
});

test('a text that goes on where another ends parts there', () => {
  expect(tree('tool', 'tool_2', 'tool_21')).toBe('"tool" ( "." "0" | "_2" ( "." "1" | "1." "2" ) )');
});

test('characters of two halves are not parted', () => {
  expect(tree('\u{1F600}', '\u{1F601}')).toBe('( "\u{1F600}." "0" | "\u{1F601}." "1" )');
});

const engine = openNativeGrammar();
describe.skipIf('missing' in engine)('in the engine', () => {
  if ('missing' in engine) return;

  test('each text is followed by its own, and nothing else is let through', () => {
    const name = fc.stringMatching(/^[ab_"\\]{0,4}$/);
    fc.assert(
      fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 6 }), (names) => {
        const grammar = `root ::= ${tree(...names)}\n`;
        for (const [index, text] of names.entries()) {
          expect(engine.accepts(grammar, `${text}.${index}`)).toBe(true);
          expect(engine.accepts(grammar, `${text}.${index + 1}`)).toBe(false);
        }
        expect(engine.accepts(grammar, 'c.0')).toBe(false);
      }),
      { numRuns: 60 },
    );
  });
});
