import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyCharacter } from '../../../core/testing/any-character.ts';
import { normalizedText } from './normalize.ts';

const read = (text: string): string => normalizedText(text, 'en-us');

/** Each row: a text and how it is read. */
function reads(name: string, rows: readonly (readonly [string, string])[]): void {
  describe(name, () => {
    test.each(rows)('%j is read %j', (text, words) => {
      expect(read(text)).toBe(words);
    });
  });
}

reads('numbers', [
  ['There are 24 hours in a day.', 'There are twenty-four hours in a day.'],
  ['0', 'zero'],
  ['It has 8,400,000 people.', 'It has eight million four hundred thousand people.'],
  ['Pi is 3.14159.', 'Pi is three point one four one five nine.'],
  ['It is -5 today.', 'It is minus five today.'],
  ['Agent 007', 'Agent zero zero seven'],
  ['He came 3rd, she came 1st.', 'He came third, she came first.'],
  ['the 21st century', 'the twenty-first century'],
  ['Chapter 12 begins on page 345.', 'Chapter twelve begins on page three hundred forty-five.'],
  ['1000000007', 'one billion seven'],
  ['.5 is half', 'zero point five is half'],
  ['Call room 404, please.', 'Call room four hundred four, please.'],
  [
    '12345678901234567890',
    'one two three four five six seven eight nine zero one two three four five six seven eight nine zero',
  ],
  ['a 4x4 grid', 'a four by four grid'],
  ['It ended 21-14.', 'It ended twenty-one to fourteen.'],
  ['pages 10–12', 'pages ten to twelve'],
  ['a ratio of 16:9', 'a ratio of sixteen to nine'],
  ['#1 in the list', 'number one in the list'],
  ['~50 people', 'about fifty people'],
]);

reads('fractions', [
  ['Add 1/2 cup.', 'Add one half cup.'],
  ['3/4 of it', 'three quarters of it'],
  ['2 1/2 hours', 'two and one half hours'],
  ['½ a cup', 'one half a cup'],
  ['2½ cups', 'two and one half cups'],
  ['2/3 agree', 'two thirds agree'],
  ['I give it 8/10.', 'I give it eight out of ten.'],
  ['open 24/7', 'open twenty-four seven'],
]);

reads('years', [
  ['She was born in 1984.', 'She was born in nineteen eighty-four.'],
  ['In 1905 it rained.', 'In nineteen oh five it rained.'],
  ['The year 2005 was good.', 'The year two thousand five was good.'],
  ['since 2000', 'since two thousand'],
  ['in 2026', 'in twenty twenty-six'],
  ['from 1914–1918', 'from nineteen fourteen to nineteen eighteen'],
  ['In the 1990s we danced.', 'In the nineteen nineties we danced.'],
  ["the '80s", 'the eighties'],
  ['the 2000s', 'the two thousands'],
  ['in 44 BC', 'in forty-four B C'],
  ['1984 was a book.', 'nineteen eighty-four was a book.'],
  ['There are 2000 people here.', 'There are two thousand people here.'],
  ['I counted 1500 sheep.', 'I counted one thousand five hundred sheep.'],
  ['in 1066', 'in one thousand sixty-six'],
]);

reads('dates', [
  ['The deadline is 2026-11-17.', 'The deadline is November seventeenth, twenty twenty-six.'],
  ['on November 17th', 'on November seventeenth'],
  ['on Nov. 17, 2026', 'on November seventeenth, twenty twenty-six'],
  ['on 3 May 2019', 'on the third of May twenty nineteen'],
  ['on the 3rd of May', 'on the third of May'],
  ['in May 2019', 'in May twenty nineteen'],
  ['by 17/11', 'by November seventeenth'],
  ['by 17/11/2026', 'by November seventeenth, twenty twenty-six'],
  ['on 11/17/2026', 'on November seventeenth, twenty twenty-six'],
  ['am 17.11.2026', 'am November seventeenth, twenty twenty-six'],
  ['He may 5 times', 'He may five times'],
]);

test('dates: a date of small numbers is read in the order of the country', () => {
  expect(normalizedText('on 3/4/2026', 'en-us')).toBe('on March fourth, twenty twenty-six');
  expect(normalizedText('on 3/4/2026', 'en-gb')).toBe('on April third, twenty twenty-six');
});

reads('times', [
  ['at 9:30', 'at nine thirty'],
  ['Is it 7:05 or 7:50?', 'Is it seven oh five or seven fifty?'],
  ['at 9:00', "at nine o'clock"],
  ['at 14:00', 'at fourteen hundred'],
  ['at 9:00 pm', 'at nine P M'],
  ['from 8 a.m. to 6 p.m.', 'from eight A M to six P M.'],
  ['We met at 8 p.m. She left.', 'We met at eight P M. She left.'],
  ['at 5pm today', 'at five P M today'],
  ['12:34:56', 'twelve thirty-four and fifty-six seconds'],
]);

reads('money', [
  ['It costs $3.50.', 'It costs three dollars and fifty cents.'],
  ['It costs $1.', 'It costs one dollar.'],
  ['It costs $0.99.', 'It costs ninety-nine cents.'],
  ['It costs 5 €.', 'It costs five euros.'],
  ['It costs 3,50 €.', 'It costs three euros and fifty cents.'],
  ['It lost £2m.', 'It lost two million pounds.'],
  ['He earned $1.2 billion.', 'He earned one point two billion dollars.'],
  ['a $5 bill', 'a five dollar bill'],
  ['$10-20 each', 'ten to twenty dollars each'],
  ['$1,250', 'one thousand two hundred fifty dollars'],
  ['20 USD', 'twenty US dollars'],
  ['50¢', 'fifty cents'],
  ['£1.01', 'one pound and one penny'],
  ['$100/month', 'one hundred dollars per month'],
  ['-$5', 'minus five dollars'],
  ['$50k', 'fifty thousand dollars'],
  ['¥500', 'five hundred yen'],
]);

reads('units', [
  ['About 75% said yes.', 'About seventy-five percent said yes.'],
  ['Only 0.5% failed.', 'Only zero point five percent failed.'],
  ['5-10% of them', 'five to ten percent of them'],
  ['It was -5 °C.', 'It was minus five degrees Celsius.'],
  ['72°F', 'seventy-two degrees Fahrenheit'],
  ['at 120 km/h', 'at one hundred twenty kilometres per hour'],
  ['5 kg', 'five kilograms'],
  ['1 kg', 'one kilogram'],
  ['12 ft wide', 'twelve feet wide'],
  ['a 5 km run', 'a five kilometre run'],
  ['2.5 GB', 'two point five gigabytes'],
  ['3 m²', 'three square metres'],
  ['She is 5\'11".', 'She is five feet eleven.'],
  ['It takes 30 min.', 'It takes thirty minutes.'],
  ['I have 5 in stock', 'I have five in stock'],
]);

reads('abbreviations', [
  ['Dr. Miller', 'Doctor Miller'],
  ['Mr. and Mrs. Brown', 'Mister and Missus Brown'],
  ['He lives at 221 Baker St.', 'He lives at two hundred twenty-one Baker Street.'],
  ['St. John is here.', 'Saint John is here.'],
  ['fruit, e.g. apples', 'fruit, for example apples'],
  ['the best, i.e. mine', 'the best, that is mine'],
  ['apples, pears, etc.', 'apples, pears, et cetera.'],
  ['cats vs. dogs', 'cats versus dogs'],
  ['No. 5 is alive', 'number five is alive'],
  ['see p. 12 and fig. 3', 'see page twelve and figure three'],
  ['No. I will not.', 'No. I will not.'],
  ['Sammy Davis Jr. sang.', 'Sammy Davis Junior sang.'],
]);

reads('acronyms', [
  ['the FBI', 'the F B I'],
  ['NASA was founded in 1958.', 'NASA was founded in nineteen fifty-eight.'],
  ['the U.S.A. and', 'the U S A and'],
  ['two CPUs', "two C P U's"],
  ['an HTTP API', 'an H T T P A P I'],
  ['I am OK', 'I am OK'],
  ['STOP RIGHT THERE', 'STOP RIGHT THERE'],
  ['an MP3 file', 'an M P three file'],
  ['the BBC’s plan', "the B B C's plan"],
]);

reads('Roman numerals', [
  ['Henry VIII had six wives.', 'Henry the eighth had six wives.'],
  ['World War II ended.', 'World War two ended.'],
  ['Chapter IV', 'Chapter four'],
  ['Louis XIV', 'Louis the fourteenth'],
  ['Mary I think so', 'Mary I think so'],
  ['Part MIX', 'Part MIX'],
]);

reads('addresses', [
  ['See https://www.example.com/docs?x=1.', 'See example dot com slash docs.'],
  ['Go to example.org now', 'Go to example dot org now'],
  ['Write to john.doe@example.com.', 'Write to john dot doe at example dot com.'],
  ['at localhost:5001', 'at localhost: five thousand one'],
  ['192.168.0.1', 'one nine two dot one six eight dot zero dot one'],
  ['version 1.2.3', 'version one point two point three'],
  ['v2.0.1', 'version two point zero point one'],
  ['open readme.md', 'open readme dot M D'],
  ['bbc.co.uk', 'bbc dot C O dot U K'],
]);

reads('telephone numbers', [
  ['Call 555-1234.', 'Call five five five, one two three four.'],
  ['Call (555) 123-4567.', 'Call five five five, one two three, four five six seven.'],
  ['+44 20 7946 0958', 'plus four four, two zero, seven nine four six, zero nine five eight'],
]);

reads('symbols', [
  ['Salt & pepper', 'Salt and pepper'],
  ['2 + 2 = 4', 'two plus two equals four'],
  ['3 × 4', 'three times four'],
  ['x² + y²', 'x squared plus y squared'],
  ['his/her', 'his or her'],
  ['#winning', 'hashtag winning'],
  ['Parley™', 'Parley'],
]);

reads('markup and emoji', [
  ['**Bold** and *italic* `code`', 'Bold and italic code'],
  ['# Title\n\nText', 'Title\n\nText'],
  ['- one\n- two', 'one\ntwo'],
  ['[the docs](https://example.com/x)', 'the docs'],
  ['Hello 👋🏽 there 🙂!', 'Hello there!'],
  ['```js\nlet x\n```', 'let x'],
  ['| a | b |\n|---|---|\n| c | d |', 'a, b.\n\nc, d.'],
  ['snake_case_name stays', 'snake case name stays'],
  ['5 * 3 * 2', 'five times three times two'],
]);

describe('readableText', () => {
  test('plain text: stays as it is', () => {
    const text = "It's a plain sentence, isn't it? “Yes,” she said; he didn't.";
    expect(read(text)).toBe(text);
  });

  test('other languages: numbers stay, markup and emoji go', () => {
    expect(normalizedText('**Tengo** 25 años, Dr. Gómez 🙂.', 'other')).toBe('Tengo 25 años, Dr. Gómez.');
  });

  test('English: no digits are left, whatever the text', () => {
    const piece = fc.constantFrom(
      '$',
      '5',
      '12',
      '.',
      ',',
      '/',
      ':',
      '-',
      ' ',
      'a',
      'pm',
      '%',
      '€',
      'km',
      'th',
      '–',
      '19',
      '#',
      '(',
      '½',
      '@',
      'x',
      '\n',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
        expect(read(pieces.join(''))).not.toMatch(/\d/);
      }),
      { numRuns: 500 },
    );
  });

  test('never fails, and takes linear time', () => {
    fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => typeof read(text) === 'string'));
    for (const unit of ['1', '1,', '1.', '1-', 'a.', '*a', '$1 ', 'www.', 'a@', '+1 ', 'A.', '1/2 ', '[', '`']) {
      expect(read(unit.repeat(20_000)).length).toBeGreaterThanOrEqual(0);
    }
  });
});
