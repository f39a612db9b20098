import type { PersonFile } from '../core/person-data.ts';

const block = 512;

/** An archive of these files (POSIX tar with pax headers), which every system can open. A file that has changed its size ends it with an error. */
export async function* tarOf(files: AsyncIterable<PersonFile>, time: number): AsyncGenerator<Uint8Array> {
  for await (const { path: named, bytes, content } of files) {
    const path = safePath(named);
    // Names of any length and script.
    const pax = paxRecord('path', path);
    yield* [headOf('pax', pax.length, 'x', time), padded(pax), headOf(plainName(path), bytes, '0', time)];
    let written = 0;
    for await (const piece of content()) {
      written += piece.length;
      if (written > bytes) break;
      yield piece;
    }
    if (written !== bytes) throw new Error(`${path} was changed while it was read`);
    yield Buffer.alloc(paddingOf(bytes));
  }
  yield Buffer.alloc(2 * block);
}

/** Clients have chosen some of the names: unpacked on any system, none leads out of the folder or has control characters. */
const safePath = (path: string): string =>
  path
    .split(/[/\\]+/)
    .map((part) => part.replace(/[\p{Cc}:]/gu, '_').replace(/^\.\.?$/, '_'))
    .filter((part) => part !== '')
    .join('/');

/** For readers that do not know pax headers. */
const plainName = (path: string): string => path.replace(/[^\x20-\x7e]/g, '_').slice(-99);

function headOf(name: string, bytes: number, type: string, time: number): Buffer {
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  const head = Buffer.alloc(block);
  head.write(name, 0);
  head.write(octal(0o600, 7), 100);
  head.write(octal(bytes, 11), 124);
  head.write(octal(Math.floor(time / 1000), 11), 136);
  head.write('        ', 148);
  head.write(type, 156);
  head.write('ustar\x0000', 257);
  const sum = head.reduce((total, byte) => total + byte, 0);
  head.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return head;
}

/** `LENGTH path=…`, where the length counts its own digits. */
function paxRecord(name: string, value: string): Buffer {
  const rest = ` ${name}=${value}\n`;
  const withLength = (digits: number): Buffer => Buffer.from(`${Buffer.byteLength(rest) + digits}${rest}`);
  const lengths = [1, 2, 3, 4, 5].map(withLength);
  return lengths.find((record) => record.length === Number.parseInt(record.toString('latin1'), 10)) as Buffer;
}

const paddingOf = (bytes: number): number => (block - (bytes % block)) % block;
const padded = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.alloc(paddingOf(bytes.length))]);
