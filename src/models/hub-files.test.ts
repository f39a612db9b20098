import { describe, expect, test } from 'vitest';
import type { fits, speeds } from '../core/models-view.ts';
import { variantsOf } from '../library/variants.ts';
import { choose } from './hub-files.ts';

type Fit = (typeof fits)[number];
type Speed = (typeof speeds)[number];

/** Label, gigabytes, where it would run and how fast. */
function chosen(...files: readonly (readonly [string, number, Fit?, Speed?])[]) {
  const candidates = files.map(([label, gigabytes, fit, speed = 'good']) => {
    const [variant] = variantsOf([{ path: `N-${label}.gguf`, bytes: gigabytes * 1e9, sha256: undefined }]);
    if (!variant) throw new Error(`${label} is no model`);
    return { variant, fit: fit && { fit, speed, memoryBytes: 1, gpuLayers: 1, layers: 1 } };
  });
  const { variant, reason } = choose(candidates, 8192);
  return `${variant.label}: ${reason}`;
}

const onGpu = 'The largest useful one that fits wholly on the graphics card with a context of 8,192.';
const inMemory = 'The largest useful one that fits in memory at a good speed with a context of 8,192.';
const slowly =
  'It fits in memory with a context of 8,192, but its replies are slow on this computer; a smaller model is faster.';

describe('choose', () => {
  test('the largest on the GPU, and nothing above Q8_0', () => {
    expect(chosen(['F16', 16, 'card'], ['UD-Q8_K_XL', 10, 'card'], ['Q8_0', 8, 'card'], ['Q4_K_M', 5, 'card'])).toBe(
      `Q8_0: ${onGpu}`,
    );
    expect(chosen(['Q8_0', 8, 'part'], ['Q6_K', 6, 'card'], ['Q4_K_M', 5, 'card'])).toBe(`Q6_K: ${onGpu}`);
  });

  test('four bits in memory at a good speed rather than three on the GPU', () => {
    expect(chosen(['Q4_K_M', 5, 'part', 'good'], ['Q3_K_M', 4, 'card', 'fast'])).toBe(`Q4_K_M: ${inMemory}`);
    expect(chosen(['Q4_K_M', 5, 'part', 'slow'], ['Q3_K_M', 4, 'card', 'fast'])).toBe(`Q3_K_M: ${onGpu}`);
  });

  test('four bits slowly rather than two on the GPU', () => {
    expect(chosen(['Q4_K_M', 5, 'part', 'slow'], ['Q2_K', 3, 'card', 'fast'])).toBe(`Q4_K_M: ${slowly}`);
  });

  test('without a GPU: the largest at a good speed, or the usual one', () => {
    const [six, four] = [['Q6_K', 2, 'processor', 'good'] as const, ['Q4_K_M', 1.5, 'processor', 'good'] as const];
    expect(chosen(['Q8_0', 3, 'processor', 'slow'], six, four)).toBe(`Q6_K: ${inMemory}`);
    const slow = (label: string, size: number) => [label, size, 'processor', 'slow'] as const;
    expect(chosen(slow('Q8_0', 9), slow('Q4_K_M', 5), slow('Q2_K', 3))).toBe(`Q4_K_M: ${slowly}`);
  });

  test('what fits at all, and else the smallest', () => {
    expect(chosen(['Q4_K_M', 5, 'no'], ['Q2_K', 3, 'processor', 'slow'])).toBe(`Q2_K: ${slowly}`);
    expect(chosen(['Q4_K_M', 5, 'no'], ['Q2_K', 3, 'no'])).toBe(
      'Q2_K: It is the smallest, but it does not fit in the memory that is free now with a context of 8,192.',
    );
  });

  test('a name without a quantization, and the only file', () => {
    expect(chosen(['model', 5, 'card'])).toBe('N-model: It fits wholly on the graphics card with a context of 8,192.');
    expect(chosen(['F16', 5, 'card'])).toMatch(/^F16: It fits/);
  });

  test('the usual one where no header can be read', () => {
    expect(chosen(['Q8_0', 8], ['Q4_K_M', 5])).toMatch(/^Q4_K_M: .* not known before the download\.$/);
  });
});
