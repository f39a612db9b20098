/** Words by the plural categories of a language (`Intl.PluralRules`); every `#` in them becomes the number. */
type PluralForms = { readonly other: string } & {
  readonly [Category in Exclude<Intl.LDMLPluralRule, 'other'>]?: string;
};

type Time = Date | number | string;

/** How a language writes plurals, numbers, lists, dates and sizes. */
export interface Formats {
  /** `plural(3, { one: '# file', other: '# files' })` is `3 files`. Texts that people wrote do not belong into the forms. */
  plural(count: number, forms: PluralForms): string;
  /** As `plural`, for ranks: `ordinal(2, { one: '#st', two: '#nd', few: '#rd', other: '#th' })` is `2nd`. */
  ordinal(rank: number, forms: PluralForms): string;
  number(value: number, options?: Intl.NumberFormatOptions): string;
  /** `1.2M` */
  compact(value: number): string;
  /** Of a share from 0 to 1, without fractions. */
  percent(share: number): string;
  /** `a, b and c`, or `a, b or c` */
  list(items: readonly string[], type?: 'and' | 'or'): string;
  /** A day unless the options say otherwise. */
  date(time: Time, options?: Intl.DateTimeFormatOptions): string;
  /** Hours and minutes. */
  time(time: Time): string;
  /** `3 hours ago` */
  ago(seconds: number): string;
  /** `639 MB`, `5.7 GB`: in powers of 1000. */
  byteSize(bytes: number): string;
  /** The name of a language by its code; the code where it is unknown. */
  languageName(code: string): string;
}

const byteUnits = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'];
const timeUnits = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const;

/** Formats of a language, or of a regional variety of it such as `en-GB`. */
export function formatsOf(locale: string): Formats {
  const decimal = new Intl.NumberFormat(locale);
  const cardinals = new Intl.PluralRules(locale);
  const filled = (forms: PluralForms, category: Intl.LDMLPluralRule, value: number) =>
    (forms[category] ?? forms.other).replaceAll('#', () => decimal.format(value));
  return {
    plural: (count, forms) => filled(forms, cardinals.select(count), count),
    ordinal: (rank, forms) => filled(forms, new Intl.PluralRules(locale, { type: 'ordinal' }).select(rank), rank),
    number: (value, options) => (options ? value.toLocaleString(locale, options) : decimal.format(value)),
    compact: (value) => value.toLocaleString(locale, { notation: 'compact' }),
    percent: (share) => share.toLocaleString(locale, { style: 'percent' }),
    list: (items, type = 'and') =>
      new Intl.ListFormat(locale, { type: type === 'and' ? 'conjunction' : 'disjunction' }).format(items),
    date: (time, options = { dateStyle: 'medium' }) => new Date(time).toLocaleString(locale, options),
    time: (time) => new Date(time).toLocaleTimeString(locale, { timeStyle: 'short' }),
    ago: (seconds) => {
      const [unit, size] = timeUnits.find(([, min]) => seconds >= min) ?? ['second', 1];
      return new Intl.RelativeTimeFormat(locale).format(-Math.floor(seconds / size), unit);
    },
    byteSize: (bytes) => {
      const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), byteUnits.length - 1);
      const digits = power < 3 ? 0 : 1;
      return (bytes / 1000 ** power).toLocaleString(locale, {
        style: 'unit',
        unit: byteUnits[power],
        unitDisplay: power === 0 ? 'long' : 'short',
        minimumFractionDigits: digits,
        maximumFractionDigits: digits,
      });
    },
    languageName: (code) => new Intl.DisplayNames(locale, { type: 'language' }).of(code) ?? code,
  };
}
