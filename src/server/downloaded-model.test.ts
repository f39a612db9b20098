import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { defaultSettings, type FlagKey, type Settings } from '../config/flags.ts';
import type { ModelFile } from '../engines/llama/load-options.ts';
import { downloadedSettings, downloadOf } from './downloaded-model.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-downloaded-'));
afterAll(() => rmSync(root, { recursive: true }));
const folder = join(root, 'acme--foo');
mkdirSync(folder);
const path = join(folder, 'foo-Q4_K_M.gguf');
const projector = join(folder, 'mmproj-F16.gguf');
for (const file of [path, projector]) writeFileSync(file, 'x');

const gib = 2 ** 30;

interface World {
  readonly own?: Partial<Settings>;
  readonly at?: string;
  readonly free?: number;
  readonly cards?: readonly number[];
  readonly hasVision?: boolean;
}

/** A model of 4 GiB with 64 KiB of cache per token, trained for 131,072. */
async function settle({ own = {}, at = path, free = 5 + 9, cards = [], hasVision = true }: World = {}) {
  const lines: string[] = [];
  const shape = { architecture: 'qwen3', layers: 28, trainedContext: 131_072, sizeBytes: 4 * gib };
  const file = { path: at, shape: { ...shape, cacheBytesPerToken: 65_536 } } as ModelFile;
  const running = { settings: { ...defaultSettings, ...own }, given: new Set(Object.keys(own) as FlagKey[]) };
  const { contextsize, mmproj } = await downloadedSettings(running, file, {
    memory: async () => ({ mainBytes: free * gib, cardBytes: cards.map((card) => card * gib) }),
    hasVision: () => hasVision,
    line: (text) => lines.push(text),
  });
  return { contextsize, mmproj, lines };
}

describe('downloadedSettings', () => {
  test('the projector of the repository, and a context as large as fits', async () => {
    expect(await settle()).toEqual({
      contextsize: 32_768,
      mmproj: projector,
      lines: ['Context 32768, because there is room for it in memory beside the model; it was trained for 131072.'],
    });
    const onCard = await settle({ cards: [20], free: 6 });
    expect(onCard).toMatchObject({ contextsize: 98_304, lines: [expect.stringContaining('on the graphics cards')] });
  });

  test('without the pack for pictures the projector is not used, and the way to it is told', async () => {
    const { mmproj, lines } = await settle({ hasVision: false, free: 5 });
    expect(mmproj).toBe('');
    expect(lines).toEqual(['This model understands pictures or sound, too, with: parley pack add vision']);
  });

  test.each<[string, World]>([
    ['an explicit context', { own: { contextsize: 16_384 } }],
    ['explicit layers', { own: { gpulayers: 5 }, cards: [40] }],
    ['several models', { own: { routermode: true } }],
    ['a stretched context', { own: { ropeconfig: [0.5, 10_000] } }],
    ['cards that are full', { cards: [0.5], free: 100 }],
    ['a model that fits on cards only in part', { cards: [4], free: 100 }],
  ])('%s: the context stays', async (_, world) => {
    expect((await settle(world)).contextsize).toBe(defaultSettings.contextsize);
  });

  test('other settings and other files stay as they are', async () => {
    expect((await settle({ own: { mmproj: '/own.gguf' } })).mmproj).toBe('/own.gguf');
    const elsewhere = await settle({ at: join(root, 'plain.gguf') });
    expect(elsewhere).toEqual({ contextsize: defaultSettings.contextsize, mmproj: '', lines: [] });
  });
});

test('downloadOf: the repository by the folder', () => {
  expect(downloadOf(path)).toEqual({ id: 'acme/foo', folder });
  expect(downloadOf(join(folder, 'Q4', 'a.gguf'))).toEqual({ id: 'acme/foo', folder });
  expect(downloadOf('/hub/models--acme--foo/a.gguf')).toBeUndefined();
  expect(downloadOf('/models/a.gguf')).toBeUndefined();
});
