import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { defaultSettings, type Settings } from '../../../config/flags.ts';
import {
  beginningOf,
  chosenLora,
  diffusionFacts,
  diffusionOptions,
  type Family,
  familyOf,
  findLoras,
  isT5,
  nameOfFile,
} from './options.ts';

const sd1 = 'model.diffusion_model.input_blocks.0';

function options(changes: Partial<Settings> = {}, names: Readonly<Record<string, string>> = {}) {
  const settings = { ...defaultSettings, sdmodel: '/m/dream.gguf', ...changes };
  return diffusionOptions(settings, 3, (path) => names[path] ?? sd1);
}

describe('diffusionOptions: files', () => {
  test('have the absolute paths of the flags', () => {
    const { files, upscaler, facts } = options({
      sdmodel: 'dream.gguf',
      sdclip1: '/c/l.gguf',
      sdclip2: '/c/g.gguf',
      sdvae: '/v/a.safetensors',
      sdupscaler: '/u/4x.pth',
    });
    expect(files).toEqual({
      model: resolve('dream.gguf'),
      clipL: '/c/l.gguf',
      clipG: '/c/g.gguf',
      vae: '/v/a.safetensors',
    });
    expect([upscaler, facts.vae]).toEqual(['/u/4x.pth', 'a.safetensors']);
  });

  test('--sdllm is a T5 or a language model by its tensors', () => {
    const names = { '/t5.gguf': 'enc.blk.0.attn_q', '/qwen.gguf': 'blk.0.attn_q' };
    expect(options({ sdllm: '/t5.gguf' }, names).files).toMatchObject({ t5Xxl: '/t5.gguf' });
    expect(options({ sdllm: '/qwen.gguf' }, names).files).toMatchObject({ llm: '/qwen.gguf' });
  });
});

describe('diffusionOptions: config', () => {
  test('is minimal with --usecpu', () => {
    expect(options({ usecpu: true }).config).toEqual({
      threads: 3,
      device: 'cpu',
      diffusion_fa: false,
      diffusion_conv_direct: false,
      vae_conv_direct: false,
      lora_apply_mode: 'at_runtime',
    });
  });

  test('keeps the text encoder on the CPU unless a device is named, like KoboldCpp', () => {
    expect(options().config).toMatchObject({ device: 'gpu', backend: 'te=cpu' });
    expect(options({ sdclipdevice: 'main' }).config).not.toHaveProperty('backend');
    expect(options({ sdclipdevice: 'main', sdmaingpu: 1 }).config).toMatchObject({ 'main-gpu': 1 });
  });

  test.skipIf(process.platform === 'darwin')('has a place for each part that was given one', () => {
    const { config } = options({ sdclipdevice: '0', sdvaedevice: 'cpu', sdmaingpu: 1 });
    expect(config).toMatchObject({ backend: 'diffusion=vulkan1,te=vulkan0,vae=cpu' });
    expect(config).not.toHaveProperty('main-gpu');
  });

  test('has quantization, memory and speed flags', () => {
    expect([1, 2].map((sdquant) => options({ sdquant: sdquant as 1 | 2 }).config.type)).toEqual(['q8_0', 'q4_0']);
    expect(options({ sdoffloadcpu: true, sdvramlimit: 6144, sdflashattention: true }).config).toMatchObject({
      offload_to_cpu: true,
      max_vram: 6,
      diffusion_fa: true,
    });
    const direct = (sdconvdirect: 'off' | 'vaeonly' | 'full') => options({ sdconvdirect }).config;
    expect(direct('vaeonly')).toMatchObject({ vae_conv_direct: true, diffusion_conv_direct: false });
    expect(direct('full')).toMatchObject({ vae_conv_direct: true, diffusion_conv_direct: true });
  });

  test('sets the prediction of Flux 2 only', () => {
    const flux2 = options({}, { '/m/dream.gguf': 'double_stream_modulation_img.lin' });
    expect([flux2.family, flux2.config.prediction]).toEqual(['flux2', 'flux2_flow']);
    expect(options().config).not.toHaveProperty('prediction');
  });
});

test('diffusionOptions: survives JSON', () => {
  const whole = options({ sdlora: ['/l/film.gguf'], sdloramult: [0] });
  expect(JSON.parse(JSON.stringify(whole))).toEqual(JSON.parse(JSON.stringify({ ...whole })));
  expect(whole.loras.offered).toEqual([{ name: 'film', path: '/l/film.gguf' }]);
});

const facts = (family: Family, more = {}) =>
  diffusionFacts({ path: '/m/dream.safetensors', family, loras: [], ...more });

test('nameOfFile: has no extension', () => {
  expect(['/a/b.safetensors', 'x.GGUF', 'old.ckpt', 'v1.5.pth', 'plain'].map(nameOfFile)).toEqual([
    'b',
    'x',
    'old',
    'v1.5',
    'plain',
  ]);
});

describe('diffusionFacts', () => {
  test('name and path', () => {
    expect(facts('sd1')).toMatchObject({ name: 'dream', title: 'dream', path: '/m/dream.safetensors', loras: [] });
  });

  test('size and guidance of the family', () => {
    const of = (family: Family) => [facts(family).nativeSize, facts(family).defaults.guidance];
    expect([of('sd1'), of('sd2'), of('sdxl'), of('flux')]).toEqual([
      [512, 7],
      [768, 7],
      [1024, 7],
      [1024, 3.5],
    ]);
  });

  test('flow models have a non-ancestral sampler first', () => {
    expect([facts('sd1').samplers[0], facts('flux').samplers[0], facts('sd3').samplers[0]]).toEqual([
      'euler_a',
      'euler',
      'euler',
    ]);
    expect([...facts('flux').samplers].sort()).toEqual([...facts('sd1').samplers].sort());
  });

  test('upscaler, LoRAs and VAE by file name', () => {
    const own = facts('sd1', {
      upscaler: '/up/4x-Ultra.pth',
      vae: '/v/soft.safetensors',
      loras: [{ name: 'film', path: '/l/film.gguf' }],
    });
    expect(own.upscalers.at(-1)).toEqual({ name: '4x-Ultra', scale: 4 });
    expect(own.upscalers.map(({ name }) => name)).toContain('ESRGAN-slim 2x');
    expect(own).toMatchObject({ vae: 'soft.safetensors', loras: [{ name: 'film', file: 'film.gguf' }] });
  });
});

describe('familyOf', () => {
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

test('isT5: detects the blocks of both formats', () => {
  expect(['encoder.block.0.layer', 'enc.blk.0.attn_q', 'blk.0.attn_q', 'model.layers.0'].map(isT5)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

describe('beginningOf', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-checkpoint-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  test('reads the start of a file', () => {
    const path = join(folder, 'model.safetensors');
    writeFileSync(path, Buffer.concat([Buffer.from('joint_blocks.0'), Buffer.alloc(6 * 2 ** 20)]));
    expect(beginningOf(path).length).toBe(4 * 2 ** 20);
    expect(familyOf(beginningOf(path))).toBe('sd3');
  });

  test('is empty for a missing file or a folder', () => {
    expect([beginningOf(join(folder, 'none')), beginningOf(folder)]).toEqual(['', '']);
  });
});

const folder = mkdtempSync(join(tmpdir(), 'parley-loras-'));
afterAll(() => rmSync(folder, { recursive: true }));
const [one, two] = [join(folder, 'one'), join(folder, 'two')];
for (const each of [one, two]) {
  mkdirSync(join(each, 'deeper'), { recursive: true });
  for (const name of ['film.safetensors', 'fog.gguf', 'readme.txt', 'deeper/hidden.gguf']) {
    writeFileSync(join(each, name), '');
  }
}
const film = join(one, 'film.safetensors');
const names = (found: ReturnType<typeof findLoras>) => found.offered.map(({ name }) => name);

describe('findLoras', () => {
  test('files with a weight are fixed', () => {
    expect(findLoras([film], [1])).toEqual({ fixed: [{ name: 'film', path: film, weight: 1 }], offered: [] });
    expect(findLoras([film, join(one, 'fog.gguf')], [0.5]).fixed.map(({ weight }) => weight)).toEqual([0.5, 0.5]);
  });

  test('files without a weight and all files of a folder are offered', () => {
    expect(findLoras([film], [0])).toEqual({ fixed: [], offered: [{ name: 'film', path: film }] });
    expect(names(findLoras([one], [1]))).toEqual(['film', 'fog']);
  });

  test('equal names get numbers', () => {
    expect(names(findLoras([one, two], [1]))).toEqual(['film', 'fog', 'film_2', 'fog_2']);
  });

  test('may be empty', () => {
    expect(findLoras([], [1])).toEqual({ fixed: [], offered: [] });
  });
});

describe('chosenLora', () => {
  const offered = findLoras([one], [1]);
  const path = (asked: { name: string; weight: number }[], loras = offered) => chosenLora(asked, loras);

  test('finds the requested one by name or file, ignoring case', () => {
    expect(path([{ name: 'Film', weight: 1 }])).toBe(film);
    expect(path([{ name: 'film.safetensors', weight: 1 }])).toBe(film);
  });

  test('is undefined without a request or with weight 0', () => {
    expect(path([])).toBeUndefined();
    expect(path([{ name: 'film', weight: 0 }])).toBeUndefined();
  });

  test('adds up weights', () => {
    const half = { name: 'film', weight: 0.5 };
    expect(path([half, half])).toBe(film);
  });

  test('is the fixed one without a request', () => {
    expect(path([], findLoras([film], [1]))).toBe(film);
  });

  test('rejects unsupported weights', () => {
    expect(() => path([{ name: 'film', weight: 0.8 }])).toThrow('A LoRA with the weight 0.8 is not possible');
    expect(() => path([], findLoras([film], [0.5]))).toThrow('the weight 0.5');
  });

  test('rejects a second one', () => {
    const both = ['film', 'fog'].map((name) => ({ name, weight: 1 }));
    expect(() => path(both)).toThrow('More than one LoRA at a time is not possible');
    expect(() => path([{ name: 'fog', weight: 1 }], findLoras([film, join(one, 'fog.gguf')], [1, 0]))).toThrow('More');
  });

  test('rejects an unknown one, with the known names', () => {
    expect(() => path([{ name: 'rain', weight: 1 }])).toThrow('lora must be one of film, fog.');
    expect(() => path([{ name: 'rain', weight: 1 }], findLoras([], []))).toThrow('no LoRA is there');
  });
});
