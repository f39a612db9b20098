import { expect, test } from 'vitest';
import type { GrammarTrigger } from '../../../core/request.ts';
import { TriggerWatch } from './grammar.ts';

/** The text that the grammar gets; token ids are consecutive. */
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

test('TriggerWatch: undefined without a trigger', () => {
  expect(begun([word('<call>')], 'Hello', ' <cal', 'm>')).toBeUndefined();
});

test('TriggerWatch: from the trigger word on, with the rest of its token', () => {
  expect(begun([word('<call>')], 'Hm', ' <c', 'all', '>{', 'x')).toEqual(['<c', 2, 3]);
  expect(begun([word('<call>')], 'Hm', '<c', 'all', '>{')).toEqual([1, 2, 3]);
});

test('TriggerWatch: a word is literal, not a pattern', () => {
  expect(begun([word('a.b*(')], 'axb', 'a.b*(')).toEqual([1]);
});

test('TriggerWatch: multibyte characters may be cut anywhere', () => {
  const bytes = Buffer.from('→x');
  expect(begun([word('→')], bytes.subarray(0, 1), bytes.subarray(1, 2), bytes.subarray(2))).toEqual([0, 1, 2]);
});

test('TriggerWatch: skips bytes that are not UTF-8', () => {
  expect(begun([word('a')], Uint8Array.of(0xff, 0xc3), 'a')).toEqual([1]);
});

test('TriggerWatch: the first listed of several matches', () => {
  expect(begun([word('b'), word('a')], 'xa', 'b')).toEqual(['a']);
  expect(begun([word('b'), word('a')], 'xab')).toEqual(['b']);
});

test('TriggerWatch: a full pattern is matched to the end of each token', () => {
  expect(begun([pattern('^(?:\\s*\\{)$')], ' ', '{')).toEqual([0, 1]);
  expect(begun([pattern('^(?:\\s*\\{)$')], ' ', '{"', 'x')).toBeUndefined();
});

test('TriggerWatch: linear time for any pattern', () => {
  const pieces = Array.from({ length: 20_000 }, () => 'aaaa ');
  expect(begun([pattern('(.+)+QQQ'), pattern('[\\s\\S]*?(<x>[\\s\\S]*)')], ...pieces)).toBeUndefined();
});
