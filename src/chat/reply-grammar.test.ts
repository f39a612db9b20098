import { describe, expect, test } from 'vitest';
import { openNativeGrammar } from '../grammar/testing/native-grammar.ts';
import { structuredGrammar } from './reply-grammar.ts';
import { weather } from './testing/scripted-text.ts';

const native = openNativeGrammar();
const output = { type: 'schema', schema: weather.parameters } as const;
const grammar = (prompt: string, template: string) => structuredGrammar(output, { prompt, template }) ?? '';

test('structuredGrammar: undefined for text', () => {
  expect(structuredGrammar({ type: 'text' }, { prompt: '', template: '' })).toBeUndefined();
});

describe.skipIf('missing' in native)('structuredGrammar, in the engine', () => {
  const accepts = (gbnf: string, text: string) => !('missing' in native) && native.accepts(gbnf, text);
  const answer = '{"city": "Paris"}';

  test('without thinking: the answer only', () => {
    expect(accepts(grammar('', ''), answer)).toBe(true);
    expect(accepts(grammar('', ''), `<think>hm</think>${answer}`)).toBe(false);
  });

  test.each([answer, `<think>hm</think>\n${answer}`, `<think>\na < b </p> "x"\n</think>\n\n${answer}`])(
    'a model that may think may write %j',
    (text) => expect(accepts(grammar('', 'uses <think> tags'), text)).toBe(true),
  );

  test('thinking that the prompt has opened must be closed', () => {
    const opened = grammar('assistant\n<think>\n', '');
    expect(accepts(opened, `hm, hm</think>${answer}`)).toBe(true);
    expect(accepts(opened, answer)).toBe(false);
  });

  test('only the format follows the thinking', () => {
    expect(accepts(grammar('', '<think>'), '<think>hm</think>Sure: {}')).toBe(false);
  });
});
