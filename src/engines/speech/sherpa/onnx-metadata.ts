import { type FileHandle, open } from 'node:fs/promises';
import { attempt } from '../../../core/attempt.ts';
import { inner, readFieldHead, readMessage, text, textOf, writeMessage } from '../../onnx/protobuf.ts';

/** `metadata_props` of a model, and the fields of an entry. */
const field = { metadata: 14, key: 1, value: 2 } as const;
const maxEntryBytes = 2 ** 20;
/** Longer than any field without its value. */
const headBytes = 20;

/** Reads the metadata of an ONNX file. Weights are skipped by their length, however large they are. */
export async function readOnnxMetadata(path: string): Promise<ReadonlyMap<string, string>> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    if (size === 0) throw new Error(`${path} is empty`);
    const metadata = await metadataOf(file, size);
    if (!metadata) throw new Error(`${path} is no ONNX file, or it is not complete`);
    return metadata;
  } finally {
    await file.close();
  }
}

/** Undefined for another file. */
async function metadataOf(file: FileHandle, size: number): Promise<ReadonlyMap<string, string> | undefined> {
  const metadata = new Map<string, string>();
  for (let at = 0; at < size; ) {
    const head = await read(file, at, headBytes);
    const known = attempt(() => readFieldHead(head), undefined);
    if (!known || at + known.start + known.length > size) return undefined;
    at += known.start;
    if (known.number === field.metadata && known.length <= maxEntryBytes) {
      const entry = await read(file, at, known.length);
      const message = attempt(() => readMessage(entry), []);
      const texts = new Map(message.map(({ number, value }) => [number, value]));
      const [key, value] = [field.key, field.value].map((number) => texts.get(number));
      if (key instanceof Uint8Array) metadata.set(textOf(key), value instanceof Uint8Array ? textOf(value) : '');
    }
    at += known.length;
  }
  return metadata;
}

async function read(file: FileHandle, at: number, length: number): Promise<Uint8Array> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, at);
  return buffer.subarray(0, bytesRead);
}

/** Entries for the end of a file: fields may be in any order, so that more can be appended. */
export function onnxMetadata(entries: ReadonlyMap<string, string>): Uint8Array {
  return writeMessage(
    [...entries].map(([key, value]) => inner(field.metadata, [text(field.key, key), text(field.value, value)])),
  );
}
