import { choice } from './gbnf.ts';

const digit = '[0-9]';

export interface Bound {
  readonly value: number;
  readonly exclusive: boolean;
}

export interface Bounds {
  readonly minimum?: Bound | undefined;
  readonly maximum?: Bound | undefined;
}

/** An open end of a range stops here or two digits past the other end, so that no model writes digits for ever. */
const openEnd = 10n ** 16n - 1n;

function endAbove(size: bigint): bigint {
  const end = size * 100n;
  // Math.max does not take big integers
  return end > openEnd ? end : openEnd;
}

/** Every integer within the bounds, or undefined when there is none. */
export function integerRange({ minimum, maximum }: Bounds): string | undefined {
  const explicit = {
    low: minimum && (minimum.exclusive ? BigInt(Math.floor(minimum.value)) + 1n : BigInt(Math.ceil(minimum.value))),
    high: maximum && (maximum.exclusive ? BigInt(Math.ceil(maximum.value)) - 1n : BigInt(Math.floor(maximum.value))),
  };
  const low = explicit.low ?? -endAbove(magnitude(explicit.high ?? 0n));
  const high = explicit.high ?? endAbove(magnitude(explicit.low ?? 0n));
  if (low > high) return undefined;
  const options: string[] = [];
  if (high >= 0n) options.push(wholeRange(low > 0n ? low : 0n, high));
  if (low < 0n) options.push(`"-" ${wholeRange(high < 0n ? -high : 1n, -low)}`);
  return choice(options);
}

/** The numbers within the bounds as plain decimals (an exponent could leave the range); undefined if there are none. */
export function numberRange({ minimum, maximum }: Bounds): string | undefined {
  const options: string[] = [];
  const zero: Decimal = { whole: 0n, fraction: '' };
  if (maximum === undefined || maximum.value >= 0) {
    const low: Edge = minimum && minimum.value >= 0 ? edge(minimum) : { at: zero, exclusive: false };
    const high: Edge = maximum ? edge(maximum) : open(low);
    const range = decimalRange(low, high);
    if (range !== undefined) options.push(range);
  }
  if (minimum === undefined || minimum.value < 0) {
    const low: Edge = maximum && maximum.value < 0 ? edge(maximum) : { at: zero, exclusive: true };
    const high: Edge = minimum ? edge(minimum) : open(low);
    const range = decimalRange(low, high);
    if (range !== undefined) options.push(`"-" ${range}`);
  }
  return options.length === 0 ? undefined : choice(options);
}

function edge({ value, exclusive }: Bound): Edge {
  return { at: decimal(value), exclusive };
}

function open(other: Edge): Edge {
  return { at: { whole: endAbove(other.at.whole), fraction: '' }, exclusive: false };
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value;
}

/** A decimal that is not negative: `fraction` has no zeros at its end. */
interface Decimal {
  readonly whole: bigint;
  readonly fraction: string;
}

interface Edge {
  readonly at: Decimal;
  readonly exclusive: boolean;
}

const maxDigits = 16;
const anyFraction = `("." ${digits(1, maxDigits)})?`;
const anyDigits = digits(0, maxDigits);
const zeros = `"0"{0,${maxDigits}}`;

/** The size of a finite number in plain decimal digits. */
export function decimal(value: number): Decimal {
  const [mantissa = '', exponent = '0'] = String(Math.abs(value)).split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const point = whole.length + Number(exponent);
  const all = `${whole}${fraction}`;
  const padded = point <= 0 ? `${'0'.repeat(1 - point)}${all}` : all.padEnd(point, '0');
  const split = Math.max(point, 1);
  return { whole: BigInt(padded.slice(0, split)), fraction: withoutZeros(padded.slice(split)) };
}

/** Without the zeros at its end; a regular expression would look for them again at each of the others. */
function withoutZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  return digits.slice(0, end);
}

/** Every decimal from `low` to `high`, neither negative, or undefined when there is none. */
function decimalRange(low: Edge, high: Edge): string | undefined {
  const options: string[] = [];
  const fromStart = low.at.fraction === '' && !low.exclusive;
  const firstFree = fromStart ? low.at.whole : low.at.whole + 1n;
  const lastFree = high.at.whole - 1n;
  if (firstFree <= lastFree) options.push(`${wholeRange(firstFree, lastFree)} ${anyFraction}`);

  const sameWhole = low.at.whole === high.at.whole;
  if (!fromStart && low.at.whole < high.at.whole) {
    options.push(`"${low.at.whole}." ${above(low.at.fraction, low.exclusive)}`);
  }
  if (sameWhole && !fromStart) {
    const tail = between(low.at.fraction, low.exclusive, high.at.fraction, high.exclusive);
    if (tail !== undefined) options.push(`"${low.at.whole}." ${tail}`);
  }
  if (low.at.whole < high.at.whole || (sameWhole && fromStart)) {
    options.push(...upTo(high));
  }
  return options.length === 0 ? undefined : choice(options);
}

/** The decimals whose whole part is that of the upper edge. */
function upTo({ at, exclusive }: Edge): string[] {
  if (at.fraction === '') return exclusive ? [] : [`"${at.whole}" ("." "0"{1,${maxDigits}})?`];
  const tail = below(at.fraction, exclusive);
  return [tail === undefined ? `"${at.whole}"` : `"${at.whole}" ("." ${tail})?`];
}

// The digits behind the point compare like text, a missing digit counting as zero. `undefined` says that none will do.

function above(fraction: string, exclusive: boolean): string {
  if (fraction === '') return exclusive ? `${zeros} [1-9] ${anyDigits}` : anyDigits;
  const first = Number(fraction[0]);
  const options = [`"${first}" ${above(fraction.slice(1), exclusive)}`];
  if (first < 9) options.push(`${digitRange(first + 1, 9)} ${anyDigits}`);
  return choice(options);
}

function below(fraction: string, exclusive: boolean): string | undefined {
  if (fraction === '') return exclusive ? undefined : zeros;
  const first = Number(fraction[0]);
  const rest = fraction.slice(1);
  const options: string[] = [];
  if (first > 0) options.push(`${digitRange(0, first - 1)} ${anyDigits}`);
  const tail = below(rest, exclusive);
  // Ending here is fine while digits of the edge are left: what is left out is zero, and the edge ends in no zero.
  if (tail !== undefined) options.push(`"${first}" (${tail})?`);
  else if (rest !== '') options.push(`"${first}"`);
  return options.length === 0 ? undefined : choice(options);
}

function between(low: string, lowExclusive: boolean, high: string, highExclusive: boolean): string | undefined {
  if (low === high) return lowExclusive || highExclusive ? undefined : low === '' ? zeros : `"${low}" ${zeros}`;
  if (low === '' && !lowExclusive) {
    const tail = below(high, highExclusive);
    return tail === undefined ? undefined : `(${tail})?`;
  }
  const [first, final] = [Number(low[0] ?? 0), Number(high[0] ?? 0)];
  const [lowRest, highRest] = [low.slice(1), high.slice(1)];
  if (first > final) return undefined;
  if (first === final) {
    const tail = between(lowRest, lowExclusive, highRest, highExclusive);
    return tail === undefined ? undefined : `"${first}" ${tail}`;
  }
  const options = [`"${first}" ${above(lowRest, lowExclusive)}`];
  if (first + 1 < final) options.push(`${digitRange(first + 1, final - 1)} ${anyDigits}`);
  const tail = below(highRest, highExclusive);
  if (tail !== undefined) options.push(`"${final}" (${tail})?`);
  else if (highRest !== '') options.push(`"${final}"`);
  return choice(options);
}

/** Every whole number from `from` to `to`, neither negative, as digits without leading zeros. */
function wholeRange(from: bigint, to: bigint): string {
  const options: string[] = [];
  const longest = String(to).length;
  let full: [shortest: number, longest: number] | undefined;
  for (let length = String(from).length; length <= longest; length += 1) {
    const smallest = length === 1 ? 0n : 10n ** BigInt(length - 1);
    const largest = 10n ** BigInt(length) - 1n;
    if (length > 1 && from <= smallest && largest <= to) {
      full = [full?.[0] ?? length, length];
      continue;
    }
    options.push(sameLength(String(from > smallest ? from : smallest), String(to < largest ? to : largest)));
  }
  if (full) options.push(`[1-9] ${digits(full[0] - 1, full[1] - 1)}`);
  return choice(options);
}

/** Digit strings between two of the same length, leading zeros included. */
function sameLength(from: string, to: string): string {
  if (from === '') return '""';
  if (/^0+$/.test(from) && /^9+$/.test(to)) return digits(from.length, from.length);
  const [first, final] = [Number(from[0]), Number(to[0])];
  const [fromRest, toRest] = [from.slice(1), to.slice(1)];
  if (first === final) return joined(`"${first}"`, sameLength(fromRest, toRest));

  const options: string[] = [];
  const wholeFirst = /^0*$/.test(fromRest);
  const wholeFinal = /^9*$/.test(toRest);
  if (!wholeFirst) options.push(joined(`"${first}"`, sameLength(fromRest, '9'.repeat(fromRest.length))));
  const [low, high] = [wholeFirst ? first : first + 1, wholeFinal ? final : final - 1];
  if (low <= high) options.push(joined(digitRange(low, high), digits(fromRest.length, fromRest.length)));
  if (!wholeFinal) options.push(joined(`"${final}"`, sameLength('0'.repeat(toRest.length), toRest)));
  return choice(options);
}

function digitRange(low: number, high: number): string {
  return low === high ? `"${low}"` : `[${low}-${high}]`;
}

function digits(minimum: number, maximum: number): string {
  if (maximum === 0) return '""';
  if (minimum === maximum) return minimum === 1 ? digit : `${digit}{${minimum}}`;
  return `${digit}{${minimum},${maximum}}`;
}

function joined(left: string, right: string): string {
  return right === '""' ? left : `${left} ${right}`;
}
