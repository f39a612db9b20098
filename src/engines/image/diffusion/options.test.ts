import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { defaultSettings, type Settings } from '../../../config/flags.ts';
import { diffusionOptions } from './options.ts';

const sd1 = 'model.diffusion_model.input_blocks.0';

function options(changes: Partial<Settings> = {}, names: Readonly<Record<string, string>> = {}) {
  const settings = { ...defaultSettings, sdmodel: '/m/dream.gguf', ...changes };
  return diffusionOptions(settings, 3, (path) => names[path] ?? sd1);
}

describe('files', () => {
  test('are the parts that the flags name, by their full paths', () => {
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

  test('a text encoder is a T5 or a language model, as its file says', () => {
    const names = { '/t5.gguf': 'enc.blk.0.attn_q', '/qwen.gguf': 'blk.0.attn_q' };
    expect(options({ sdllm: '/t5.gguf' }, names).files).toMatchObject({ t5Xxl: '/t5.gguf' });
    expect(options({ sdllm: '/qwen.gguf' }, names).files).toMatchObject({ llm: '/qwen.gguf' });
  });
});

describe('the configuration of the driver', () => {
  test('is a plain one on the processor alone', () => {
    expect(options({ usecpu: true }).config).toEqual({
      threads: 3,
      device: 'cpu',
      diffusion_fa: false,
      diffusion_conv_direct: false,
      vae_conv_direct: false,
      lora_apply_mode: 'at_runtime',
    });
  });

  test('keeps the text encoder on the processor unless another place is named, as the original does', () => {
    expect(options().config).toMatchObject({ device: 'gpu', backend: 'te=cpu' });
    expect(options({ sdclipdevice: 'main' }).config).not.toHaveProperty('backend');
    expect(options({ sdclipdevice: 'main', sdmaingpu: 1 }).config).toMatchObject({ 'main-gpu': 1 });
  });

  test.skipIf(process.platform === 'darwin')('has a place for each part that was given one', () => {
    const { config } = options({ sdclipdevice: '0', sdvaedevice: 'cpu', sdmaingpu: 1 });
    expect(config).toMatchObject({ backend: 'diffusion=vulkan1,te=vulkan0,vae=cpu' });
    expect(config).not.toHaveProperty('main-gpu');
  });

  test('shrinks, saves and speeds up as the flags say', () => {
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

  test('tells of the one family that must be told', () => {
    const flux2 = options({}, { '/m/dream.gguf': 'double_stream_modulation_img.lin' });
    expect([flux2.family, flux2.config.prediction]).toEqual(['flux2', 'flux2_flow']);
    expect(options().config).not.toHaveProperty('prediction');
  });
});

test('options survive the way into another process', () => {
  const whole = options({ sdlora: ['/l/film.gguf'], sdloramult: [0] });
  expect(JSON.parse(JSON.stringify(whole))).toEqual(JSON.parse(JSON.stringify({ ...whole })));
  expect(whole.loras.offered).toEqual([{ name: 'film', path: '/l/film.gguf' }]);
});
