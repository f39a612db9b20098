import { describe, expect, test } from 'vitest';
import { chosenVariant, projectorFor, quantizationInName, variantsOf } from './variants.ts';

const file = (path: string, bytes = 1) => ({ path, bytes });
const labels = (...paths: string[]) => variantsOf(paths.map((path) => file(path))).map(({ label }) => label);

test.each([
  ['Name-Q4_K_M.gguf', 'Q4_K_M'],
  ['name.q4_k_m.gguf', 'Q4_K_M'],
  ['Name.i1-IQ3_XXS.gguf', 'IQ3_XXS'],
  ['UD-Q4_K_XL/Name-UD-Q4_K_XL-00001-of-00003.gguf', 'UD-Q4_K_XL'],
  ['Name-BF16.gguf', 'BF16'],
  ['Name-TQ2_0.gguf', 'TQ2_0'],
  ['gpt-oss-20b-mxfp4.gguf', 'MXFP4'],
  ['Q8_0/Name-Q6_K_L.gguf', 'Q6_K_L'],
  ['Name-8B.gguf', undefined],
])('quantizationInName: %s', (path, label) => {
  expect(quantizationInName(path)).toBe(label);
});

describe('variantsOf', () => {
  test('lists models by quantization, largest first, and nothing else', () => {
    const others = ['README.md', 'mmproj-F16.gguf', 'Name-f16-mmproj.gguf', 'mtp-Name-Q8_0.gguf', 'MTP/Name-Q4_0.gguf'];
    const more = ['imatrix.gguf', 'imatrix_unsloth.gguf_file', 'eagle3-Name-Q8_0.gguf', 'Name.gguf.part1of2'];
    expect(labels('N-Q2_K.gguf', 'N-Q8_0.gguf', 'N-Q4_K_M.gguf', ...others, ...more)).toEqual([
      'Q8_0',
      'Q4_K_M',
      'Q2_K',
    ]);
  });

  test('joins the parts of a split model, in their order', () => {
    const [variant] = variantsOf([file('N-Q8_0-00002-of-00002.gguf', 5), file('N-Q8_0-00001-of-00002.gguf', 7)]);
    expect(variant).toMatchObject({ label: 'Q8_0', bytes: 12, whole: true });
    expect(variant?.parts.map(({ path }) => path)).toEqual([
      'N-Q8_0-00001-of-00002.gguf',
      'N-Q8_0-00002-of-00002.gguf',
    ]);
  });

  test('says that a part is missing', () => {
    expect(variantsOf([file('N-Q8_0-00002-of-00002.gguf')])[0]?.whole).toBe(false);
  });
});

describe('chosenVariant', () => {
  const variants = variantsOf(
    ['N-BF16.gguf', 'N-F16.gguf', 'N-UD-Q6_K_XL.gguf', 'N-Q4_K_M.gguf', 'N-Q8_0-00001-of-00002.gguf'].map((path) =>
      file(path),
    ),
  );
  test.each([
    [undefined, 'Q4_K_M'],
    ['f16', 'F16'],
    ['UD-Q6_K_XL', 'UD-Q6_K_XL'],
    ['q6_k_xl', 'UD-Q6_K_XL'],
    ['n-bf16.gguf', 'BF16'],
    ['Q8_0', undefined],
    ['Q5_K_M', undefined],
  ])('%s', (tag, label) => {
    expect(chosenVariant(variants, tag)?.label).toBe(label);
  });

  test('without a tag and a usual quantization: the smallest', () => {
    expect(chosenVariant(variantsOf([file('N-Q3_K_S.gguf'), file('N-IQ2_M.gguf')]), undefined)?.label).toBe('IQ2_M');
  });
});

test.each([
  ['F16 rather than BF16 and F32', ['mmproj-F32.gguf', 'mmproj-BF16.gguf', 'mmproj-F16.gguf'], 'mmproj-F16.gguf'],
  ['the one in the folder of the model', ['mmproj-F16.gguf', 'Q4/mmproj-BF16.gguf'], 'Q4/mmproj-BF16.gguf'],
  ['none of another folder', ['other/mmproj-F16.gguf'], undefined],
])('projectorFor: %s', (_, paths, expected) => {
  const files = [file('Q4/N-Q4_K_M.gguf'), ...paths.map((path) => file(path))];
  const [variant] = variantsOf(files);
  expect(variant && projectorFor(files, variant)?.path).toBe(expected);
});
