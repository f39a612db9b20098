import { described, type Read, readNumber } from '../fields/readers.ts';

/** Where this dialect wants a whole number it takes the whole part of any. */
export const readTruncated: Read<number> = described({ type: 'integer' }, (value, path) =>
  Math.trunc(readNumber(value, path)),
);
