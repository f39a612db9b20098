/** What the main thread and one sampler thread share: which rows of logits to sample from, and the tokens that were chosen. */
export interface SharedRows {
  /** One number for all threads, which changes when there is work: one call wakes them all. */
  readonly step: Int32Array;
  readonly control: Int32Array;
  readonly rows: Int32Array;
  readonly addresses: BigInt64Array;
}

/** Places in `control`. `asked` and `done` count rows since the start; `waiting` is 1 while the main thread sleeps until `done` changes. */
export const place = { asked: 0, done: 1, waiting: 2, ready: 3 } as const;

/** Fields of one row in `rows`: the number of its sampler, the length of the text so far, and the chosen token. */
export const field = { sampler: 0, length: 1, token: 2 } as const;
export const rowFields = Object.keys(field).length;

/** In place of a token: the sampler threw. */
export const failed = -2;

export const sharedIntegers = (count: number): Int32Array => new Int32Array(new SharedArrayBuffer(count * 4));

export function sharedRows(most: number, step: Int32Array): SharedRows {
  return {
    step,
    control: sharedIntegers(Object.keys(place).length),
    rows: sharedIntegers(most * rowFields),
    addresses: new BigInt64Array(new SharedArrayBuffer(most * 8)),
  };
}
