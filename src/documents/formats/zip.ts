import { FormatError } from './format-error.ts';

const reasons = {
  damaged: () => 'it is damaged',
  'too-many-files': () => 'the archive has too many files',
  'damaged-entry': (entry: string) => `it is damaged (${entry})`,
  'too-large': (entry: string) => `${entry} in it is too large when it is unpacked`,
  encrypted: () => 'it is encrypted',
  'unknown-method': (entry: string) => `${entry} in it is compressed in a way that is not known`,
};

export class ZipError extends FormatError {
  override readonly name = 'ZipError';

  constructor(
    readonly fault: keyof typeof reasons,
    readonly entry = '',
  ) {
    super(reasons[fault](entry.slice(0, 200)));
  }
}

export interface ZipEntry {
  /** Path inside of the archive, with `/` between folders. */
  readonly name: string;
  /** Size as the archive states it. */
  readonly size: number;
  /** Inflates the entry. Throws if it is larger than the limit or damaged. */
  bytes(limit?: number): Promise<Uint8Array>;
  text(limit?: number): Promise<string>;
}

const maxEntries = 10_000;
const maxBytes = 64 * 1_048_576;

const endMark = 0x06054b50;
const directoryMark = 0x02014b50;
const localMark = 0x04034b50;
const endLength = 22;
const directoryLength = 46;
const localLength = 30;

export function isZip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x50 && bytes[1] === 0x4b && (bytes[2] === 3 || bytes[2] === 5);
}

/**
 * The files of a zip archive, folders left out. Nothing is inflated before an entry is read, and no entry is
 * inflated beyond its limit, whatever size the archive states.
 */
export async function readZip(bytes: Uint8Array): Promise<ZipEntry[]> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = endOfDirectory(view);
  const count = view.getUint16(end + 10, true);
  const length = view.getUint32(end + 12, true);
  const offset = view.getUint32(end + 16, true);
  if (count > maxEntries || count === 0xffff || offset === 0xffffffff) throw new ZipError('too-many-files');
  // Offsets count from the start of the archive, which may follow a picture.
  const before = end - length - offset;
  if (before < 0) throw new ZipError('damaged');
  const entries: ZipEntry[] = [];
  let at = before + offset;
  for (let index = 0; index < count; index++) {
    if (at + directoryLength > end || view.getUint32(at, true) !== directoryMark) throw new ZipError('damaged');
    const nameLength = view.getUint16(at + 28, true);
    const name = nameIn(bytes.subarray(at + directoryLength, at + directoryLength + nameLength));
    const header: Header = {
      encrypted: (view.getUint16(at + 8, true) & 1) === 1,
      method: view.getUint16(at + 10, true),
      checksum: view.getUint32(at + 16, true),
      packed: view.getUint32(at + 20, true),
      size: view.getUint32(at + 24, true),
      local: before + view.getUint32(at + 42, true),
    };
    if (!name.endsWith('/')) entries.push(entryOf(bytes, view, name, header));
    at += directoryLength + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return entries;
}

interface Header {
  readonly encrypted: boolean;
  readonly method: number;
  readonly checksum: number;
  readonly packed: number;
  readonly size: number;
  readonly local: number;
}

/** The end record is followed by a comment of at most 64 KB. */
function endOfDirectory(view: DataView): number {
  const first = Math.max(0, view.byteLength - endLength - 0xffff);
  for (let at = view.byteLength - endLength; at >= first; at--) if (view.getUint32(at, true) === endMark) return at;
  throw new ZipError('damaged');
}

function nameIn(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).replaceAll('\\', '/');
}

function entryOf(archive: Uint8Array, view: DataView, name: string, header: Header): ZipEntry {
  const bytes = async (limit = maxBytes): Promise<Uint8Array> => {
    if (header.size > limit) throw new ZipError('too-large', name);
    const content = await inflated(packedBytes(archive, view, name, header), name, header.method, limit);
    if (content.length !== header.size || checksum(content) !== header.checksum)
      throw new ZipError('damaged-entry', name);
    return content;
  };
  return { name, size: header.size, bytes, text: async (limit) => new TextDecoder().decode(await bytes(limit)) };
}

function packedBytes(archive: Uint8Array, view: DataView, name: string, header: Header): Uint8Array {
  if (header.encrypted) throw new ZipError('encrypted', name);
  const { local, packed } = header;
  if (local + localLength > archive.length || view.getUint32(local, true) !== localMark)
    throw new ZipError('damaged-entry', name);
  const start = local + localLength + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
  if (start + packed > archive.length) throw new ZipError('damaged-entry', name);
  return archive.subarray(start, start + packed);
}

async function inflated(packed: Uint8Array, name: string, method: number, limit: number): Promise<Uint8Array> {
  if (method === 0) {
    if (packed.length > limit) throw new ZipError('too-large', name);
    return packed.slice();
  }
  if (method !== 8) throw new ZipError('unknown-method', name);
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  const reader = new Blob([packed.slice()]).stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader();
  for (;;) {
    const { value } = await reader.read().catch(() => {
      throw new ZipError('damaged-entry', name);
    });
    if (value === undefined) break;
    length += value.length;
    if (length > limit) {
      await reader.cancel().catch(() => undefined);
      throw new ZipError('too-large', name);
    }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

let table: Uint32Array | undefined;

/** CRC-32, as zip and PNG use it. */
export function checksum(bytes: Uint8Array): number {
  table ??= Uint32Array.from({ length: 256 }, (_, byte) => {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
    return value;
  });
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ (table[(crc ^ byte) & 0xff] ?? 0);
  return (crc ^ 0xffffffff) >>> 0;
}
