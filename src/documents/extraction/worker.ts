import { plainError } from '../../core/errors.ts';
import { openParent } from '../../engines/host/parent.ts';
import { readDocument, unreadable } from '../formats/read-document.ts';
import { openFile } from '../open-file.ts';
import { type FromExtractor, processMegabytes, type ToExtractor, tooLarge } from './messages.ts';

/** The process that reads documents: one at a time, and ended by the server at its limits. */
const parent = openParent<ToExtractor, FromExtractor>({
  message: (message, [bytes]) => void extract(message, bytes),
  closed: () => undefined,
});
async function extract({ name, path, limits }: ToExtractor, attached: Uint8Array | undefined): Promise<void> {
  parent.limitMemory(processMegabytes(limits));
  try {
    const bytes = attached ?? (path === undefined ? new Uint8Array() : await readFile(name, path, limits.fileBytes));
    const { text, ...document } = await readDocument(name, bytes, () => parent.send({ type: 'progress' }));
    if (text.length > limits.characters)
      throw unreadable(name, 'invalid', `it has more than ${limits.characters} characters`);
    parent.send({ type: 'extracted', document, megabytes: megabytes() }, [Buffer.from(text)]);
  } catch (error) {
    parent.send({ type: 'failed', error: plainError(error), megabytes: megabytes() });
  }
}

/** All of a file, which must not change meanwhile. */
async function readFile(name: string, path: string, maxBytes: number): Promise<Uint8Array> {
  const { file } = await openFile(path);
  try {
    const before = await file.stat();
    if (before.size > maxBytes) throw unreadable(name, 'invalid', tooLarge(maxBytes));
    const bytes = new Uint8Array(before.size);
    let length = 0;
    while (length < bytes.length) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    const after = await file.stat();
    if (length !== before.size || after.size !== before.size || after.mtimeMs !== before.mtimeMs)
      throw unreadable(name, 'invalid', 'it changed while it was read');
    return bytes;
  } finally {
    await file.close();
  }
}

const megabytes = (): number => process.memoryUsage.rss() / 1_048_576;
