import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';

/** One file of an archive. Its content must be read or skipped before the next file. */
interface ArchivedFile {
  readonly name: string;
  readonly content: AsyncIterable<Uint8Array>;
}

const block = 512;

/** A header declares how long the name after it is; real ones are far shorter. */
const maxNameBytes = 1 << 20;

const damaged = (): Error => new Error('the archive is damaged');

/** The files of a gzipped tar archive on disk. */
export function readArchive(path: string): AsyncIterable<ArchivedFile> {
  // An error of either stream is thrown by the iteration.
  return readTar(pipeline(createReadStream(path), createGunzip(), () => undefined));
}

/** The files of a tar archive (ustar, with GNU and pax long names), in order. */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncIterable<ArchivedFile> {
  const input = new Pieces(source);
  let longName: string | undefined;
  for (;;) {
    const head = await input.exactly(block);
    if (!head || head.every((byte) => byte === 0)) return;
    if (checksum(head) !== octal(head.subarray(148, 156))) throw damaged();
    const size = octal(head.subarray(124, 136));
    const type = String.fromCharCode(head[156] ?? 0);
    const padded = Math.ceil(size / block) * block;
    if (type === 'L' || type === 'x') {
      if (size > maxNameBytes) throw damaged();
      const text = Buffer.from((await input.exactly(padded))?.subarray(0, size) ?? []).toString('utf8');
      longName = type === 'L' ? text.replace(/\0.*$/s, '') : (/^\d+ path=(.*)$/m.exec(text)?.[1] ?? longName);
      continue;
    }
    const name = longName ?? plainName(head);
    longName = undefined;
    const rest = { bytes: padded };
    const content = contentOf(input, size, rest);
    if (type === '0' || type === '\0') yield { name, content };
    await input.skip(rest.bytes);
  }
}

async function* contentOf(input: Pieces, size: number, rest: { bytes: number }): AsyncIterable<Uint8Array> {
  let left = size;
  while (left > 0) {
    const piece = await input.atMost(left);
    if (!piece) throw new Error('the archive ends in the middle of a file');
    left -= piece.length;
    rest.bytes -= piece.length;
    yield piece;
  }
}

/** The sum of all bytes, with spaces in place of the sum itself. */
function checksum(head: Uint8Array): number {
  return head.reduce((sum, byte, index) => sum + (index >= 148 && index < 156 ? 0x20 : byte), 0);
}

function plainName(head: Uint8Array): string {
  const text = (from: number, to: number) =>
    Buffer.from(head.subarray(from, to)).toString('utf8').replace(/\0.*$/s, '');
  const prefix = text(257, 262) === 'ustar' ? text(345, 500) : '';
  return prefix === '' ? text(0, 100) : `${prefix}/${text(0, 100)}`;
}

function octal(field: Uint8Array): number {
  const value = Number.parseInt(Buffer.from(field).toString('latin1').replace(/\0.*$/s, '').trim() || '0', 8);
  if (!Number.isSafeInteger(value) || value < 0) throw damaged();
  return value;
}

/** Reads pieces of a given size from pieces of any size. */
class Pieces {
  readonly #source: AsyncIterator<Uint8Array>;
  #held: Uint8Array = new Uint8Array(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Undefined at the end. */
  async atMost(bytes: number): Promise<Uint8Array | undefined> {
    while (this.#held.length === 0) {
      const { done, value } = await this.#source.next();
      if (done) return undefined;
      this.#held = value;
    }
    const piece = this.#held.subarray(0, bytes);
    this.#held = this.#held.subarray(piece.length);
    return piece;
  }

  /** Undefined at the end. */
  async exactly(bytes: number): Promise<Uint8Array | undefined> {
    const whole = new Uint8Array(bytes);
    for (let have = 0; have < bytes; ) {
      const piece = await this.atMost(bytes - have);
      if (!piece && have > 0) throw damaged();
      if (!piece) return undefined;
      whole.set(piece, have);
      have += piece.length;
    }
    return whole;
  }

  async skip(bytes: number): Promise<void> {
    for (let left = bytes; left > 0; ) {
      const piece = await this.atMost(left);
      if (!piece) throw damaged();
      left -= piece.length;
    }
  }
}
