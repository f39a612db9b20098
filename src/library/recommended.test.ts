import { describe, expect, test } from 'vitest';
import { packs } from '../packs/catalogue.ts';
import { recommendedEntries, recommendedFor } from './recommended.ts';
import { chosenVariant, variantsOf } from './variants.ts';

const gib = 1024 ** 3;
const named = (gpus: number, machine: number) => {
  const models = recommendedFor({ gpuBytes: gpus * gib, machineBytes: machine * gib });
  return Object.fromEntries(
    models.map(({ purpose, name, model, search, pack }) => [purpose, model ?? search ?? pack ?? name]),
  );
};

describe('recommendedFor', () => {
  test.each([
    [0, 2, 'unsloth/Qwen3.5-0.8B-GGUF:Q4_K_M'],
    [0, 4, 'unsloth/Qwen3.5-2B-GGUF:Q4_K_M'],
    [4, 8, 'unsloth/Qwen3.5-4B-GGUF:Q4_K_M'],
    [0, 16, 'unsloth/Qwen3.5-9B-GGUF:Q4_K_M'],
    [8, 16, 'unsloth/Qwen3.5-9B-GGUF:Q4_K_M'],
    [16, 8, 'unsloth/gemma-4-12B-it-qat-GGUF:UD-Q4_K_XL'],
    [24, 8, 'unsloth/gemma-4-31B-it-qat-GGUF:UD-Q4_K_XL'],
    [48, 8, 'unsloth/Qwen3.6-35B-A3B-GGUF:Q8_0'],
  ])('GPUs of %d GB, machine of %d GB: %s for chats', (gpus, machine, model) => {
    expect(named(gpus, machine).chat).toBe(model);
  });

  test('main memory without a GPU gets mixtures instead of large dense models', () => {
    expect(named(0, 64)).toMatchObject({
      chat: 'unsloth/Qwen3.6-35B-A3B-GGUF:Q8_0',
      code: 'unsloth/Qwen3.6-35B-A3B-GGUF:Q8_0',
      stories: 'unsloth/gemma-4-26B-A4B-it-qat-GGUF:UD-Q4_K_XL',
    });
  });

  test('each purpose has one model on a computer of 8 GB, none more than once, and a small computer has some', () => {
    const models = recommendedFor({ gpuBytes: 8 * gib, machineBytes: 16 * gib });
    expect(models.map(({ purpose }) => purpose)).toEqual([
      ...['chat', 'code', 'stories', 'vision', 'embeddings', 'pictures', 'speech'],
    ]);
    expect(Object.keys(named(0, 2))).toEqual(['chat', 'embeddings', 'speech']);
    expect(named(0, 0.5)).toEqual({});
  });
});

describe('the list', () => {
  test.each(recommendedEntries)('$purpose, $memory GB, $name: is a model, a search or a pack', (entry) => {
    const { model, file, sha256, bytes, search, pack, memory } = entry;
    if (model === null) {
      expect(search ?? pack).not.toBeNull();
      return;
    }
    const [repository, tag] = model.split(':');
    expect(repository).toMatch(/^[\w.-]+\/[\w.-]+$/);
    const files = [{ path: file ?? '', bytes: 1 }];
    expect(chosenVariant(variantsOf(files), tag)?.parts).toEqual(files);
    expect(sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(bytes).toBeLessThan(memory * 1e9 * 0.85);
  });

  test('names packs of the catalogue, with their size where the pack is all there is', () => {
    for (const { pack, model, search, bytes } of recommendedEntries) {
      if (pack === null) continue;
      const listed = packs.find(({ name }) => name === pack);
      expect(listed).toBeDefined();
      const megabytes = (listed?.packages['linux-x64'] ?? []).reduce((sum, one) => sum + one.megabytes, 0);
      if (search === null && model === null) expect(bytes).toBe(megabytes * 1e6);
    }
  });
});
