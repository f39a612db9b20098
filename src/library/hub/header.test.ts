import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { arrayEntry, encodeHeader, writeGguf } from '../../../scripts/conversion/gguf-file.ts';
import { testHub } from '../testing/hub.ts';
import { readHubHeader } from './header.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-header-'));
afterAll(() => rmSync(folder, { recursive: true }));
const repository = { id: 'owner/name', commit: '0123456789abcdef0123456789abcdef01234567' };
const megabyte = 1 << 20;

const metadata = {
  'general.architecture': { type: 'string', value: 'llama' },
  'llama.block_count': { type: 'uint32', value: 3 },
} as const;
const tensors = [{ name: 'w', shape: [1 << 20], type: 'F32', data: new Float32Array(1 << 20) }] as const;

async function fileOf(name: string, vocabulary: number): Promise<Buffer> {
  const path = join(folder, name);
  const tokens = arrayEntry(
    'string',
    Array.from({ length: vocabulary }, (_, index) => `token ${index} `.repeat(8)),
  );
  await writeGguf(path, { metadata: { ...metadata, 'tokenizer.ggml.tokens': tokens }, tensors });
  return readFileSync(path);
}

let small: Buffer;
let large: Buffer;
beforeAll(async () => {
  small = await fileOf('small.gguf', 10);
  large = await fileOf('large.gguf', 50_000);
});

async function read(bytes: Buffer, { size = bytes.length, fetch = globalThis.fetch } = {}) {
  const hub = await testHub({ 'owner/name': { files: { 'a.gguf': bytes } } });
  const parts = { hub: { base: hub.base, token: undefined, offline: false }, fetch, allowsAddress: () => true };
  const file = { path: 'a.gguf', bytes: size, sha256: undefined };
  return { stored: hub.stored, header: readHubHeader(repository, file, { ...parts, wait: async () => {} }) };
}

describe('readHubHeader', () => {
  test('reads the beginning of the file only', async () => {
    const { header, stored } = await read(Buffer.concat([small, Buffer.alloc(8 * megabyte)]));
    expect(await header).toMatchObject({ architecture: 'llama', tensors: [{ name: 'w', bytes: 4 * megabyte }] });
    expect(stored.map(({ range }) => range)).toEqual([`bytes=0-${4 * megabyte - 1}`]);
  });

  test('continues where a long vocabulary goes on', async () => {
    const { header, stored } = await read(large);
    expect((await header).metadata.get('tokenizer.ggml.tokens')?.value).toMatchObject({ length: 50_000 });
    expect(stored).toHaveLength(2);
  });

  test('takes no more than it needs from a host that ignores ranges, and refuses what is not at the beginning', async () => {
    const whole = (body: Buffer): typeof fetch => {
      return async (url, init) => {
        const answer = await fetch(url, init);
        return answer.status === 206 ? new Response(new Uint8Array(body)) : answer;
      };
    };
    expect(await (await read(small, { fetch: whole(small) })).header).toMatchObject({ architecture: 'llama' });
    await expect((await read(large, { fetch: whole(large) })).header).rejects.toThrow(
      'does not send parts of it (200)',
    );
  });

  test.each([
    ['no GGUF file', () => Buffer.from('<html>Please log in to this network first.</html>'), 'This is no GGUF file'],
    ['a file that ends early', () => small.subarray(0, 100), 'cut off or damaged'],
    ['a number of tensors that cannot be', () => countsOf(10 ** 12), 'cannot hold'],
    ['a text that claims to be endless', () => textOf(2 ** 40), 'claims 1099511627776 bytes'],
  ])('%s', async (_, bytes, sentence) => {
    const { header, stored } = await read(bytes(), { size: 10 ** 10 });
    await expect(header).rejects.toThrow(sentence);
    expect(stored.length).toBeLessThan(3);
  });

  test('gives up after 64 MB', async () => {
    // Billions of empty texts: a list that could be in a file of this size.
    const head = encodeHeader({ metadata: { ...metadata, list: arrayEntry('string', []) }, tensors: [] });
    head.writeBigUInt64LE(10n ** 9n, head.length - 8);
    const endless = Buffer.concat([head, Buffer.alloc(70 * megabyte)]);
    const { header, stored } = await read(endless, { size: 10 ** 11 });
    await expect(header).rejects.toThrow('the header of a.gguf is larger than 64 MB');
    expect(stored).toHaveLength(16);
  });
});

function countsOf(tensorCount: number): Buffer {
  const bytes = Buffer.from(small);
  bytes.writeBigUInt64LE(BigInt(tensorCount), 8);
  return bytes;
}

/** The first key, behind magic, version and counts. */
function textOf(length: number): Buffer {
  const bytes = Buffer.from(small);
  bytes.writeBigUInt64LE(BigInt(length), 24);
  return bytes;
}
