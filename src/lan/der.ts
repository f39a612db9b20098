/** DER (X.690), as far as certificates need it. */

export const sequence = (...parts: readonly Uint8Array[]): Buffer => element(0x30, ...parts);
export const set = (...parts: readonly Uint8Array[]): Buffer => element(0x31, ...parts);
export const boolean = (value: boolean): Buffer => element(0x01, Uint8Array.of(value ? 0xff : 0));
export const octets = (bytes: Uint8Array): Buffer => element(0x04, bytes);
export const utf8 = (text: string): Buffer => element(0x0c, Buffer.from(text));

/** A context-specific type: `constructed` wraps other elements. */
export const tagged = (number: number, constructed: boolean, ...parts: readonly Uint8Array[]): Buffer =>
  element((constructed ? 0xa0 : 0x80) | number, ...parts);

/** An unsigned number, big-endian. */
export function integer(bytes: Uint8Array): Buffer {
  const start = bytes.findIndex((byte) => byte !== 0);
  const plain = start < 0 ? Uint8Array.of(0) : bytes.subarray(start);
  // The first bit is the sign.
  return element(0x02, (plain[0] ?? 0) >= 0x80 ? Uint8Array.of(0) : Uint8Array.of(), plain);
}

export const bits = (bytes: Uint8Array, unusedBits = 0): Buffer => element(0x03, Uint8Array.of(unusedBits), bytes);

/** An object identifier such as 2.5.29.17. */
export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const bytes = [first * 40 + second, ...rest].flatMap((value) => {
    const groups = [value & 0x7f];
    for (let left = value >>> 7; left > 0; left >>>= 7) groups.unshift((left & 0x7f) | 0x80);
    return groups;
  });
  return element(0x06, Uint8Array.from(bytes));
}

/** UTCTime until 2049, GeneralizedTime after it, as RFC 5280 requires. */
export function time(milliseconds: number): Buffer {
  const date = new Date(milliseconds);
  const text = `${date.toISOString().replace(/\.\d+/, '').replace(/[-:T]/g, '')}`;
  return date.getUTCFullYear() < 2050 ? element(0x17, Buffer.from(text.slice(2))) : element(0x18, Buffer.from(text));
}

function element(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Uint8Array.of(tag), lengthOf(content.length), content]);
}

function lengthOf(length: number): Uint8Array {
  if (length < 0x80) return Uint8Array.of(length);
  const bytes: number[] = [];
  for (let left = length; left > 0; left >>>= 8) bytes.unshift(left & 0xff);
  return Uint8Array.of(0x80 | bytes.length, ...bytes);
}
