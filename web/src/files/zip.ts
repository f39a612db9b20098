import { readZip as openZip, type ZipEntry, ZipError } from '../../../src/documents/formats/zip.ts';
import { texts } from './texts.ts';
import { Unreadable } from './unreadable.ts';

export { checksum, isZip, type ZipEntry } from '../../../src/documents/formats/zip.ts';

/** The files of a zip archive. Errors are sentences for people. */
export async function readZip(bytes: Uint8Array): Promise<ZipEntry[]> {
  const entries = await worded(openZip(bytes));
  return entries.map(({ name, size, ...entry }) => ({
    name,
    size,
    bytes: (maxBytes) => worded(entry.bytes(maxBytes)),
    text: (maxBytes) => worded(entry.text(maxBytes)),
  }));
}

function worded<Value>(work: Promise<Value>): Promise<Value> {
  return work.catch((error: unknown) => {
    throw error instanceof ZipError ? new Unreadable(sentence(error)) : error;
  });
}

function sentence({ fault, entry }: ZipError): string {
  const words = texts.zip;
  switch (fault) {
    case 'damaged':
      return words.damaged;
    case 'too-many-files':
      return words.tooManyFiles;
    case 'damaged-entry':
      return words.damagedEntry(entry);
    case 'too-large':
      return words.tooLarge(entry);
    case 'encrypted':
      return words.encrypted(entry);
    case 'unknown-method':
      return words.unknownMethod(entry);
  }
}
