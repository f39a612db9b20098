import { cardinal, decimal, digits } from './numbers.ts';

interface Currency {
  readonly one: string;
  readonly many: string;
  /** The hundredth part. */
  readonly cent?: readonly [one: string, many: string];
}

const dollar: Currency = { one: 'dollar', many: 'dollars', cent: ['cent', 'cents'] };
const pound: Currency = { one: 'pound', many: 'pounds', cent: ['penny', 'pence'] };
const euro: Currency = { one: 'euro', many: 'euros', cent: ['cent', 'cents'] };
const prefixed = (word: string, { one, many, ...rest }: Currency): Currency => ({
  one: `${word} ${one}`,
  many: `${word} ${many}`,
  ...rest,
});

const currencies: Readonly<Record<string, Currency>> = {
  $: dollar,
  US$: prefixed('US', dollar),
  A$: prefixed('Australian', dollar),
  C$: prefixed('Canadian', dollar),
  '£': pound,
  '€': euro,
  '¥': { one: 'yen', many: 'yen' },
  '₹': { one: 'rupee', many: 'rupees' },
  '₽': { one: 'rouble', many: 'roubles' },
  '₩': { one: 'won', many: 'won' },
  USD: prefixed('US', dollar),
  EUR: euro,
  GBP: pound,
  JPY: { one: 'yen', many: 'yen' },
  CHF: { one: 'Swiss franc', many: 'Swiss francs' },
  INR: { one: 'rupee', many: 'rupees' },
};

const scaleWords: Readonly<Record<string, string>> = {
  k: 'thousand',
  m: 'million',
  mn: 'million',
  mio: 'million',
  b: 'billion',
  bn: 'billion',
  tn: 'trillion',
  thousand: 'thousand',
  million: 'million',
  billion: 'billion',
  trillion: 'trillion',
};

const amount = '(\\d{1,3}(?:,\\d{3})+(?:\\.\\d+)?|\\d+(?:\\.\\d+)?)';
const scale = '(?:(\\s(?:thousand|million|billion|trillion)|k|mn|m|bn|b|tn|\\s(?:mio|bn|mn))\\b)?';
const signs = '(US\\$|A\\$|C\\$|[$£€¥₹₽₩])';
const signFirst = new RegExp(
  `(\\ban? )?([-\\u2212]?)${signs}\\s?${amount}(?:\\s?[-\\u2013]\\s?[$£€]?${amount})?${scale}`,
  'gi',
);
const signLast = new RegExp(
  `(?<![\\d.,])(\\d+(?:[.,]\\d{2})?|\\d{1,3}(?:[.,]\\d{3})+)${scale}\\s?(€|£|\\$|₹|₽|(?:USD|EUR|GBP|JPY|CHF|INR)\\b)`,
  'g',
);
const codeFirst = new RegExp(`\\b(USD|EUR|GBP|JPY|CHF|INR)\\s?${amount}${scale}`, 'g');
const cents = /(?<![\d.,])(\d+)\s?¢/g;

/** Amounts of money in words: `$3.50` is "three dollars and fifty cents". */
export function verbalizeMoney(text: string): string {
  return text
    .replace(signFirst, (_, article = '', minus = '', sign: string, value: string, to?: string, scaled?: string) => {
      const currency = currencies[sign.toUpperCase()] ?? dollar;
      const spoken = money(value, currency, { scaled, to, singular: article !== '' });
      return `${article}${minus === '' ? '' : 'minus '}${spoken}`;
    })
    .replace(codeFirst, (_, code: string, value: string, scaled?: string) => {
      return money(value, currencies[code] as Currency, { scaled });
    })
    .replace(signLast, (_, value: string, scaled: string | undefined, sign: string) => {
      // A comma before two digits is that of decimals, as it is written where the sign is last.
      const plain = value.replace(/[.,](?=\d{3}(?:\D|$))/g, '').replace(',', '.');
      return money(plain, currencies[sign] as Currency, { scaled });
    })
    .replace(cents, (_, value: string) => `${cardinal(value)} ${value === '1' ? 'cent' : 'cents'}`)
    .replace(/(dollars?|euros?|pounds?|cents?|pence)\s?\/\s?(?=[a-z])/g, '$1 per ');
}

interface MoneyForm {
  readonly scaled?: string | undefined;
  readonly to?: string | undefined;
  /** "a five dollar bill" */
  readonly singular?: boolean;
}

function money(value: string, { one, many, cent }: Currency, { scaled, to, singular = false }: MoneyForm): string {
  const size = scaled === undefined ? undefined : scaleWords[scaled.trim().toLowerCase()];
  const name = singular ? one : many;
  if (to !== undefined) return `${decimal(value)} to ${decimal(to)}${size ? ` ${size}` : ''} ${name}`;
  if (size !== undefined) return `${decimal(value)} ${size} ${name}`;
  const [whole = '0', part] = value.split('.');
  const full = `${cardinal(whole)} ${plainly(whole) === '1' || singular ? one : many}`;
  if (part === undefined || Number(part) === 0) return full;
  if (part.length > 2 || !cent || singular) return `${decimal(value)} ${name}`;
  const pieces = String(Number(part.padEnd(2, '0')));
  const small = `${cardinal(pieces)} ${pieces === '1' ? cent[0] : cent[1]}`;
  return plainly(whole) === '0' ? small : `${full} and ${small}`;
}

const plainly = (whole: string): string => whole.replace(/,/g, '').replace(/^0+(?=\d)/, '');

/** Units, and their symbols. The plural is regular unless it is given; it is that of the word before "per" and before a scale. */
const unitTable = `
kilometre per hour: km/h kph
mile per hour: mph
metre per second: m/s
square kilometre: km²
square metre: m²
cubic metre: m³
square centimetre: cm²
kilometre: km
centimetre: cm
millimetre: mm
micrometre: µm
nanometre: nm
metre: m
mile: mi
foot|feet: ft
yard: yd
kilogram: kg
milligram: mg
microgram: µg
gram: g
pound: lb lbs
ounce: oz
litre: l L
millilitre: ml mL
centilitre: cl
kilobyte: kB KB
megabyte: MB
gigabyte: GB
terabyte: TB
petabyte: PB
kibibyte: KiB
mebibyte: MiB
gibibyte: GiB
tebibyte: TiB
kilobit per second: kbps
megabit per second: Mbps Mbit/s
gigabit per second: Gbps Gbit/s
megabyte per second: MB/s
gigabyte per second: GB/s
hertz|hertz: Hz
kilohertz|kilohertz: kHz
megahertz|megahertz: MHz
gigahertz|gigahertz: GHz
kilowatt hour: kWh
watt hour: Wh
milliamp hour: mAh
kilowatt: kW
megawatt: MW
gigawatt: GW
watt: W
kilovolt: kV
millivolt: mV
volt: V
decibel: dB
pixel: px
kilocalorie: kcal
revolution per minute: rpm
frame per second: fps
millisecond: ms
second: s sec secs
minute: min mins
hour: h hr hrs
degree Celsius: °C
degree Fahrenheit: °F
degree: °
percent|percent: %
per mille|per mille: ‰
`;

/** Singular and plural of units, by their symbol. */
const units: Readonly<Record<string, readonly [one: string, many: string]>> = Object.fromEntries(
  unitTable
    .trim()
    .split('\n')
    .flatMap((line) => {
      const [names = '', symbols = ''] = line.split(': ');
      const [one = '', many = one.replace(/(?= per | Celsius$| Fahrenheit$|$)/, 's')] = names.split('|');
      return symbols.split(' ').map((symbol) => [symbol, [one, many]]);
    }),
);

const symbols = Object.keys(units)
  .sort((one, other) => other.length - one.length)
  .map((symbol) => symbol.replace(/[/²³]/g, '\\$&'))
  .join('|');
const number = '([-\\u2212+]?(?:\\d{1,3}(?:,\\d{3})+|\\d+)(?:\\.\\d+)?|[-\\u2212]?\\.\\d+)';
const quantity = new RegExp(
  `(?<![\\w.,])${number}(?:\\s?[-\\u2013]\\s?${number})?(?:\\s|-(?=[a-z]))?(${symbols})(?![\\w/²³\\u00b5])`,
  'g',
);
const feetAndInches = /(?<![\d.])(\d{1,2})['\u2032]\s?(\d{1,2})["\u2033]/g;

/** Numbers with a unit in words: `5 kg` is "five kilograms". */
export function verbalizeUnits(text: string): string {
  return text
    .replace(feetAndInches, (_, feet: string, inches: string) => {
      return `${cardinal(feet)} ${feet === '1' ? 'foot' : 'feet'} ${cardinal(inches)}`;
    })
    .replace(
      quantity,
      (all: string, from: string, to: string | undefined, symbol: string, at: number, whole: string) => {
        const unit = units[symbol];
        if (!unit) return all;
        const spoken = to === undefined ? decimal(from) : `${decimal(from)} to ${decimal(to)}`;
        const single = to === undefined && /^[-\u2212+]?1$/.test(from);
        // A unit before a noun is singular: "a 5 km run"; temperatures and percentages are not.
        const adjective = /\ban? $/i.test(whole.slice(Math.max(0, at - 3), at)) && !/[°%‰]/.test(symbol);
        return `${spoken} ${single || adjective ? unit[0] : unit[1]}`;
      },
    );
}

const telephones = [
  /(?<![\w+])\+\d{1,3}(?:[ .-]?\(?\d{1,5}\)?){2,6}(?!\w)/g,
  /(?<!\w)\(\d{3}\) ?\d{3}-\d{4}(?!\w)/g,
  /(?<![\w-])(?:1-)?\d{3}-\d{3}-\d{4}(?![\w-])/g,
  /(?<![\w.-])\d{3}\.\d{3}\.\d{4}(?![\w.-])/g,
  /(?<![\w-])\d{3}-\d{4}(?![\w-])/g,
];

/** Telephone numbers digit by digit, with a pause between their groups. */
export function verbalizeTelephones(text: string): string {
  return telephones.reduce(
    (read, form) =>
      read.replace(form, (number) => {
        const groups = number.match(/\d+/g) ?? [];
        return (number.startsWith('+') ? 'plus ' : '') + groups.map((group) => digits(group)).join(', ');
      }),
    text,
  );
}
