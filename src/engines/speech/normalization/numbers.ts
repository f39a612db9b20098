const small =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  );
const tens = 'zero ten twenty thirty forty fifty sixty seventy eighty ninety'.split(' ');
const scales = ['', 'thousand', 'million', 'billion', 'trillion'];
/** Longer numbers are read digit by digit. */
const maxDigits = 3 * scales.length;

/** A whole number in words: `1,234` is "one thousand two hundred thirty-four". Leading zeros are read one by one. */
export function cardinal(number: string): string {
  const plain = number.replace(/,/g, '');
  if (!/^\d+$/.test(plain)) return number;
  if ((plain.length > 1 && plain.startsWith('0')) || plain.length > maxDigits) return digits(plain);
  const groups: string[] = [];
  for (let end = plain.length, scale = 0; end > 0; end -= 3, scale += 1) {
    const value = Number(plain.slice(Math.max(0, end - 3), end));
    if (value > 0) groups.unshift(`${below1000(value)} ${scales[scale]}`.trim());
  }
  return groups.join(' ') || 'zero';
}

function below1000(value: number): string {
  const hundreds = Math.floor(value / 100);
  const rest = value % 100;
  return [...(hundreds > 0 ? [`${small[hundreds]} hundred`] : []), ...(rest > 0 ? [below100(rest)] : [])].join(' ');
}

function below100(value: number): string {
  if (value < 20) return small[value] as string;
  const unit = value % 10;
  return unit === 0 ? (tens[value / 10] as string) : `${tens[Math.floor(value / 10)]}-${small[unit]}`;
}

/** Digits one by one; other characters are left out. */
export function digits(text: string): string {
  return [...text].flatMap((digit) => (/\d/.test(digit) ? [small[Number(digit)]] : [])).join(' ');
}

const irregular: Readonly<Record<string, string>> = {
  one: 'first',
  two: 'second',
  three: 'third',
  five: 'fifth',
  eight: 'eighth',
  nine: 'ninth',
  twelve: 'twelfth',
};

/** `21` is "twenty-first". */
export function ordinal(number: string): string {
  const words = cardinal(number);
  const [, before = '', last = ''] = /^(.*[ -])?(\w+)$/.exec(words) ?? [];
  return before + (irregular[last] ?? (last.endsWith('y') ? `${last.slice(0, -1)}ieth` : `${last}th`));
}

/** A number with an optional sign, separators of thousands and decimals. */
export function decimal(number: string): string {
  const [, sign = '', whole = '', fraction] = /^([-\u2212+]?)([\d,]*)(?:\.(\d+))?$/.exec(number) ?? [];
  if (whole === '' && fraction === undefined) return number;
  const spoken = cardinal(whole || '0') + (fraction === undefined ? '' : ` point ${digits(fraction)}`);
  return `${sign === '' ? '' : sign === '+' ? 'plus ' : 'minus '}${spoken}`;
}

/** A year: `1984` is "nineteen eighty-four", `2005` "two thousand five", `2026` "twenty twenty-six". */
export function year(number: string): string {
  const value = Number(number);
  if (number.length !== 4 || value < 1000 || (value >= 2000 && value < 2010)) return cardinal(number);
  const century = below100(Math.floor(value / 100));
  const rest = value % 100;
  if (rest === 0) return value % 1000 === 0 ? cardinal(number) : `${century} hundred`;
  return `${century} ${rest < 10 ? `oh ${small[rest]}` : below100(rest)}`;
}

/** A decade: `1990` is "nineteen nineties". */
export function decade(number: string): string {
  const words = number.length === 4 ? year(number) : cardinal(number);
  return words.endsWith('y') ? `${words.slice(0, -1)}ies` : `${words}s`;
}

/** `3/4` is "three quarters"; "three over seventeen" where there is no usual word. */
export function fraction(above: string, below: string): string {
  const [one, other] = [Number(above), Number(below)];
  if (other === 10 || other === 100 || one === other) return `${cardinal(above)} out of ${cardinal(below)}`;
  if (other > 20 || other < 2) return `${cardinal(above)} over ${cardinal(below)}`;
  const part = other === 2 ? 'half' : other === 4 ? 'quarter' : ordinal(below);
  const plural = one === 1 ? part : part === 'half' ? 'halves' : `${part}s`;
  return `${cardinal(above)} ${plural}`;
}

const romanDigits: Readonly<Record<string, number>> = { I: 1, V: 5, X: 10, L: 50, C: 100 };

/** The value of a Roman numeral below 400 in its usual form; undefined for anything else. */
export function romanValue(numeral: string): number | undefined {
  if (!/^(?:C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})$/.test(numeral) || numeral === '') return undefined;
  const values = [...numeral].map((digit) => romanDigits[digit] as number);
  return values.reduce((sum, value, index) => sum + (value < (values[index + 1] ?? 0) ? -value : value), 0);
}
