import { choice } from './gbnf.ts';
import { digitRange, digits, wholeRange } from './whole-range.ts';

/** A decimal that is not negative: `fraction` has no zeros at its end. */
export interface Decimal {
  readonly whole: bigint;
  readonly fraction: string;
}

export interface Edge {
  readonly at: Decimal;
  readonly exclusive: boolean;
}

const places = 16;
const anyFraction = `("." ${digits(1, places)})?`;
const anyDigits = digits(0, places);
const zeros = `"0"{0,${places}}`;

/** The size of a finite number in plain decimal digits. */
export function decimal(value: number): Decimal {
  const [mantissa = '', exponent = '0'] = String(Math.abs(value)).split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const point = whole.length + Number(exponent);
  const all = `${whole}${fraction}`;
  const padded = point <= 0 ? `${'0'.repeat(1 - point)}${all}` : all.padEnd(point, '0');
  const split = Math.max(point, 1);
  return { whole: BigInt(padded.slice(0, split)), fraction: padded.slice(split).replace(/0+$/, '') };
}

/** Every decimal from `low` to `high`, neither negative, or undefined when there is none. */
export function decimalRange(low: Edge, high: Edge): string | undefined {
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
  if (at.fraction === '') return exclusive ? [] : [`"${at.whole}" ("." "0"{1,${places}})?`];
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
