import { describe, expect, test } from 'vitest';
import type { Grammar } from '../core/request.ts';
import { whole } from '../core/slices.ts';
import { openNativeGrammar } from '../grammar/testing/native-grammar.ts';
import { compilePattern, PatternSearch } from '../patterns/search.ts';
import { replyGrammar, structuredGrammar } from './reply-grammar.ts';
import { chatRequest, weather } from './testing/scripted-text.ts';

const native = openNativeGrammar();
const output = { type: 'schema', schema: weather.parameters } as const;
const grammar = (prompt: string, template: string) => structuredGrammar(output, { prompt, template }) ?? '';

describe('replyGrammar: the marker of a call starts the grammar', () => {
  const start = (reply: string, prompt: string, template: string) => {
    const request = chatRequest('Weather?', { tools: [weather] });
    const made = whole(replyGrammar(request, 'hermes', { prompt, template }));
    const [trigger] = (made as Grammar).triggers ?? [];
    if (trigger?.type === 'word') return reply.indexOf(trigger.text);
    const search = new PatternSearch(compilePattern(trigger?.type === 'pattern' ? trigger.source : ''));
    [...reply].forEach((character, index) => void search.push(character.codePointAt(0) as number, index));
    return search.found(reply.length) ?? -1;
  };
  const quoted = 'I could write <tool_call>, hm';
  const call = '<tool_call>';

  test.each([
    ['anywhere without thinking', `Well. ${call}`, '', '', 6],
    ['after thoughts that the prompt has opened', `${quoted}</think>\n${call}`, '<think>\n', '<think>', 38],
    ['not inside of them', quoted, '<think>\n', '<think>', -1],
    ['after thoughts of the reply', `<think>${quoted}</think>${call}`, '', '<think>', 44],
    ['not inside of those', `\n<think>${quoted}`, '', '<think>', -1],
    ['at once, where thoughts are possible', call, '', '<think>', 0],
    ['after text, where thoughts are possible', `<b> Well.${call}`, '', '<think>', 9],
  ])('%s', (_, reply, prompt, template, expected) => {
    expect(start(reply, prompt, template)).toBe(expected);
  });
});

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
