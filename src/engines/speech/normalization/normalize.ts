import { verbalizeAddresses } from './addresses.ts';
import { verbalizeDates, verbalizeTimes, verbalizeYears } from './dates.ts';
import { collapsed, withoutMarkup } from './markup.ts';
import { cardinal, decimal, fraction, ordinal } from './numbers.ts';
import { verbalizeMoney, verbalizeTelephones, verbalizeUnits } from './quantities.ts';
import { expandAbbreviations, verbalizeAcronyms, verbalizeRomanNumerals } from './words.ts';

/** English is normalised; `other` languages keep their numbers, which the engine reads. */
type NormalizedLanguage = 'en-us' | 'en-gb' | 'other';

/** A text as it is read aloud: numbers, dates, amounts, abbreviations, addresses and symbols in words, without markup and emoji. */
export function normalizedText(text: string, language: NormalizedLanguage): string {
  const plain = collapsed(withoutMarkup(text));
  return tidy(language === 'other' ? plain : inEnglish(plain, { dayFirst: language === 'en-gb' }));
}

/** The order matters: what is more particular first, because each step sees the words of those before it. */
function inEnglish(text: string, options: { readonly dayFirst: boolean }): string {
  const steps: readonly ((text: string) => string)[] = [
    (one) => one.replace(knownPair, (pair) => knownPairs[pair] ?? pair),
    verbalizeAddresses,
    expandAbbreviations,
    verbalizeRomanNumerals,
    (one) => verbalizeDates(one, options),
    verbalizeTimes,
    verbalizeTelephones,
    verbalizeMoney,
    verbalizeUnits,
    verbalizeYears,
    verbalizeNumbers,
    verbalizeAcronyms,
    verbalizeSymbols,
  ];
  return steps.reduce((read, step) => step(read), text);
}

const vulgarFractions: Readonly<Record<string, readonly [string, string]>> = {
  '½': ['1', '2'],
  '⅓': ['1', '3'],
  '⅔': ['2', '3'],
  '¼': ['1', '4'],
  '¾': ['3', '4'],
  '⅕': ['1', '5'],
  '⅛': ['1', '8'],
  '⅜': ['3', '8'],
  '⅝': ['5', '8'],
  '⅞': ['7', '8'],
};

/** Pairs that have a reading of their own. */
const knownPairs: Readonly<Record<string, string>> = { '24/7': 'twenty-four seven', '9/11': 'nine eleven' };

const knownPair = /(?<![\w/.])(?:24\/7|9\/11)(?![\w/])/g;

const wholeAndFraction = /(?<![\w/.])(\d{1,4}) (\d{1,2})\/(\d{1,2})(?![\w/])/g;
const plainFraction = /(?<![\w/.])(\d{1,3})\/(\d{1,4})(?![\w/])/g;
const ordinalNumber = /(?<![\w.])(\d{1,3}(?:,\d{3})+|\d{1,12})(?:st|nd|rd|th)\b/gi;
const hashNumber = /(?<![\w&])#\s?(?=\d)/g;
const numberRange =
  /(?<![\w.,/-])(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,9}(?:\.\d+)?)\s?[-\u2013]\s?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,9}(?:\.\d+)?)(?![\w/-]|,\d|\.\d)/g;
const ratio = /(?<![\w:.])(\d{1,4}):(\d{1,4})(?![\w:])/g;
const dimensions = /(?<=\d)(?:\s?x\s?|×)(?=\d)/g;
const signedNumber = /(?<![\w.,)\u2013-])[-\u2212](?=\.?\d)/g;
const plainNumber = /(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|(?<![\w.])\.\d+/g;

/** The numbers that are left: fractions, ordinals, ranges, decimals. */
function verbalizeNumbers(text: string): string {
  return text
    .replace(/(\d?)\s?([½⅓⅔¼¾⅕⅛⅜⅝⅞])/g, (_, whole: string, sign: string) => {
      const [above, below] = vulgarFractions[sign] as readonly [string, string];
      return whole === '' ? fraction(above, below) : `${whole} and ${fraction(above, below)}`;
    })
    .replace(/(?<=\p{L}):(?=\d)/gu, ': ')
    .replace(wholeAndFraction, (_, whole: string, above: string, below: string) => {
      return `${cardinal(whole)} and ${fraction(above, below)}`;
    })
    .replace(plainFraction, (_, above: string, below: string) => fraction(above, below))
    .replace(ordinalNumber, (_, number: string) => ordinal(number))
    .replace(hashNumber, 'number ')
    .replace(numberRange, '$1 to $2')
    .replace(ratio, '$1 to $2')
    .replace(dimensions, ' by ')
    .replace(/(?<![\w])~\s?(?=\d)/g, 'about ')
    .replace(signedNumber, 'minus ')
    .replace(plainNumber, (number: string, at: number, whole: string) => {
      const glued = /[\p{L}]/u.test(whole[at + number.length] ?? '') ? ' ' : '';
      const before = /[\p{L}]/u.test(whole[at - 1] ?? '') ? ' ' : '';
      return before + decimal(number) + glued;
    });
}

const symbols: readonly (readonly [RegExp, string])[] = [
  [/\s*&\s*/g, ' and '],
  [/\s+\+\s+/g, ' plus '],
  [/(?<=\w)\+(?=\s|$)/g, ' plus'],
  [/\s*(?:=|≙)\s*/g, ' equals '],
  [/\s*≠\s*/g, ' is not equal to '],
  [/\s*[≈≅]\s*/g, ' is about '],
  [/\s*[≤⩽]\s*/g, ' is at most '],
  [/\s*[≥⩾]\s*/g, ' is at least '],
  [/\s+<\s+/g, ' is less than '],
  [/\s+>\s+/g, ' is greater than '],
  [/\s*×\s*/g, ' times '],
  [/\s*÷\s*/g, ' divided by '],
  [/\s*±\s*/g, ' plus or minus '],
  [/\s+\*\s+/g, ' times '],
  [/\u00b2/g, ' squared'],
  [/\u00b3/g, ' cubed'],
  [/\s*°\s*/g, ' degrees '],
  [/\s*§\s*/g, ' section '],
  [/\s*(?:->|→|⇒|=>)\s*/g, ', '],
  [/[©®™]/g, ''],
  [/(?<!\w)@(?=\w)/g, ''],
  [/\s+@\s+/g, ' at '],
  [/(?<!\w)#(?=\p{L})/gu, 'hashtag '],
  [/(?<=\p{L})\/(?=\p{L})/gu, ' or '],
  [/(?<=\p{L}\s)\/(?=\s\p{L})/gu, 'or'],
  [/%/g, ' percent'],
  [/[$€£]/g, ' '],
  [/[*_~^|\\`<>{}#=]/g, ' '],
];

function verbalizeSymbols(text: string): string {
  return symbols.reduce((read, [sign, words]) => read.replace(sign, words), text);
}

/** Line breaks stay, because sentences end at them. */
function tidy(text: string): string {
  return text
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ([,.;:!?])/g, '$1')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}
