/** Powers of two in steps of a 2048th, from 1 up to 2. */
const steps = 2048;
const between = Float64Array.from({ length: steps }, (_, step) => 2 ** (step / steps));
/** Whole powers of two: below the last of them nothing counts any more beside the likeliest token. */
const deepest = 64;
const powers = Float64Array.from({ length: deepest + 1 }, (_, index) => 2 ** (index - deepest));
const stepsPerUnit = steps / Math.LN2;

/**
 * The sum of the exponentials of all numbers in a row, each less `highest`, which is the largest of them. Good to ten digits,
 * and some three times as fast as the function of the language: a row has as many numbers as a vocabulary has tokens.
 */
export function sumOfExponentials(row: Float32Array, highest: number): number {
  let sum = 0;
  for (let index = 0; index < row.length; index += 1) {
    const place = ((row[index] as number) - highest) * stepsPerUnit;
    // Also true of what is not a number.
    if (!(place > -deepest * steps)) continue;
    const step = Math.floor(place);
    // What the table leaves is so small that two terms of the series are enough for it.
    const rest = (place - step) / stepsPerUnit;
    const power = powers[(step >> 11) + deepest] as number;
    sum += power * (between[step & (steps - 1)] as number) * (1 + rest * (1 + rest / 2));
  }
  return sum;
}
