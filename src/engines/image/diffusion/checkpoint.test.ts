import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { beginningOf, familyOf, isT5 } from './checkpoint.ts';

describe('the family of a model', () => {
  test.each([
    ['sd1', '{"cond_stage_model.transformer.text_model.x":{},"model.diffusion_model.input_blocks.0.0.weight":{}}'],
    ['sd1', 'model.diffusion_model.input_blocks.0.0.weight'],
    ['sd2', 'cond_stage_model.model.transformer.resblocks.0 model.diffusion_model.input_blocks.0'],
    ['sdxl', 'conditioner.embedders.1.model model.diffusion_model.input_blocks.0'],
    ['sdxl', 'model.diffusion_model.label_emb.0.0.weight model.diffusion_model.input_blocks.0'],
    ['sd3', 'model.diffusion_model.joint_blocks.0.context_block'],
    ['flux', 'double_blocks.0.img_attn'],
    ['flux2', 'double_stream_modulation_img.lin double_blocks.0.img_attn'],
    ['other', 'something else'],
    ['other', ''],
  ])('%s', (family, names) => {
    expect(familyOf(names)).toBe(family);
  });
});

test('a T5 is known by its blocks, in either format, and a language model is none', () => {
  expect(['encoder.block.0.layer', 'enc.blk.0.attn_q', 'blk.0.attn_q', 'model.layers.0'].map(isT5)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

describe('the beginning of a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-checkpoint-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  test('is read as far as names go', () => {
    const path = join(folder, 'model.safetensors');
    writeFileSync(path, Buffer.concat([Buffer.from('joint_blocks.0'), Buffer.alloc(6 * 2 ** 20)]));
    expect(beginningOf(path).length).toBe(4 * 2 ** 20);
    expect(familyOf(beginningOf(path))).toBe('sd3');
  });

  test('is nothing where there is no file, or a folder', () => {
    expect([beginningOf(join(folder, 'none')), beginningOf(folder)]).toEqual(['', '']);
  });
});
