import { choice } from './gbnf.ts';

const digit = '[0-9]';

/** Every whole number from `from` to `to`, neither negative, as digits without leading zeros. */
export function wholeRange(from: bigint, to: bigint): string {
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

export function digitRange(low: number, high: number): string {
  return low === high ? `"${low}"` : `[${low}-${high}]`;
}

export function digits(minimum: number, maximum: number): string {
  if (maximum === 0) return '""';
  if (minimum === maximum) return minimum === 1 ? digit : `${digit}{${minimum}}`;
  return `${digit}{${minimum},${maximum}}`;
}

function joined(left: string, right: string): string {
  return right === '""' ? left : `${left} ${right}`;
}
