/** Indices of `control`. `submitted` and `done` count rows since the start; `waiting` is 1 while the main thread sleeps. */
export const controlIndex = { submitted: 0, done: 1, waiting: 2, ready: 3 } as const;

/** Fields of one row in `rows`: the id of its sampler, the length of the sequence so far, and the sampled token. */
export const field = { sampler: 0, length: 1, token: 2 } as const;
export const rowFields = Object.keys(field).length;

/** In place of a token: the sampler threw. */
export const failed = -2;

export const sharedIntegers = (count: number): Int32Array => new Int32Array(new SharedArrayBuffer(count * 4));

export type SharedRows = ReturnType<typeof sharedRows>;

/** Memory shared by the main thread and one sampler thread: the rows of logits to sample from, and the sampled tokens. */
export function sharedRows(maxRows: number, step: Int32Array) {
  return {
    /** One counter for all threads, incremented when there is work: one call wakes them all. */
    step,
    control: sharedIntegers(Object.keys(controlIndex).length),
    rows: sharedIntegers(maxRows * rowFields),
    addresses: new BigInt64Array(new SharedArrayBuffer(maxRows * 8)),
  };
}
