import { type Decimal, decimal, decimalRange, type Edge } from './decimal-range.ts';
import { choice } from './gbnf.ts';
import { wholeRange } from './whole-range.ts';

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
  const given = {
    low: minimum && (minimum.exclusive ? BigInt(Math.floor(minimum.value)) + 1n : BigInt(Math.ceil(minimum.value))),
    high: maximum && (maximum.exclusive ? BigInt(Math.ceil(maximum.value)) - 1n : BigInt(Math.floor(maximum.value))),
  };
  const low = given.low ?? -endAbove(magnitude(given.high ?? 0n));
  const high = given.high ?? endAbove(magnitude(given.low ?? 0n));
  if (low > high) return undefined;
  const options: string[] = [];
  if (high >= 0n) options.push(wholeRange(low > 0n ? low : 0n, high));
  if (low < 0n) options.push(`"-" ${wholeRange(high < 0n ? -high : 1n, -low)}`);
  return choice(options);
}

/**
 * Every number within the bounds in plain decimals (exponents would let a number leave its range), or undefined when
 * there is none.
 */
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
