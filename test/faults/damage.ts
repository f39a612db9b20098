import { readFileSync, writeFileSync } from 'node:fs';

/** Ways in which the content of a file is lost. All of them are the same in every run. */
export const damages = {
  truncated: (bytes: Buffer) => bytes.subarray(0, bytes.length >> 1),
  'with flipped bits in its head': (bytes: Buffer) => flipped(bytes, 0, 16),
  'with flipped bits in the middle': (bytes: Buffer) => flipped(bytes, bytes.length >> 1, 16),
  emptied: () => Buffer.alloc(0),
  'overwritten with zeros': (bytes: Buffer) => Buffer.alloc(Math.min(bytes.length, 2 ** 20)),
} as const satisfies Readonly<Record<string, (bytes: Buffer) => Buffer>>;
export type Damage = keyof typeof damages;
export const allDamages = Object.keys(damages) as readonly Damage[];

/** The high bit too, so that texts are no UTF-8 any more. */
function flipped(bytes: Buffer, from: number, count: number): Buffer {
  const copy = Buffer.from(bytes);
  for (let index = from; index < Math.min(copy.length, from + count); index += 1) {
    copy[index] = (copy[index] ?? 0) ^ (0x80 | (1 << (index % 7)));
  }
  return copy;
}

/** Damages a file in place, as a disk does. The result repairs it. */
export function damage(path: string, how: Damage): () => void {
  const bytes = readFileSync(path);
  writeFileSync(path, damages[how](bytes));
  return () => writeFileSync(path, bytes);
}
