import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyCharacter } from '../../core/testing/any-character.ts';
import { sentencesOf, shortStart } from './sentences.ts';

const said = (text: string, longest = 240): string[] => sentencesOf(text, longest).map((sentence) => sentence.trim());

describe('sentencesOf: splits at sentence marks', () => {
  test.each([
    ['one', 'Hello there.', ['Hello there.']],
    ['two', 'Hello there. How are you?', ['Hello there.', 'How are you?']],
    ['three kinds of ends', 'Stop! Why? Because.', ['Stop!', 'Why?', 'Because.']],
    ['several marks', 'What?! No... Yes!!', ['What?!', 'No...', 'Yes!!']],
    ['an ellipsis', 'Well\u2026 Fine.', ['Well\u2026', 'Fine.']],
    ['an ellipsis in the middle', 'Well\u2026 maybe later.', ['Well\u2026 maybe later.']],
    ['no end', 'No end here', ['No end here']],
    ['no words', '...', ['...']],
  ])('%s', (_, text, sentences) => {
    expect(said(text)).toEqual(sentences);
  });
});

describe('sentencesOf: dots that do not end a sentence', () => {
  test.each([
    ['titles', 'Dr. Smith met Mrs. Jones. They left.', ['Dr. Smith met Mrs. Jones.', 'They left.']],
    ['initials', 'J. R. R. Tolkien wrote it. We read it.', ['J. R. R. Tolkien wrote it.', 'We read it.']],
    ['the word I', 'So do I. You too?', ['So do I.', 'You too?']],
    ['decimals', 'It costs 3.14 or 2.71 euros. Cheap.', ['It costs 3.14 or 2.71 euros.', 'Cheap.']],
    ['addresses', 'See example.com for more. Bye.', ['See example.com for more.', 'Bye.']],
    ['for example', 'Fruit, e.g. Apples, is good. Yes.', ['Fruit, e.g. Apples, is good.', 'Yes.']],
    ['small letters after it', 'We ate, slept, etc. and left.', ['We ate, slept, etc. and left.']],
    ['a capital after it', 'We ate, slept, etc. Then we left.', ['We ate, slept, etc.', 'Then we left.']],
    ['times of day', 'Come at 5 p.m. sharp. Or not.', ['Come at 5 p.m. sharp.', 'Or not.']],
    ['numbers of things', 'See no. 5 and fig. 3 there. OK.', ['See no. 5 and fig. 3 there.', 'OK.']],
    ['the word no', 'He said no. Nobody spoke.', ['He said no.', 'Nobody spoke.']],
    ['numbers in lists', '1. Wash it.\n2. Dry it.', ['1. Wash it.', '2. Dry it.']],
    ['a year at the end', 'It was in 1999. Then it ended.', ['It was in 1999.', 'Then it ended.']],
    ['a small number at the end', 'There are 12. We counted.', ['There are 12.', 'We counted.']],
  ])('%s', (_, text, sentences) => {
    expect(said(text)).toEqual(sentences);
  });
});

describe('sentencesOf: quotations', () => {
  test.each([
    ['end with their mark', '"Go away." She went.', ['"Go away."', 'She went.']],
    ['go on', '"Really?" she asked. "Yes."', ['"Really?" she asked.', '"Yes."']],
    ['curly', '\u201cGo!\u201d \u2018No.\u2019 Fine.', ['\u201cGo!\u201d', '\u2018No.\u2019', 'Fine.']],
    ['brackets', '(It rained.) We stayed.', ['(It rained.)', 'We stayed.']],
  ])('%s', (_, text, sentences) => {
    expect(said(text)).toEqual(sentences);
  });
});

describe('sentencesOf: lines', () => {
  test.each([
    ['a heading', 'Chapter One\nIt was dark.', ['Chapter One', 'It was dark.']],
    ['a line that was too long', 'It was a dark\nand stormy night.', ['It was a dark\nand stormy night.']],
    ['a blank line', 'one\n\ntwo', ['one', 'two']],
    ['Windows', 'One\r\nTwo', ['One', 'Two']],
  ])('%s', (_, text, sentences) => {
    expect(said(text)).toEqual(sentences);
  });
});

describe('sentencesOf: other scripts', () => {
  test.each([
    ['Chinese', '你好。今天天气很好！走吗？', ['你好。', '今天天气很好！', '走吗？']],
    ['Japanese with quotes', '「行こう。」彼は言った。', ['「行こう。」', '彼は言った。']],
    ['Hindi', 'नमस्ते। आप कैसे हैं?', ['नमस्ते।', 'आप कैसे हैं?']],
    ['Arabic', 'كيف حالك؟ أنا بخير.', ['كيف حالك؟', 'أنا بخير.']],
    ['Russian', 'Привет. Как дела? Хорошо.', ['Привет.', 'Как дела?', 'Хорошо.']],
    ['German', 'Es gibt z.B. Äpfel. Und Birnen.', ['Es gibt z.B. Äpfel.', 'Und Birnen.']],
  ])('%s', (_, text, sentences) => {
    expect(said(text)).toEqual(sentences);
  });
});

describe('sentencesOf: long sentences', () => {
  test('are split at a semicolon rather than a comma', () => {
    const text = 'first part here, and more; second part, and so on and on';
    expect(said(text, 40)).toEqual(['first part here, and more;', 'second part, and so on and on']);
  });

  test('are split at a comma rather than a space', () => {
    expect(said('one two three four, five six seven eight nine', 30)).toEqual([
      'one two three four,',
      'five six seven eight nine',
    ]);
  });

  test('are split at a space rather than within a word', () => {
    expect(said('one two three four five six', 12)).toEqual(['one two', 'three four', 'five six']);
  });

  test('are split anywhere without spaces', () => {
    expect(said('a'.repeat(25), 10)).toEqual(['a'.repeat(10), 'a'.repeat(10), 'a'.repeat(5)]);
  });

  test('are not split within a surrogate pair', () => {
    const pieces = sentencesOf('😀'.repeat(20), 7);
    expect(pieces.every((piece) => piece === Buffer.from(piece, 'utf8').toString('utf8'))).toBe(true);
  });

  test('are not split at a comma near the start', () => {
    const [first = ''] = said(`Yes, ${'word '.repeat(40)}`, 60);
    expect(first.length).toBeGreaterThan(20);
  });
});

describe('sentencesOf: any text', () => {
  const words = fc.array(
    fc.constantFrom(
      'word',
      'Word',
      'Dr.',
      'e.g.',
      '3.14',
      '...',
      '?!',
      '"',
      ')',
      '。',
      '！',
      '\n',
      '\n\n',
      ' ',
      ',',
      '😀',
      'I.',
      '1.',
      'é',
    ),
    { maxLength: 120 },
  );
  const texts = fc.oneof(
    words.map((list) => list.join(' ')),
    words.map((list) => list.join('')),
    fc.string({ unit: anyCharacter, maxLength: 400 }),
  );

  test('the parts are the text, and none is too long', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 2, max: 120 }), (text, longest) => {
        const sentences = sentencesOf(text, longest);
        expect(sentences.join('')).toBe(text);
        expect(Math.max(0, ...sentences.map(({ length }) => length))).toBeLessThanOrEqual(longest);
      }),
    );
  });

  test('empty and blank text: no sentences', () => {
    expect(sentencesOf('', 100)).toEqual([]);
    expect(sentencesOf('One.\n\n\n  ', 100)).toEqual(['One.\n\n\n  ']);
    expect(sentencesOf('  \n ', 100).join('')).toBe('  \n ');
  });

  test.each([
    ['dots', '.'],
    ['dots and spaces', '. '],
    ['lines', '\n'],
    ['blank lines with small letters', '\n \n a'],
    ['quotes', '."'],
    ['letters', 'a'],
    ['sentences', 'This is one of many sentences. '],
  ])('100,000 characters of %s take bounded time', (_, unit) => {
    const text = unit.repeat(Math.ceil(100_000 / unit.length));
    expect(sentencesOf(text, 240).join('')).toBe(text);
  });
});

describe('shortStart', () => {
  const comma = 'When the weather was lovely we set out along the river, but nobody had told us about the bridge.';

  test('cuts a long first sentence behind a comma, and no other', () => {
    expect(shortStart([comma, comma], 50)).toEqual([comma.slice(0, 56), comma.slice(56), comma]);
  });

  test('cuts before a conjunction without a comma, else behind a word', () => {
    const joined = 'The weather was lovely on that day and nobody had told us about the bridge at the end of it';
    expect(shortStart([joined], 40)[0]).toBe('The weather was lovely on that day ');
    const words = 'one two three four five six seven eight nine ten eleven twelve thirteen fourteen';
    expect(shortStart([words], 30)[0]).toBe('one two three four five six ');
  });

  test.each(['Short.', '', 'x'.repeat(300)])('%.10j stays whole', (sentence) => {
    expect(shortStart([sentence], 40)).toEqual([sentence]);
  });
});

test('sentencesOf: splits digits and unbroken letters sooner, because they take longer to say', () => {
  const lengths = (text: string) => sentencesOf(text, 240).map(({ length }) => length);
  expect(Math.max(...lengths('9'.repeat(2000)))).toBeLessThanOrEqual(80);
  expect(Math.max(...lengths('0 '.repeat(500)))).toBeLessThanOrEqual(120);
  expect(Math.max(...lengths('a'.repeat(5000)))).toBeLessThanOrEqual(90);
  expect(lengths('In 1984 there were 12 of them.')).toEqual([30]);
});

test.each([
  ['one word', 'a'.repeat(200_000)],
  ['emoji', '\u{1f600}'.repeat(50_000)],
  ['marks', '.'.repeat(200_000)],
  ['line ends', '\n'.repeat(200_000)],
  ['tags', '<break time="1s"/>'.repeat(10_000)],
  ['control characters', '\u0000\u0007\u001b'.repeat(50_000)],
])('sentencesOf: 200 KB of %s without a sentence mark are split, and the parts are the text', (_, text) => {
  const parts = sentencesOf(text, 240);
  expect(parts.join('') === text).toBe(true);
  expect(Math.max(...parts.map(({ length }) => length))).toBeLessThanOrEqual(240);
});
