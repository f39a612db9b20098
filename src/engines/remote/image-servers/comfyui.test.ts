import { describe, expect, test } from 'vitest';
import type { ImageRequest } from '../../../core/image.ts';
import { imageRequest } from '../../image/testing/request.ts';
import type { Listen } from './comfyui.ts';
import { comfyServer, generationGraph, upscalingGraph } from './comfyui.ts';
import type { Progress } from './server.ts';
import { type Asked, fakeConnection } from './testing/fake-connection.ts';

const never = new AbortController().signal;
const info = (type: string, required: object) => () => ({ [type]: { input: { required } } });
const lists = {
  '/object_info/CheckpointLoaderSimple': info('CheckpointLoaderSimple', { ckpt_name: [['dream.safetensors']] }),
  '/object_info/KSampler': info('KSampler', {
    sampler_name: [['euler']],
    scheduler: ['COMBO', { options: ['normal'] }],
  }),
  '/object_info/UpscaleModelLoader': info('UpscaleModelLoader', { model_name: [['4x.pth']] }),
  '/object_info/LoraLoader': info('LoraLoader', { lora_name: [['film.safetensors', 5]] }),
};
const done = { outputs: { output: { images: [{ filename: 'a.png', subfolder: '', type: 'temp' }] } } };

function world(more: Readonly<Record<string, (asked: Asked) => unknown>> = {}) {
  const fake = fakeConnection({
    ...lists,
    '/prompt': () => ({ prompt_id: 'p' }),
    '/history/p': () => ({ p: done }),
    '/view': () => Uint8Array.of(9),
    '/upload/image': () => ({ name: 'up.png', subfolder: 'in' }),
    ...more,
  });
  let told: (event: string, data: unknown) => void = () => {};
  let silenced = 0;
  let show: ((bytes: Uint8Array) => void) | undefined;
  const listen: Listen = (_, listener, binary) => {
    told = listener;
    show = binary;
    return () => {
      silenced += 1;
    };
  };
  const server = comfyServer(fake.connection, async () => undefined, listen);
  const generate = (changes: Partial<ImageRequest> = {}, progress: Progress = () => {}) =>
    server.generate(imageRequest(changes), never, progress);
  return {
    ...fake,
    server,
    generate,
    show: (bytes: Uint8Array) => show?.(bytes),
    tell: (event: string, data: unknown) => told(event, data),
    silenced: () => silenced,
  };
}

describe('comfyServer.facts', () => {
  test('reads old and new lists of choices', async () => {
    expect(await world().server.facts()).toMatchObject({
      name: 'dream',
      title: 'dream.safetensors',
      samplers: ['euler'],
      schedulers: ['normal'],
      loras: [{ name: 'film', file: 'film.safetensors' }],
    });
    expect((await world().server.facts()).upscalers.map(({ name }) => name)).toEqual([
      'None',
      'Nearest',
      'Lanczos',
      '4x.pth',
    ]);
  });

  test('rejects a server without a checkpoint', async () => {
    const empty = world({ '/object_info/CheckpointLoaderSimple': () => ({}) });
    await expect(empty.server.facts()).rejects.toThrow('has no checkpoint');
  });
});

describe('comfyServer.draw', () => {
  test('queues a graph, polls its history and downloads the picture', async () => {
    let looks = 0;
    const own = world({ '/history/p': () => (++looks < 3 ? {} : { p: done }) });
    await own.server.facts();
    expect(await own.generate({ seed: 4 })).toEqual({ bytes: Uint8Array.of(9), seed: 4 });
    expect(own.bodies('/prompt')[0]).toMatchObject({
      client_id: expect.any(String),
      prompt: { model: { inputs: { ckpt_name: 'dream.safetensors' } } },
    });
    expect(own.asked.at(-1)?.path).toBe('/view?filename=a.png&subfolder=&type=temp');
    expect([looks, own.silenced()]).toEqual([3, 1]);
  });

  test('uploads pictures first', async () => {
    const own = world();
    await own.generate({ initial: Uint8Array.of(1), mask: Uint8Array.of(2), strength: 0.3 });
    expect(own.bodies('/upload/image')).toHaveLength(2);
    expect(own.bodies('/prompt')[0]).toMatchObject({
      prompt: {
        picture: { inputs: { image: 'in/up.png' } },
        mask: { inputs: { image: 'in/up.png', channel: 'red' } },
        sampler: { inputs: { latent_image: ['masked', 0], denoise: 0.3 } },
      },
    });
  });

  test('reports progress messages only', async () => {
    const steps: string[] = [];
    const own = world({
      '/prompt': () => {
        own.tell('progress', { value: 1, max: 2 });
        own.tell('status', { value: 2, max: 2 });
        own.tell('progress', {});
        return { prompt_id: 'p' };
      },
    });
    await own.generate({}, (step, of) => steps.push(`${step}/${of}`));
    expect(steps).toEqual(['1/2']);
  });

  test('shows previews of the steps that are asked for, and asks for none otherwise', async () => {
    const seen: unknown[] = [];
    const jpeg = (byte: number) => Uint8Array.of(0, 0, 0, 1, 0, 0, 0, 1, byte);
    const own = world({
      '/prompt': () => {
        own.show(jpeg(1));
        for (const step of [1, 2, 3]) {
          own.tell('progress', { value: step, max: 4 });
          own.show(jpeg(10 * step));
        }
        own.show(Uint8Array.of(0, 0, 0, 3, 0, 0, 0, 0, 65));
        return { prompt_id: 'p' };
      },
    });
    await own.generate({ previewEvery: 2 }, (step, _, preview) => preview && seen.push([step, ...preview]));
    expect(seen).toEqual([[2, 20]]);
    await own.generate({ previewEvery: 0 }, (step, _, preview) => preview && seen.push([step, ...preview]));
    expect(seen).toHaveLength(1);
    const methods = own.bodies('/prompt').map((body) => (body as { extra_data?: unknown }).extra_data);
    expect(methods).toEqual([{ preview_method: 'auto' }, { preview_method: 'none' }]);
  });

  test('rejects with the error of the server', async () => {
    const broken = {
      outputs: {},
      status: {
        messages: [
          ['execution_start', {}],
          ['execution_error', { exception_message: 'out of memory.\n' }],
        ],
      },
    };
    const own = world({ '/history/p': () => ({ p: broken }) });
    await expect(own.generate()).rejects.toThrow('gave no picture: out of memory.');
    await expect(world({ '/history/p': () => ({ p: {} }) }).generate()).rejects.toThrow('gave no picture.');
    await expect(world({ '/prompt': () => ({}) }).generate()).rejects.toThrow('did not take the graph');
    await expect(world({ '/upload/image': () => ({}) }).generate({ initial: Uint8Array.of(1) })).rejects.toThrow(
      'did not take the picture',
    );
  });

  test('an abort removes the graph from the queue', async () => {
    const stop = new AbortController();
    const own = world({ '/queue': () => ({}) });
    const { json } = own.connection;
    own.connection.json = async (method, path, body, options) => {
      if (method === 'POST') return json(method, path, body, options);
      options?.signal?.throwIfAborted();
      stop.abort(new Error('enough'));
      return {};
    };
    const imageServer = own.server.generate(imageRequest(), stop.signal, () => {});
    await expect(imageServer).rejects.toThrow('enough');
    expect(own.bodies('/queue')).toEqual([{ delete: ['p'] }]);
    await own.server.stop();
    expect(own.asked.at(-1)?.path).toBe('/interrupt');
  });
});

describe('graphs', () => {
  test('drawingGraph: LoRAs and clip skip', () => {
    const loras = [
      { name: 'a', weight: 1 },
      { name: 'b', weight: 0.5 },
    ];
    const graph = generationGraph(imageRequest({ loras, clipSkip: 2 }), { checkpoint: 'm' });
    expect(graph.lora0).toMatchObject({ inputs: { model: ['model', 0], lora_name: 'a' } });
    expect(graph.lora1).toMatchObject({ inputs: { model: ['lora0', 0], clip: ['lora0', 1], strength_model: 0.5 } });
    expect(graph.skip).toMatchObject({ inputs: { clip: ['lora1', 1], stop_at_clip_layer: -2 } });
    expect(graph.sampler).toMatchObject({ inputs: { model: ['lora1', 0] } });
    expect(graph.positive).toMatchObject({ inputs: { clip: ['skip', 0] } });
  });

  test('drawingGraph: every link leads to a node', () => {
    const graphs = [
      generationGraph(imageRequest(), { checkpoint: 'm' }),
      generationGraph(imageRequest({ clipSkip: 3 }), { checkpoint: 'm', initial: 'a' }),
      generationGraph(imageRequest(), { checkpoint: 'm', initial: 'a', mask: 'b' }),
      upscalingGraph('a', '4x.pth', { width: 8, height: 8 }),
      upscalingGraph('a', 'Lanczos', { width: 8, height: 8 }),
    ];
    for (const graph of graphs) {
      const links = Object.values(graph).flatMap(({ inputs }) => Object.values(inputs).filter(Array.isArray));
      for (const [id] of links) expect(Object.keys(graph)).toContain(id);
    }
  });

  test('upscalingGraph: with a model or a plain method, to the requested size', async () => {
    const own = world();
    const request = { image: Uint8Array.of(1), upscaler: 'nearest', width: 20, height: 30 };
    expect(await own.server.upscale(request, never)).toEqual(Uint8Array.of(9));
    expect(own.bodies('/prompt')[0]).toMatchObject({
      prompt: { sized: { inputs: { upscale_method: 'nearest-exact', width: 20, height: 30, image: ['picture', 0] } } },
    });
    expect(upscalingGraph('a', '4x.pth', { width: 1, height: 1 }).sized).toMatchObject({
      inputs: { image: ['larger', 0] },
    });
  });
});
