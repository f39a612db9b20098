import { type FileHandle, open } from 'node:fs/promises';

/** Where a model keeps texts about itself (`metadata_props`), and the fields of one entry. */
const field = { metadata: 14, key: 1, value: 2 } as const;
/** How the length of a value is told. */
const wire = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

const longestEntry = 2 ** 20;

/**
 * The texts that an ONNX file has about itself. Only these are read: weights are passed over by their length, however
 * large they are. Throws a sentence for a file that is no such file.
 */
export async function readOnnxMetadata(path: string): Promise<ReadonlyMap<string, string>> {
  const file = await open(path, 'r');
  try {
    return await metadataOf(file, (await file.stat()).size, path);
  } finally {
    await file.close();
  }
}

async function metadataOf(file: FileHandle, size: number, path: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const head = Buffer.alloc(20);
  let at = 0;
  let fields = 0;
  while (at < size) {
    const { bytesRead } = await file.read(head, 0, head.length, at);
    const reader = new FieldReader(head.subarray(0, bytesRead));
    const tag = reader.varint();
    const length = tag === undefined ? undefined : reader.valueLength(tag & 7);
    if (tag === undefined || length === undefined || at + reader.position + length > size) {
      throw new Error(`${path} is no ONNX file, or it is not complete`);
    }
    if (tag >>> 3 === field.metadata && length <= longestEntry) {
      const entry = Buffer.alloc(length);
      await file.read(entry, 0, length, at + reader.position);
      const { key, value } = entryOf(entry);
      found.set(key, value);
    }
    at += reader.position + length;
    fields += 1;
  }
  if (fields === 0) throw new Error(`${path} is empty`);
  return found;
}

/** Entries for the end of a file: fields may stand in any order, so that more can simply be appended. */
export function onnxMetadata(entries: ReadonlyMap<string, string>): Uint8Array {
  return Buffer.concat(
    [...entries].map(([key, value]) =>
      bytesField(field.metadata, Buffer.concat([textField(field.key, key), textField(field.value, value)])),
    ),
  );
}

function textField(number: number, text: string): Uint8Array {
  return bytesField(number, Buffer.from(text, 'utf8'));
}

function bytesField(number: number, bytes: Uint8Array): Uint8Array {
  return Buffer.concat([varint((number << 3) | wire.bytes), varint(bytes.length), bytes]);
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Uint8Array.from([...bytes, rest]);
}

function entryOf(bytes: Uint8Array): { key: string; value: string } {
  const texts = new Map<number, string>();
  const reader = new FieldReader(bytes);
  while (reader.position < bytes.length) {
    const tag = reader.varint();
    const length = tag === undefined ? undefined : reader.valueLength(tag & 7);
    if (tag === undefined || length === undefined) break;
    texts.set(tag >>> 3, Buffer.from(bytes.subarray(reader.position, reader.position + length)).toString('utf8'));
    reader.position += length;
  }
  return { key: texts.get(field.key) ?? '', value: texts.get(field.value) ?? '' };
}

class FieldReader {
  position = 0;

  constructor(private readonly bytes: Uint8Array) {}

  varint(): number | undefined {
    let value = 0;
    for (let scale = 1; scale < 2 ** 53; scale *= 128) {
      const byte = this.bytes[this.position++];
      if (byte === undefined) return undefined;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
    return undefined;
  }

  /** Number of bytes that follow; inline numbers are consumed. */
  valueLength(type: number): number | undefined {
    switch (type) {
      case wire.varint:
        return this.varint() === undefined ? undefined : 0;
      case wire.fixed64:
        return 8;
      case wire.fixed32:
        return 4;
      case wire.bytes:
        return this.varint();
      default:
        return undefined;
    }
  }
}
