import { cardinal, decade, ordinal, year } from './numbers.ts';

const months = 'January February March April May June July August September October November December'.split(' ');
const monthNames = months.join('|');
/** `Sept.` and the like, with or without the full stop. */
const shortMonths = 'Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec';
const month = `(${monthNames}|(?:${shortMonths})\\b\\.?)`;
const day = '(0?[1-9]|[12]\\d|3[01])';
const yearForm = '(1\\d{3}|20\\d{2})';

const isoDate = new RegExp(`\\b${yearForm}-(0[1-9]|1[0-2])-${day}\\b(?![-\\d])`, 'g');
const slashedDate = /(?<![\d/.])(\d{1,2})\/(\d{1,2})\/(\d{4})(?![\d/])/g;
const dottedDate = new RegExp(`(?<![\\d.])${day}\\.(0?[1-9]|1[0-2])\\.${yearForm}(?![\\d])`, 'g');
const shortDate = /(?<![\d/.,])(\d{1,2})\/(\d{1,2})(?![\d/])/g;
const monthFirst = new RegExp(`\\b${month} ${day}(?:st|nd|rd|th)?(?:(?:,| ) ?${yearForm})?\\b(?![:.]\\d)`, 'g');
const dayFirst = new RegExp(`\\b(the )?${day}(?:st|nd|rd|th)?( of)? ${month}(?:,? ${yearForm}\\b)?`, 'gi');
const monthYear = new RegExp(`\\b${month},? ${yearForm}\\b`, 'g');
const decades = /(?<![\d.,$£€])(?:['\u2019](\d0)|(1\d\d0|20\d0|[2-9]0))['\u2019]?s\b/g;

/** Dates in words. `dayFirst` decides how `3/4/2026` is read: British, or American. */
export function verbalizeDates(text: string, { dayFirst: dayIsFirst }: { readonly dayFirst: boolean }): string {
  return text
    .replace(isoDate, (_, years: string, number: string, days: string) => dated(Number(number), days, years))
    .replace(dottedDate, (_, days: string, number: string, years: string) => dated(Number(number), days, years))
    .replace(slashedDate, (all, one: string, two: string, years: string) => {
      const [days, number] = dayIsFirst ? inOrder(one, two) : inOrder(two, one);
      return Number(number) >= 1 && Number(number) <= 12 && isDay(days) ? dated(Number(number), days, years) : all;
    })
    .replace(shortDate, (all, one: string, two: string) => {
      // Without a year it is a date only if it cannot be a fraction.
      if (Number(one) > 12 && isDay(one) && isMonth(two)) return dated(Number(two), one);
      return Number(two) > 12 && isDay(two) && isMonth(one) && !(Number(one) < 10 && Number(two) === 16)
        ? dated(Number(one), two)
        : all;
    })
    .replace(monthFirst, (_, name: string, days: string, years?: string) => {
      return `${monthOf(name)} ${ordinal(plain(days))}${years ? `, ${year(years)}` : ''}`;
    })
    .replace(dayFirst, (all, the: string | undefined, days: string, _of, name: string, years?: string) => {
      if (!/^[A-Z]/.test(name)) return all;
      return `${the ?? 'the '}${ordinal(plain(days))} of ${monthOf(name)}${years ? ` ${year(years)}` : ''}`;
    })
    .replace(monthYear, (_, name: string, years: string) => `${monthOf(name)} ${year(years)}`)
    .replace(decades, (_, short?: string, long?: string) => decade(short ?? long ?? ''));
}

/** The larger one cannot be a month. */
function inOrder(days: string, number: string): readonly [days: string, month: string] {
  return Number(number) > 12 && Number(days) <= 12 ? [number, days] : [days, number];
}

const isDay = (number: string): boolean => Number(number) >= 1 && Number(number) <= 31;
const isMonth = (number: string): boolean => Number(number) >= 1 && Number(number) <= 12;
const plain = (number: string): string => String(Number(number));

function dated(number: number, days: string, years?: string): string {
  return `${months[number - 1]} ${ordinal(plain(days))}${years ? `, ${year(years)}` : ''}`;
}

function monthOf(name: string): string {
  const start = name.slice(0, 3).toLowerCase();
  return months.find((one) => one.toLowerCase().startsWith(start)) ?? name;
}

const clock =
  /(?<![\d:.])([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d))?(?![\d:])(\s?(?:[ap]\.m\.|[AP]\.M\.|[ap]m\b|[AP]M\b))?/g;
const hourOnly = /(?<![\d:.,])(1[0-2]|0?[1-9])\s?([ap]\.m\.|[AP]\.M\.|[ap]m\b|[AP]M\b)/g;

/** Times of day in words. */
export function verbalizeTimes(text: string): string {
  return text
    .replace(
      clock,
      (all: string, hours: string, minutes: string, seconds: string | undefined, half: string | undefined, ...rest) => {
        const spoken = half === undefined ? clockWords(hours, minutes) : halfDayWords(hours, minutes);
        const more = seconds === undefined ? '' : ` and ${cardinal(plain(seconds))} seconds`;
        return (
          spoken +
          more +
          (half === undefined
            ? ''
            : halfOf(half, endsSentence(rest.at(-1) as string, (rest.at(-2) as number) + all.length)))
        );
      },
    )
    .replace(hourOnly, (all: string, hours: string, half: string, at: number, whole: string) => {
      return cardinal(plain(hours)) + halfOf(half, endsSentence(whole, at + all.length));
    });
}

function clockWords(hours: string, minutes: string): string {
  const hour = cardinal(plain(hours));
  if (minutes === '00') return Number(hours) <= 12 && Number(hours) > 0 ? `${hour} o'clock` : `${hour} hundred`;
  return `${hour} ${minuteWords(minutes)}`;
}

function halfDayWords(hours: string, minutes: string): string {
  const hour = cardinal(plain(hours));
  return minutes === '00' ? hour : `${hour} ${minuteWords(minutes)}`;
}

function minuteWords(minutes: string): string {
  return minutes.startsWith('0') ? `oh ${cardinal(plain(minutes))}` : cardinal(minutes);
}

/** ` P M`, with the full stop of the abbreviation where it also ends the sentence. */
function halfOf(half: string, last: boolean): string {
  return ` ${half.trim()[0]?.toUpperCase()} M${half.includes('.') && last ? '.' : ''}`;
}

/** Whether a full stop before this place ends a sentence. */
export function endsSentence(text: string, at: number): boolean {
  return /^["'\u201d\u2019)\]]*(?:\s*$|\s+["'\u201c\u2018(]?\p{Lu}|\n)/u.test(text.slice(at, at + 12));
}

/** Words before a number that make it a year, and words after it that do not. */
const beforeYear =
  '(?:[Ii]n|[Ss]ince|[Bb]y|[Uu]ntil|[Tt]ill|[Ff]rom|[Bb]efore|[Aa]fter|[Dd]uring|[Aa]round|[Cc]irca|[Yy]ear|[Yy]ears|[Ss]pring|[Ss]ummer|[Aa]utumn|[Ff]all|[Ww]inter|[Ee]arly|[Ll]ate|[Mm]id|of|and|to|©)';
const yearAfterWord = new RegExp(
  `\\b(${beforeYear}) (1[1-9]\\d\\d|20\\d\\d)\\b(?![\\d,]*\\d|\\.\\d|%|\\s*(?:${'[a-z]{3,}'}))`,
  'g',
);
const yearAlone = /(?<![\d.,$£€#/:-])\b(19\d\d|20\d\d)\b(?!\s?[a-z%°]|,\d|\.\d|[-:/]\d)/g;
const yearSpan = /(?<![\d.,$£€#-])\b(1[1-9]\d\d|20\d\d)\s?[-\u2013]\s?(1[1-9]\d\d|20\d\d|\d\d)\b(?![-\d,.%]\d?)/g;
const era = /\b(\d{1,4}) ?(BCE|BC|CE|AD)\b/g;
const yearThenWord =
  /(?<![\d.,$£€#/:-])\b(1[1-9]\d\d|20\d\d)(?= (?:was|were|is|will|and|to|in|the|when|with|as|by|at|on|for|has|had|would|after|until)\b)/g;

/** Numbers that are years in words. */
export function verbalizeYears(text: string): string {
  return text
    .replace(yearSpan, (all, from: string, to: string) => {
      if (to.length === 2) return Number(to) > Number(from.slice(2)) ? `${year(from)} to ${cardinal(to)}` : all;
      return Number(to) > Number(from) ? `${year(from)} to ${year(to)}` : all;
    })
    .replace(era, (_, number: string, name: string) => `${year(number)} ${[...name].join(' ')}`)
    .replace(yearAfterWord, (_, word: string, number: string) => `${word} ${year(number)}`)
    .replace(yearThenWord, (number: string) => (Number(number) >= 1900 ? year(number) : number))
    .replace(yearAlone, (number: string) => year(number));
}
