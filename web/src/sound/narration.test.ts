import { expect, test } from 'vitest';
import { splitNarration } from './narration.ts';

/** Speech in brackets. */
const shown = (text: string, plain: 'speech' | 'narration' = 'speech'): string =>
  splitNarration(text, plain)
    .map((part) => (part.kind === 'speech' ? `[${part.text}]` : part.text))
    .join('|');

test.each([
  ['"Hello," she said. "Come in."', '["Hello,"]| she said. |["Come in."]'],
  ['“Hello,” she said.', '[“Hello,”]| she said.'],
  ['He nodded. “I’m ‘almost’ ready,” he said.', 'He nodded. |[“I’m ‘almost’ ready,”]| he said.'],
  ['„Komm herein“, sagte sie. »Sofort!«', '[„Komm herein“]|, sagte sie. |[»Sofort!«]'],
  ['« Bonjour », dit-elle, « entrez. »', '[« Bonjour »]|, dit-elle, |[« entrez. »]'],
  ['„Wejdź” – powiedziała.', '[„Wejdź”]| – powiedziała.'],
  ['«Здравствуйте», — сказала она.', '[«Здравствуйте»]|, — сказала она.'],
  ['”Kom in”, sa hon.', '[”Kom in”]|, sa hon.'],
  ['彼女は「こんにちは。『入って』」と言った。', '彼女は|[「こんにちは。『入って』」]|と言った。'],
  ['她说：“你好。”然后走了。', '她说：|[“你好。”]|然后走了。'],
  ['قالت: «مرحبا». ثم ابتسمت.', 'قالت: |[«مرحبا»]|. ثم ابتسمت.'],
  ['«El dijo «no» ayer», contó.', '[«El dijo «no» ayer»]|, contó.'],
])('splitNarration: quotation marks of %j', (text, parts) => {
  expect(shown(text)).toBe(parts);
});

test.each([
  ['*smiles* Hello there! *She waves.*', '*smiles*|[ Hello there! ]|*She waves.*'],
  ['I *really* mean it.', '[I *really* mean it.]'],
  ['That is **very** good. *nods* Yes.', '[That is **very** good. ]|*nods*|[ Yes.]'],
  ['*He looks up.*\nWell.\n*He sits.*', '*He looks up.*\n|[Well.\n]|*He sits.*'],
  ['*She says* "I *do*."', '*She says* |["I *do*."]'],
  ['2 * 3 * 4 = 24', '[2 * 3 * 4 = 24]'],
])('splitNarration: actions in stars of %j', (text, parts) => {
  expect(shown(text)).toBe(parts);
});

test.each([
  ['Nobody spoke.', 'Nobody spoke.'],
  ['The board is 5" wide and 7" long.', 'The board is 5" wide and 7" long.'],
  ['', ''],
])('splitNarration: a text without speech, %j, is of the kind that it is given as', (text, parts) => {
  expect(shown(text, 'narration')).toBe(parts);
  expect(shown(text, 'speech')).toBe(text === '' ? '' : `[${text}]`);
});

test('splitNarration: speech that is not closed ends with its paragraph', () => {
  expect(shown('“I saw it.\n“And then it was gone,” he said.\nIt rained.')).toBe(
    '[“I saw it.\n“And then it was gone,”]| he said.\nIt rained.',
  );
  expect(shown('She said "wait\nand left. "No"')).toBe('She said |["wait\n]|and left. |["No"]');
});

test('splitNarration: the parts are the text, of any marks', () => {
  let seed = 7;
  const next = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % below;
  };
  const pieces = ['"', '“', '”', '„', '«', '»', '「', '」', '*', '\n', ' ', 'a', 'b.', '5'];
  for (let round = 0; round < 500; round += 1) {
    const text = Array.from({ length: next(20) }, () => pieces[next(pieces.length)]).join('');
    const parts = splitNarration(text, 'narration');
    expect(parts.map((part) => part.text).join('')).toBe(text);
    expect(parts.every((part, index) => part.text !== '' && part.kind !== parts[index - 1]?.kind)).toBe(true);
  }
});
