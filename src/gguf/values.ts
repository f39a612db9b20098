import type { Cursor } from './cursor.ts';
import { GgufError } from './error.ts';
import { type GgufArray, type GgufEntry, type GgufValue, type ValueType, valueTypeOf, valueTypes } from './types.ts';

const longestText = 64 << 20;
const deepestArray = 4;

/** Reads one metadata value. Of an array, `keep` entries at most are kept; the others are stepped over. */
export async function readEntry(cursor: Cursor, what: string, keep: number): Promise<GgufEntry> {
  const type = await readType(cursor, what);
  return { type, value: await readValue(cursor, type, what, keep, 0) };
}

async function readType(cursor: Cursor, what: string): Promise<ValueType> {
  const id = await cursor.uint32(`the type of ${what}`);
  const type = valueTypeOf(id);
  if (type === undefined) throw new GgufError(`The file is damaged: ${what} has the unknown value type ${id}.`);
  return type;
}

async function readValue(
  cursor: Cursor,
  type: ValueType,
  what: string,
  keep: number,
  depth: number,
): Promise<GgufValue> {
  if (type === 'string') return cursor.text(what, longestText);
  if (type === 'array') return readArray(cursor, what, keep, depth);
  return decode(await cursor.take(valueTypes[type].width, what), type, what);
}

async function readArray(cursor: Cursor, what: string, keep: number, depth: number): Promise<GgufArray> {
  if (depth >= deepestArray) throw new GgufError(`The file is damaged: ${what} is nested too deep.`);
  const type = await readType(cursor, what);
  const length = await cursor.count(`the length of ${what}`);
  const { width } = valueTypes[type];
  // A text takes 8 bytes at least, an array 12: a length that cannot fit is damage and not worth walking through.
  const smallest = width || 8;
  if (length * smallest > cursor.left) {
    throw new GgufError(`The file is cut off or damaged: ${what} claims ${length} entries.`);
  }
  const values: GgufValue[] = [];
  const kept = Math.min(keep, length);
  for (let index = 0; index < kept; index += 1) values.push(await readValue(cursor, type, what, keep, depth + 1));
  if (width > 0) cursor.skip((length - kept) * width, what);
  else if (type === 'string') await stepOverTexts(cursor, length - kept, what);
  else for (let index = kept; index < length; index += 1) await readArray(cursor, what, 0, depth + 1);
  return { type, length, values };
}

/** Vocabularies have hundreds of thousands of texts: those that are in memory are passed over in one go. */
async function stepOverTexts(cursor: Cursor, count: number, what: string): Promise<void> {
  for (let left = count - cursor.passTexts(count); left > 0; left -= 1 + cursor.passTexts(left - 1)) {
    cursor.skip(await cursor.count(what), what);
  }
}

function decode(bytes: Buffer, type: ValueType, what: string): GgufValue {
  switch (type) {
    case 'uint8':
      return bytes.readUInt8();
    case 'int8':
      return bytes.readInt8();
    case 'uint16':
      return bytes.readUInt16LE();
    case 'int16':
      return bytes.readInt16LE();
    case 'uint32':
      return bytes.readUInt32LE();
    case 'int32':
      return bytes.readInt32LE();
    case 'float32':
      return bytes.readFloatLE();
    case 'float64':
      return bytes.readDoubleLE();
    case 'uint64':
      return small(bytes.readBigUInt64LE());
    case 'int64':
      return small(bytes.readBigInt64LE());
    case 'bool': {
      const value = bytes.readUInt8();
      if (value > 1) throw new GgufError(`The file is damaged: ${what} is neither true nor false.`);
      return value === 1;
    }
    case 'string':
    case 'array':
      throw new RangeError(`${type} has no fixed width`);
  }
}

function small(value: bigint): number | bigint {
  return BigInt(Number(value)) === value && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}
