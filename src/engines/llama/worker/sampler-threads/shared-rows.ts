/** What the main thread and one sampler thread share: which rows of logits to sample from, and the tokens that were chosen. */
export interface SharedRows {
  readonly control: Int32Array;
  readonly rows: Int32Array;
  readonly addresses: BigInt64Array;
}

/** Places in `control`. `go` and `done` count steps: the thread has work while they differ. */
export const place = { go: 0, done: 1, count: 2, ready: 3 } as const;

/** Fields of one row in `rows`: the number of its sampler, the length of the text so far, and the chosen token. */
export const field = { sampler: 0, length: 1, token: 2 } as const;
export const rowFields = Object.keys(field).length;

/** In place of a token: the sampler threw. */
export const failed = -2;

export function sharedRows(most: number): SharedRows {
  return {
    control: new Int32Array(new SharedArrayBuffer(Object.keys(place).length * 4)),
    rows: new Int32Array(new SharedArrayBuffer(most * rowFields * 4)),
    addresses: new BigInt64Array(new SharedArrayBuffer(most * 8)),
  };
}
