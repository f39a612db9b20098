import { describe, expect, test } from 'vitest';
import type { AudioEncoder } from '../../audio/encode.ts';
import { EncoderCache, type OpenEncoder } from './speak.ts';

function world({ fails = false } = {}) {
  const log: string[] = [];
  const open: OpenEncoder = async (format, { rate }) => {
    log.push(`open ${format} ${rate}`);
    if (fails) throw new Error('no memory');
    const nothing = new Uint8Array(0);
    return { encode: () => nothing, finish: () => nothing, close: () => log.push(`close ${format}`) } as AudioEncoder;
  };
  return { log, shelf: new EncoderCache(open) };
}

const usual = { rate: 16_000, streamed: true };
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('EncoderCache', () => {
  test('a spare is taken by the next request of its kind only', async () => {
    const { shelf, log } = world();
    shelf.restock('mp3', usual);
    const first = await shelf.take('mp3', usual);
    const second = await shelf.take('mp3', usual);
    expect(first).not.toBe(second);
    expect(log).toEqual(['open mp3 16000', 'open mp3 16000']);
  });

  test.each([
    ['format', 'flac', usual],
    ['rate', 'mp3', { ...usual, rate: 22_050 }],
    ['manner', 'mp3', { ...usual, streamed: false }],
  ] as const)('is left there by who needs another %s', async (_, format, options) => {
    const { shelf, log } = world();
    shelf.restock('mp3', usual);
    await shelf.take(format, options);
    expect(log).toHaveLength(2);
    await shelf.take('mp3', usual);
    expect(log).toHaveLength(2);
  });

  test('opens one spare per kind', () => {
    const { shelf, log } = world();
    shelf.restock('mp3', usual);
    shelf.restock('mp3', usual);
    expect(log).toEqual(['open mp3 16000']);
  });

  test('closes the oldest of too many spares', async () => {
    const { shelf, log } = world();
    for (const rate of [8000, 11_025, 16_000, 22_050]) shelf.restock('mp3', { ...usual, rate });
    await settled();
    expect(log.slice(-2)).toEqual(['open mp3 22050', 'close mp3']);
    await shelf.take('mp3', usual);
    expect(log).toHaveLength(5);
    await shelf.take('mp3', { ...usual, rate: 8000 });
    expect(log.at(-1)).toBe('open mp3 8000');
  });

  test.each(['wav', 'pcm'] as const)('is not needed for %s, which is there at once', (format) => {
    const { shelf, log } = world();
    shelf.restock(format, usual);
    expect(log).toEqual([]);
  });

  test('an error of opening is reported to the request that takes it', async () => {
    const { shelf } = world({ fails: true });
    shelf.restock('mp3', usual);
    shelf.restock('flac', usual);
    await settled();
    await expect(shelf.take('flac', usual)).rejects.toThrow('no memory');
  });
});

test('EncoderCache: real encoders', async () => {
  const shelf = new EncoderCache();
  shelf.restock('mp3', usual);
  const encoder = await shelf.take('mp3', usual);
  expect(encoder.encode(new Float32Array(16_000)).length).toBeGreaterThan(1000);
  encoder.close();
});
