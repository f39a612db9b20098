import type { TimedWord } from '../../../core/transcription.ts';
import { secondsPerStep } from './rules.ts';

/** Attention of one head of the decoder to the sound: `rows` tokens by `columns` steps of 20 ms, row by row. */
export interface Attention {
  readonly weights: Float32Array;
  readonly rows: number;
  readonly columns: number;
}

/** Steps that the median is taken of. */
const medianWidth = 7;

/**
 * When each token from row `from` on begins, in seconds: the cheapest path through the attention of heads that follow the speech
 * (dynamic time warping). The row of a token is the one in which it is predicted; the end has one, too.
 */
export function tokenTimes(heads: readonly Attention[], from: number): readonly number[] {
  const [first] = heads;
  if (!first || first.rows <= from || first.columns === 0) return [];
  const { columns } = first;
  const rows = first.rows - from;
  const cost = new Float64Array(rows * columns);
  for (const head of heads) {
    const normal = normalised(head).subarray(from * columns);
    for (let row = 0; row < rows; row++) {
      const smooth = medians(normal.subarray(row * columns, (row + 1) * columns));
      for (let column = 0; column < columns; column++) {
        const index = row * columns + column;
        cost[index] = (cost[index] as number) - (smooth[column] as number) / heads.length;
      }
    }
  }
  return cheapestPath(cost, rows, columns).map((column) => column * secondsPerStep);
}

/** Each step is compared with the other tokens: what all of them attend to says nothing. */
function normalised({ weights, rows, columns }: Attention): Float64Array {
  const normal = new Float64Array(rows * columns);
  for (let column = 0; column < columns; column++) {
    let [sum, squares] = [0, 0];
    for (let row = 0; row < rows; row++) sum += weights[row * columns + column] as number;
    const mean = sum / rows;
    for (let row = 0; row < rows; row++) squares += ((weights[row * columns + column] as number) - mean) ** 2;
    const deviation = Math.sqrt(squares / rows) || 1;
    for (let row = 0; row < rows; row++) {
      normal[row * columns + column] = ((weights[row * columns + column] as number) - mean) / deviation;
    }
  }
  return normal;
}

/** The median around each value; the values are mirrored at both ends. */
export function medians(values: Float64Array): Float64Array {
  const reach = (medianWidth - 1) / 2;
  if (values.length <= reach) return values;
  const last = values.length - 1;
  const around = new Float64Array(medianWidth);
  return values.map((_, index) => {
    for (let offset = -reach; offset <= reach; offset++) {
      const mirrored = Math.abs(index + offset);
      around[offset + reach] = values[mirrored > last ? 2 * last - mirrored : mirrored] as number;
    }
    return around.sort()[reach] as number;
  });
}

/** The column in which the path enters each row. */
export function cheapestPath(cost: Float64Array, rows: number, columns: number): readonly number[] {
  const width = columns + 1;
  const total = new Float64Array((rows + 1) * width).fill(Number.POSITIVE_INFINITY);
  const from = new Uint8Array((rows + 1) * width);
  total[0] = 0;
  for (let row = 1; row <= rows; row++) {
    for (let column = 1; column <= columns; column++) {
      const diagonal = total[(row - 1) * width + column - 1] as number;
      const above = total[(row - 1) * width + column] as number;
      const before = total[row * width + column - 1] as number;
      const least = diagonal < above && diagonal < before ? 0 : above < diagonal && above < before ? 1 : 2;
      const step = [diagonal, above, before][least] as number;
      total[row * width + column] = (cost[(row - 1) * columns + column - 1] as number) + step;
      from[row * width + column] = least;
    }
  }
  const entered = new Array<number>(rows).fill(0);
  for (let row = rows, column = columns; row > 0 && column > 0; ) {
    entered[row - 1] = column - 1;
    const step = from[row * width + column] as number;
    if (step !== 2) row -= 1;
    if (step !== 1) column -= 1;
  }
  return entered;
}

/** A word, and how many tokens it has. */
interface TokenWord {
  readonly word: string;
  readonly tokens: number;
}

/** These are written without spaces; each character or token is a word. */
const withoutSpaces: ReadonlySet<string> = new Set(['zh', 'ja', 'th', 'lo', 'my', 'km', 'bo']);

/** Joins tokens to words, which begin with a space or, in languages without them, with each whole character. Signs belong to the word before. */
export function joinWords(tokens: readonly Uint8Array[], language: string): readonly TokenWord[] {
  const words: { word: string; tokens: number }[] = [];
  let [open, count] = [Buffer.alloc(0), 0];
  for (const [index, bytes] of tokens.entries()) {
    open = Buffer.concat([open, bytes]);
    count += 1;
    const text = open.toString();
    // A character that goes on in the next token.
    if (text.endsWith('\ufffd') && index < tokens.length - 1) continue;
    const last = words.at(-1);
    const isSign = /^[\p{P}\p{S}]+$/u.test(text);
    const begins = !last || text.startsWith(' ') || (withoutSpaces.has(language) && !isSign);
    if (begins) words.push({ word: text, tokens: count });
    else {
      last.word += text;
      last.tokens += count;
    }
    [open, count] = [Buffer.alloc(0), 0];
  }
  return words;
}

/** Twice this is the longest time of a word. */
const maxMedianSeconds = 0.7;

/**
 * Words with their times. `starts` has the time of each token, and of the end. The attention of a word before a pause reaches over
 * the pause, and that of the first word to the beginning: what is longer than twice the usual length is cut off.
 */
export function timeWords(words: readonly TokenWord[], starts: readonly number[]): readonly TimedWord[] {
  let at = 0;
  const timed = words.map(({ word, tokens }) => {
    const start = starts[at] ?? starts.at(-1) ?? 0;
    at += tokens;
    return { word, start, end: Math.max(start, starts[at] ?? start) };
  });
  const lengths = timed.map(({ start, end }) => end - start).filter((length) => length > 0);
  const median = lengths.sort((one, other) => one - other)[Math.floor(lengths.length / 2)] ?? maxMedianSeconds;
  const maxLength = 2 * Math.min(median, maxMedianSeconds);
  return timed.map(({ word, start, end }, index) => {
    if (index === 0) return { word, start: Math.max(start, end - maxLength), end };
    return { word, start, end: Math.min(end, start + maxLength) };
  });
}
