import { expect, test } from 'vitest';
import type { GrammarTrigger } from '../../../core/request.ts';
import { TriggerWatch } from './grammar.ts';

/** What the grammar is told of, as text; tokens are numbered as they come. */
function begun(triggers: readonly GrammarTrigger[], ...pieces: readonly (string | Uint8Array)[]) {
  const watch = new TriggerWatch(triggers);
  for (const [token, piece] of pieces.entries()) {
    const overdue = watch.push(token, Buffer.from(piece));
    if (overdue) return overdue.map((part) => ('token' in part ? part.token : Buffer.from(part.bytes).toString()));
  }
  return undefined;
}

const word = (text: string): GrammarTrigger => ({ type: 'word', text });
const pattern = (source: string): GrammarTrigger => ({ type: 'pattern', source });

test('nothing is found where nothing is', () => {
  expect(begun([word('<call>')], 'Hello', ' <cal', 'm>')).toBeUndefined();
});

test('TriggerWatch: from the trigger word on, with the rest of its token', () => {
  expect(begun([word('<call>')], 'Hm', ' <c', 'all', '>{', 'x')).toEqual(['<c', 2, 3]);
  expect(begun([word('<call>')], 'Hm', '<c', 'all', '>{')).toEqual([1, 2, 3]);
});

test('a word is taken as it is written, not as a pattern', () => {
  expect(begun([word('a.b*(')], 'axb', 'a.b*(')).toEqual([1]);
});

test('characters of several bytes may be cut anywhere', () => {
  const bytes = Buffer.from('→x');
  expect(begun([word('→')], bytes.subarray(0, 1), bytes.subarray(1, 2), bytes.subarray(2))).toEqual([0, 1, 2]);
});

test('TriggerWatch: skips bytes that are not UTF-8', () => {
  expect(begun([word('a')], Uint8Array.of(0xff, 0xc3), 'a')).toEqual([1]);
});

test('of several the first that is listed counts, once one is found', () => {
  expect(begun([word('b'), word('a')], 'xa', 'b')).toEqual(['a']);
  expect(begun([word('b'), word('a')], 'xab')).toEqual(['b']);
});

test('a whole pattern looks at the text up to the end of each token', () => {
  expect(begun([pattern('^(?:\\s*\\{)$')], ' ', '{')).toEqual([0, 1]);
  expect(begun([pattern('^(?:\\s*\\{)$')], ' ', '{"', 'x')).toBeUndefined();
});

test('TriggerWatch: linear time for any pattern', () => {
  const pieces = Array.from({ length: 20_000 }, () => 'aaaa ');
  expect(begun([pattern('(.+)+QQQ'), pattern('[\\s\\S]*?(<x>[\\s\\S]*)')], ...pieces)).toBeUndefined();
});
