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
export function readMoney(text: string): string {
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

/** Singular and plural of units, by their symbol. */
const units: Readonly<Record<string, readonly [one: string, many: string]>> = Object.fromEntries(
  `km/h kilometre per hour|kilometres per hour
kph kilometre per hour|kilometres per hour
mph mile per hour|miles per hour
m/s metre per second|metres per second
km² square kilometre|square kilometres
m² square metre|square metres
m³ cubic metre|cubic metres
cm² square centimetre|square centimetres
km kilometre|kilometres
cm centimetre|centimetres
mm millimetre|millimetres
µm micrometre|micrometres
nm nanometre|nanometres
m metre|metres
mi mile|miles
ft foot|feet
yd yard|yards
kg kilogram|kilograms
mg milligram|milligrams
µg microgram|micrograms
g gram|grams
lb pound|pounds
lbs pound|pounds
oz ounce|ounces
l litre|litres
L litre|litres
ml millilitre|millilitres
mL millilitre|millilitres
cl centilitre|centilitres
kB kilobyte|kilobytes
KB kilobyte|kilobytes
MB megabyte|megabytes
GB gigabyte|gigabytes
TB terabyte|terabytes
PB petabyte|petabytes
KiB kibibyte|kibibytes
MiB mebibyte|mebibytes
GiB gibibyte|gibibytes
TiB tebibyte|tebibytes
kbps kilobit per second|kilobits per second
Mbps megabit per second|megabits per second
Gbps gigabit per second|gigabits per second
Mbit/s megabit per second|megabits per second
Gbit/s gigabit per second|gigabits per second
MB/s megabyte per second|megabytes per second
GB/s gigabyte per second|gigabytes per second
Hz hertz|hertz
kHz kilohertz|kilohertz
MHz megahertz|megahertz
GHz gigahertz|gigahertz
kWh kilowatt hour|kilowatt hours
Wh watt hour|watt hours
mAh milliamp hour|milliamp hours
kW kilowatt|kilowatts
MW megawatt|megawatts
GW gigawatt|gigawatts
W watt|watts
kV kilovolt|kilovolts
mV millivolt|millivolts
V volt|volts
dB decibel|decibels
px pixel|pixels
kcal kilocalorie|kilocalories
rpm revolution per minute|revolutions per minute
fps frame per second|frames per second
ms millisecond|milliseconds
s second|seconds
sec second|seconds
secs second|seconds
min minute|minutes
mins minute|minutes
h hour|hours
hr hour|hours
hrs hour|hours
°C degree Celsius|degrees Celsius
°F degree Fahrenheit|degrees Fahrenheit
° degree|degrees
% percent|percent
‰ per mille|per mille`
    .split('\n')
    .map((line) => {
      const space = line.indexOf(' ');
      return [line.slice(0, space), line.slice(space + 1).split('|')];
    }),
) as never;

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
export function readUnits(text: string): string {
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
export function readTelephones(text: string): string {
  return telephones.reduce(
    (read, form) =>
      read.replace(form, (number) => {
        const groups = number.match(/\d+/g) ?? [];
        return (number.startsWith('+') ? 'plus ' : '') + groups.map((group) => digits(group)).join(', ');
      }),
    text,
  );
}
