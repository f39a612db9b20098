import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type * as Extraction from '../../src/documents/extraction.ts';
import { pdfOf } from '../../src/documents/testing/pdf.ts';
import { spawnChild } from '../../src/engines/host/child.ts';
import { isAlive } from './alive.ts';
import { builtModules } from './server.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-extraction-'));
const pids: number[] = [];
let extractor: Extraction.DocumentExtractor;
const { signal } = new AbortController();
const bytes = (text: string): Uint8Array => Buffer.from(text);

beforeAll(async () => {
  const names = ['documents/extraction', 'documents/extraction/worker', 'engines/host/watchdog'];
  const address = await builtModules(folder, names);
  const { DocumentExtractor } = (await import(address('documents/extraction'))) as typeof Extraction;
  extractor = new DocumentExtractor({
    spawn: (entry, listeners, execArgv) => {
      const child = spawnChild<never, never>(entry, listeners as never, execArgv);
      pids.push(child.pid ?? 0);
      return child as never;
    },
  });
});
afterAll(async () => {
  await extractor.stop();
  rmSync(folder, { recursive: true });
});

test('extraction: files and bytes are read in one process, also after a faulty one', async () => {
  const path = join(folder, 'a.md');
  writeFileSync(path, '# One\n\nText');
  expect(await extractor.extract('a.md', { path }, { signal })).toMatchObject({ title: 'One', text: '# One\n\nText' });
  await expect(extractor.extract('a.bin', { bytes: Uint8Array.of(0, 1, 0) }, { signal })).rejects.toMatchObject({
    code: 'document-unreadable',
    details: { name: 'a.bin', kind: 'unsupported' },
  });
  await expect(extractor.extract('none.md', { path: join(folder, 'none.md') }, { signal })).rejects.toThrow('none.md');
  const pdf = await extractor.extract('a.pdf', { bytes: pdfOf([[[10, 'A page']]]) }, { signal });
  expect(pdf).toMatchObject({ text: 'A page', pages: 1 });
  expect(new Set(pids).size).toBe(1);
});

test('extraction: a process that takes too long is killed, and the next document gets another', async () => {
  const pages = pdfOf(Array.from({ length: 3000 }, () => [[10, 'A page']] as const));
  const before = pids.length;
  const limits = { totalMilliseconds: 20 };
  await expect(extractor.extract('a.pdf', { bytes: pages }, { signal, limits })).rejects.toThrow('longer than');
  await expect.poll(() => isAlive(pids.at(-1) ?? 0)).toBe(false);
  expect((await extractor.extract('a.txt', { bytes: bytes('Text') }, { signal })).text).toBe('Text');
  expect(pids.length).toBeGreaterThan(before);
});

test('extraction: a document that needs too much memory ends its process, with that as reason', async () => {
  const json = `[${'[],'.repeat(8_000_000)}[]]`;
  const limits = { heapMegabytes: 64, fileBytes: 64 * 1_048_576 };
  await expect(extractor.extract('a.json', { bytes: bytes(json) }, { signal, limits })).rejects.toThrow('MB of memory');
});

test('extraction: an abort ends the process of its document', async () => {
  const stop = new AbortController();
  const reading = extractor.extract(
    'a.pdf',
    { bytes: pdfOf(Array.from({ length: 3000 }, () => [])) },
    { signal: stop.signal },
  );
  stop.abort(new Error('gone'));
  await expect(reading).rejects.toThrow('gone');
});

test('extraction: limits of the file and of the text', async () => {
  const path = join(folder, 'large.txt');
  writeFileSync(path, 'word '.repeat(1000));
  const extract = (limits: Partial<Extraction.ExtractionLimits>) =>
    extractor.extract('large.txt', { path }, { signal, limits });
  await expect(extract({ fileBytes: 1000 })).rejects.toThrow('larger than');
  await expect(extract({ characters: 1000 })).rejects.toThrow('more than 1000 characters');
});
