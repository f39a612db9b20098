import { describe, expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import type { ImageEvent, ImageService } from '../../core/image.ts';
import { latch } from '../../http/testing/world.ts';
import { imageHeader, pngTexts } from '../images/image-header.ts';
import { base64Of, drawSquares, fakeImage, pixelAt, pngOf } from '../testing/pictures.ts';
import { node, stockBody, stockGraph } from './testing/graphs.ts';
import { sendImage } from './testing/sent.ts';
import { comfyWorld, type Heard } from './testing/world.ts';

const settled = () => new Promise((resolve) => setImmediate(resolve));
const typesOf = (heard: readonly Heard[]) => heard.map(({ type }) => type);

/** Draws when the test releases it. */
function heldImage() {
  const { promise, open } = latch();
  const fake = fakeImage({
    script: async function* (request, { signal }): AsyncGenerator<ImageEvent> {
      yield { type: 'progress', step: 1, steps: request.steps };
      await Promise.race([promise, new Promise((resolve) => signal.addEventListener('abort', resolve))]);
      if (signal.aborted) throw signal.reason;
      yield* drawSquares(request);
    },
  });
  return { fake, open };
}

describe('POST /prompt', () => {
  test('draws a prompt and stores its pictures in the history', async () => {
    const { post, get, drawAll, fake } = comfyWorld();
    const { status, json } = await post('/prompt', stockBody());
    expect(status).toBe(200);
    expect(json).toEqual({ prompt_id: 'id-1', number: 1, node_errors: {} });
    expect((await get('/history/id-1')).json).toEqual({});
    expect((await get('/queue')).json.queue_pending[0].slice(0, 2)).toEqual([1, 'id-1']);
    await drawAll();
    const entry = (await get('/history/id-1')).json['id-1'];
    expect(entry.status).toMatchObject({ status_str: 'success', completed: true });
    expect(entry.status.messages.map(([type]: [string]) => type)).toEqual([
      'execution_start',
      'execution_cached',
      'execution_success',
    ]);
    expect(entry.prompt).toEqual([1, 'id-1', stockGraph(), { create_time: 1_700_000_000_000 }, ['9']]);
    expect(entry.outputs).toEqual({
      '9': { images: [{ filename: 'demo_00001_.png', subfolder: '', type: 'output' }] },
    });
    expect(entry.meta['9']).toEqual({ node_id: '9', display_node: '9', parent_node: null, real_node_id: '9' });
    expect(fake?.asked[0]?.request).toMatchObject({
      prompt: 'a boat',
      width: 128,
      height: 64,
      steps: 4,
      sampler: 'euler_a',
      scheduler: 'karras',
      strength: 1,
    });
    const seen = await get('/view?filename=demo_00001_.png&subfolder=&type=output');
    expect(seen.headers['content-type']).toBe('image/png');
    expect(imageHeader(seen.bytes)).toMatchObject({ width: 128, height: 64 });
  });

  test('writes the graph and the infotext into the picture', async () => {
    const { post, get, drawAll } = comfyWorld();
    await post('/prompt', stockBody({ extra_data: { extra_pnginfo: { workflow: { nodes: [] } } } }));
    await drawAll();
    const texts = pngTexts((await get('/view?filename=demo_00001_.png')).bytes);
    expect(JSON.parse(texts.prompt ?? '')).toEqual(stockGraph());
    expect(texts.workflow).toBe('{"nodes":[]}');
    expect(texts.parameters).toContain('Seed: 12');
  });

  test('sends its events in the order that clients expect', async () => {
    const { post, listen, drawAll } = comfyWorld();
    const { heard } = listen('me');
    const other = listen('somebody');
    expect(heard[0]).toEqual({ type: 'status', data: { status: { exec_info: { queue_remaining: 0 } }, sid: 'me' } });
    await post('/prompt', stockBody({ client_id: 'me' }));
    expect(typesOf(heard)).toEqual(['status', 'status']);
    await drawAll();
    expect(typesOf(heard.slice(2))).toEqual([
      'status',
      'execution_start',
      'execution_cached',
      ...['4', '6', '7', '5', '3'].map(() => 'executing'),
      ...[1, 2, 3, 4].map(() => 'progress'),
      'executing',
      'executing',
      'executed',
      'execution_success',
      'status',
      'executing',
    ]);
    expect(heard.filter(({ type }) => type === 'executing').map(({ data }) => data.node)).toEqual([
      '4',
      '6',
      '7',
      '5',
      '3',
      '8',
      '9',
      null,
    ]);
    expect(heard.filter(({ type }) => type !== 'status').every(({ data }) => data.prompt_id === 'id-1')).toBe(true);
    expect(heard.find(({ type }) => type === 'progress')?.data).toEqual({
      value: 1,
      max: 4,
      node: '3',
      prompt_id: 'id-1',
    });
    expect(heard.find(({ type }) => type === 'executed')?.data).toMatchObject({
      node: '9',
      output: { images: [{ filename: 'demo_00001_.png' }] },
    });
    expect(heard.at(-2)?.data.status.exec_info.queue_remaining).toBe(0);
    expect(new Set(typesOf(other.heard))).toEqual(new Set(['status']));
  });

  test('sends no events before the client has the id', async () => {
    const { post, listen, timer } = comfyWorld();
    const { heard } = listen('me');
    await post('/prompt', stockBody({ client_id: 'me' }));
    await settled();
    expect(typesOf(heard)).not.toContain('execution_start');
    timer.pass(100);
    await settled();
    expect(typesOf(heard)).toContain('execution_start');
  });

  test('runs prompts in order, and those with front first', async () => {
    const { fake, open } = heldImage();
    const { post, get, timer, prompts, drawAll } = comfyWorld(fake);
    await post('/prompt', stockBody());
    timer.pass(100);
    await post('/prompt', stockBody({ prompt_id: 'second' }));
    await post('/prompt', stockBody({ prompt_id: 'third', front: true }));
    await post('/prompt', stockBody({ prompt_id: 'fourth', number: -99 }));
    const { queue_running: running, queue_pending: pending } = (await get('/queue')).json;
    expect(running.map(([, id]: string[]) => id)).toEqual(['id-1']);
    expect(pending.map(([number, id]: [number, string]) => [number, id])).toEqual([
      [-99, 'fourth'],
      [-3, 'third'],
      [2, 'second'],
    ]);
    expect((await get('/prompt')).json).toEqual({ exec_info: { queue_remaining: 4 } });
    open();
    await drawAll();
    expect(Object.keys((await get('/history')).json)).toEqual(['id-1', 'fourth', 'third', 'second']);
    expect(prompts.remaining).toBe(0);
  });

  test('replaces an id that is taken', async () => {
    const { post, drawAll } = comfyWorld();
    await post('/prompt', stockBody({ prompt_id: 'mine' }));
    expect((await post('/prompt', stockBody({ prompt_id: 'mine' }))).json.prompt_id).toBe('id-1');
    await drawAll();
    expect((await post('/prompt', stockBody({ prompt_id: 'mine' }))).json.prompt_id).toBe('id-2');
  });

  test('uses the sampler as the output if there is no output node', async () => {
    const { post, get, drawAll } = comfyWorld();
    const { '8': _, '9': __, ...graph } = stockGraph();
    await post('/prompt', { prompt: graph });
    await drawAll();
    expect(Object.keys((await get('/history')).json['id-1'].outputs)).toEqual(['3']);
  });

  test('sends pictures over the connection for SaveImageWebsocket', async () => {
    const { post, get, listen, drawAll } = comfyWorld();
    const { pictures, heard } = listen('me');
    await post('/prompt', {
      prompt: stockGraph({}, { '9': node('SaveImageWebsocket', { images: ['8', 0] }) }),
      client_id: 'me',
    });
    await drawAll();
    expect(pictures[0]?.subarray(0, 8)).toEqual(Buffer.from([0, 0, 0, 1, 0, 0, 0, 2]));
    expect(imageHeader(pictures[0]?.subarray(8) as Buffer)).toMatchObject({ width: 128, height: 64 });
    expect(typesOf(heard)).not.toContain('executed');
    expect((await get('/history/id-1')).json['id-1'].outputs).toEqual({});
  });

  test('draws as many pictures as the batch size of the latent', async () => {
    const { post, get, drawAll } = comfyWorld();
    const prompt = stockGraph(
      {},
      {
        '5': node('EmptyLatentImage', { width: 64, height: 64, batch_size: 3 }),
        '10': node('PreviewImage', { images: ['8', 0] }),
      },
    );
    await post('/prompt', { prompt });
    await drawAll();
    const { outputs } = (await get('/history')).json['id-1'];
    expect(outputs['9'].images).toHaveLength(3);
    expect(outputs['10'].images.map(({ type }: { type: string }) => type)).toEqual(['temp', 'temp', 'temp']);
  });

  test('draws once for several outputs', async () => {
    const { post, drawAll, fake } = comfyWorld();
    await post('/prompt', { prompt: stockGraph({}, { '10': node('PreviewImage', { images: ['8', 0] }) }) });
    await drawAll();
    expect(fake?.asked).toHaveLength(1);
  });

  test('adds notes to the history about what could not be done', async () => {
    const { post, get, drawAll } = comfyWorld(fakeImage({ notes: ['There is no scheduler beta'] }));
    await post('/prompt', stockBody());
    await drawAll();
    expect((await get('/history')).json['id-1'].notes).toEqual(['There is no scheduler beta']);
  });

  test('comfy: a prompt has its place in the common queue from the moment it is posted', async () => {
    const fake = fakeImage();
    const { post, get, drawAll } = comfyWorld(fake);
    for (let count = 0; count < 3; count++) await post('/prompt', stockBody());
    expect([fake.queue.running, fake.queue.waiting]).toEqual([1, 2]);
    expect((await get('/prompt')).json.exec_info.queue_remaining).toBe(3);
    await drawAll();
    await settled();
    expect([fake.queue.running, fake.queue.waiting]).toEqual([0, 0]);
  });

  test('comfy: a prompt waits for other work of the image model, and other work for it', async () => {
    const fake = fakeImage();
    const { post, get, timer, drawAll } = comfyWorld(fake);
    const other = fake.queue.enter({ client: 'other', kind: { name: 'image', cost: 2, initialEstimateSeconds: 20 } });
    await post('/prompt', stockBody());
    timer.pass(100);
    await settled();
    const { json: queue } = await get('/queue');
    expect([queue.queue_running.length, queue.queue_pending.length]).toEqual([0, 1]);
    const later = fake.queue.enter({ client: 'other', kind: { name: 'image', cost: 2, initialEstimateSeconds: 20 } });
    expect(later.position()?.position).toBe(2);
    other.leave();
    await drawAll();
    await later.turn;
    later.leave();
    expect((await get('/history')).json['id-1'].status.completed).toBe(true);
  });

  test('comfy: a prompt removed from the queue frees its slot and has no history entry', async () => {
    const fake = fakeImage();
    const { post, get } = comfyWorld(fake);
    await post('/prompt', stockBody());
    await post('/prompt', stockBody());
    await post('/queue', { delete: ['id-2'] });
    await settled();
    expect([fake.queue.running, fake.queue.waiting]).toEqual([1, 0]);
    expect((await get('/history')).json).toEqual({});
  });

  test('comfy: a prompt stopped by its key before it runs is interrupted in the history', async () => {
    const stops: AbortController[] = [];
    const fake = fakeImage();
    const { inTurn } = fake.image;
    const image: ImageService = {
      ...fake.image,
      inTurn: (requestContext, work) => {
        const stop = new AbortController();
        stops.push(stop);
        return inTurn({ ...requestContext, signal: AbortSignal.any([requestContext.signal, stop.signal]) }, work);
      },
    };
    const { post, get } = comfyWorld({ ...fake, image });
    await post('/prompt', stockBody());
    await post('/prompt', stockBody());
    stops[1]?.abort(new AppError('stopped', {}));
    await settled();
    const { json } = await get('/history/id-2');
    expect(json['id-2'].status).toMatchObject({ status_str: 'error', completed: false });
    expect((await get('/prompt')).json.exec_info.queue_remaining).toBe(1);
  });
});

describe('POST /prompt: refusals', () => {
  test.each([
    [{}, 'no_prompt'],
    [{ prompt: {} }, 'prompt_no_outputs'],
    [{ prompt: [] }, 'invalid_prompt'],
    [{ prompt: stockGraph({ steps: 0 }) }, 'prompt_outputs_failed_validation'],
    [{ prompt: stockGraph({ latent_image: ['3', 0] }) }, 'prompt_outputs_failed_validation'],
    ['{"prompt":', 'invalid_prompt'],
    ['[]', 'invalid_prompt'],
    [stockBody({ extra_data: 5 }), 'invalid_prompt'],
    [stockBody({ partial_execution_targets: 'x' }), 'invalid_prompt'],
  ])('%#: has the error shape of ComfyUI', async (body, type) => {
    const { post, prompts } = comfyWorld();
    const { status, json } = await post('/prompt', body);
    expect(status).toBe(400);
    expect(json).toMatchObject({
      error: { type, message: expect.any(String), details: expect.any(String), extra_info: {} },
      node_errors: expect.any(Object),
    });
    expect(prompts.remaining).toBe(0);
  });

  test('without a model is refused', async () => {
    const world = comfyWorld(null);
    const { status, json } = await world.post('/prompt', stockBody());
    expect([status, json.error.type]).toEqual([503, 'no_model']);
  });

  test('comfy: POST /prompt is answered busy in its dialect when the common queue is full', async () => {
    const { post, get } = comfyWorld(fakeImage({ places: 3 }));
    for (let count = 0; count < 3; count++) expect((await post('/prompt', stockBody())).status).toBe(200);
    const { status, json, headers } = await post('/prompt', stockBody());
    expect(status).toBe(503);
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    expect(json).toMatchObject({ detail: { type: 'service_unavailable' }, node_errors: {} });
    expect((await get('/prompt')).json.exec_info.queue_remaining).toBe(3);
  });
});

describe('failed prompts', () => {
  test('report node and reason, and have an error in the history', async () => {
    // biome-ignore lint/correctness/useYield: fails before the first event.
    const script = async function* (): AsyncGenerator<ImageEvent> {
      throw new AppError('engine-lost', { capability: 'image' });
    };
    const { post, get, listen, drawAll } = comfyWorld(fakeImage({ script }));
    const { heard } = listen('me');
    await post('/prompt', stockBody({ client_id: 'me' }));
    await drawAll();
    const error = heard.find(({ type }) => type === 'execution_error')?.data;
    expect(error).toMatchObject({
      prompt_id: 'id-1',
      node_id: '3',
      node_type: 'KSampler',
      executed: ['4', '6', '7', '5'],
      exception_type: 'engine-lost',
      traceback: [],
    });
    expect(error.exception_message).toContain('The image engine stopped');
    expect((await get('/history/id-1')).json['id-1'].status).toMatchObject({ status_str: 'error', completed: false });
    expect(heard.at(-1)?.data).toEqual({ node: null, prompt_id: 'id-1' });
  });

  test('are interrupted by POST /interrupt', async () => {
    const { fake } = heldImage();
    const { post, get, listen, timer, drawAll } = comfyWorld(fake);
    const { heard } = listen('somebody else');
    await post('/prompt', stockBody());
    timer.pass(100);
    await settled();
    expect((await post('/interrupt', { prompt_id: 'another' })).json).toEqual({});
    expect((await get('/queue')).json.queue_running).toHaveLength(1);
    expect((await post('/interrupt')).json).toEqual({});
    await drawAll();
    expect(typesOf(heard)).toContain('execution_interrupted');
    const { status } = (await get('/history/id-1')).json['id-1'];
    expect(status).toMatchObject({ status_str: 'error', completed: false });
    expect(status.messages.at(-1)[0]).toBe('execution_interrupted');
  });
});

describe('queue and history', () => {
  test('remove the given prompts', async () => {
    const { post, get, drawAll, prompts } = comfyWorld();
    await post('/prompt', stockBody({ prompt_id: 'a' }));
    await post('/prompt', stockBody({ prompt_id: 'b' }));
    await post('/prompt', stockBody({ prompt_id: 'c' }));
    expect((await post('/queue', { delete: ['b'] })).json).toEqual({});
    await drawAll();
    expect(Object.keys((await get('/history')).json)).toEqual(['a', 'c']);
    expect(Object.keys((await get('/history?max_items=1')).json)).toEqual(['c']);
    expect(Object.keys((await get('/history?max_items=1&offset=0')).json)).toEqual(['a']);
    await post('/history', { delete: ['a'] });
    expect(Object.keys((await get('/history')).json)).toEqual(['c']);
    await post('/history', { clear: true });
    expect((await get('/history')).json).toEqual({});
    await post('/prompt', stockBody());
    await post('/queue', { clear: true });
    expect(prompts.remaining).toBe(0);
  });

  test('history: has the last 200 prompts', async () => {
    const { post, get, drawAll } = comfyWorld();
    for (let round = 0; round < 3; round++) {
      for (let count = 0; count < 70; count++) await post('/prompt', stockBody());
      await drawAll();
    }
    const ids = Object.keys((await get('/api/history')).json);
    expect([ids.length, ids[0], ids.at(-1)]).toEqual([200, 'id-11', 'id-210']);
  });
});

describe('uploaded pictures', () => {
  test('are initial pictures of a drawing', async () => {
    const world = comfyWorld();
    expect((await sendImage(world, {}, pngOf(128, 128))).json).toEqual({
      name: 'photo.png',
      subfolder: '',
      type: 'input',
    });
    const graph = stockGraph(
      { denoise: 0.5, latent_image: ['10', 0] },
      { '10': node('VAEEncode', { pixels: ['11', 0] }), '11': node('LoadImage', { image: 'photo.png' }) },
    );
    expect((await world.post('/prompt', { prompt: graph })).status).toBe(200);
    await world.drawAll();
    const { request } = world.fake?.asked[0] ?? {};
    expect(request).toMatchObject({ width: 128, height: 128, strength: 0.5 });
    expect(imageHeader(request?.initial as Uint8Array)).toMatchObject({ width: 128 });
  });

  test('are repainted where they are transparent', async () => {
    const world = comfyWorld();
    await sendImage(world, { subfolder: 'clips', overwrite: 'true' }, pngOf(64, 64, [9, 9, 9, 0]));
    const graph = stockGraph(
      { latent_image: ['10', 0] },
      {
        '10': node('VAEEncodeForInpaint', { pixels: ['11', 0], mask: ['11', 1] }),
        '11': node('LoadImage', { image: 'clips/photo.png [input]' }),
      },
    );
    await world.post('/prompt', { prompt: graph });
    await world.drawAll();
    expect(await pixelAt(world.fake?.asked[0]?.request.mask as Uint8Array, 5, 5)).toEqual([255]);
  });

  test('without transparency fail as a mask', async () => {
    const world = comfyWorld();
    await sendImage(world, {}, pngOf(64, 64));
    const masked = (mask: readonly unknown[]) =>
      stockGraph(
        { latent_image: ['10', 0] },
        {
          '10': node('VAEEncodeForInpaint', { pixels: ['11', 0], mask }),
          '11': node('LoadImage', { image: 'photo.png' }),
          '12': node('InvertMask', { mask: ['11', 1] }),
        },
      );
    await world.post('/prompt', { prompt: masked(['11', 1]) });
    await world.post('/prompt', { prompt: masked(['12', 0]) });
    await world.drawAll();
    const history = (await world.get('/history')).json;
    expect(history['id-1'].status.messages.at(-1)[1].exception_message).toContain('the mask is empty');
    expect(history['id-2'].status.completed).toBe(true);
    expect(await pixelAt(world.fake?.asked[0]?.request.mask as Uint8Array, 5, 5)).toEqual([255]);
  });

  test('are scaled by nodes', async () => {
    const world = comfyWorld();
    const graph = {
      '1': node('ETN_LoadImageBase64', { image: base64Of(pngOf(40, 20)) }),
      '2': node('ImageScale', { image: ['1', 0], width: 80, height: 0 }),
      '3': node('ImageUpscaleWithModel', { image: ['2', 0], upscale_model: ['4', 0] }),
      '4': node('UpscaleModelLoader', { model_name: 'Soft_2x' }),
      '9': node('SaveImage', { images: ['3', 0], filename_prefix: 'sizes/%width%' }),
    };
    await world.post('/prompt', { prompt: graph });
    await world.drawAll();
    expect(world.fake?.upscaled[0]?.request).toMatchObject({ upscaler: 'Soft_2x', width: 160, height: 80 });
    expect((await world.get('/history')).json['id-1'].outputs['9'].images[0]).toEqual({
      filename: '160_00001_.png',
      subfolder: 'sizes',
      type: 'output',
    });
    expect((await world.get('/view?filename=160_00001_.png&subfolder=sizes')).status).toBe(200);
  });
});

describe('server information', () => {
  test('object_info: lists all node classes with the fields that clients check', async () => {
    const { get } = comfyWorld();
    const classes = (await get('/object_info')).json;
    for (const name of ['KSampler', 'CheckpointLoaderSimple', 'UNETLoader', 'VAELoader', 'LoraLoader', 'SaveImage']) {
      expect(Object.keys(classes[name])).toEqual([
        'input',
        'input_order',
        'output',
        'output_is_list',
        'output_name',
        'name',
        'display_name',
        'description',
        'python_module',
        'category',
        'output_node',
      ]);
    }
    expect(classes.KSampler.input.required.sampler_name[0]).toEqual(['euler', 'euler_ancestral', 'dpmpp_2m']);
    expect(classes.KSampler.input.required.scheduler[0]).toEqual(['normal', 'karras']);
    expect(classes.CheckpointLoaderSimple.input.required.ckpt_name[0]).toEqual(['sketch']);
    expect((await get('/object_info/KSampler')).json).toEqual({ KSampler: classes.KSampler });
    expect((await get('/object_info/Primitive%20boolean')).json).toEqual({});
    expect((await get('/object_info/constructor')).json).toEqual({});
  });

  test('/models: lists names by folder', async () => {
    const { get } = comfyWorld();
    expect((await get('/models/checkpoints')).json).toEqual(['sketch']);
    expect((await get('/api/models/loras')).json).toEqual([]);
    expect((await get('/models/upscale_models')).json).toEqual(['ESRGAN_4x', 'Soft_2x']);
    expect((await get('/api/models')).json).toContain('checkpoints');
    expect((await get('/embeddings')).json).toEqual([]);
    expect((await get('/extensions')).json).toEqual([]);
    expect((await get('/features')).json).toMatchObject({ supports_preview_metadata: true });
    const { system, devices } = (await get('/system_stats')).json;
    expect(system.ram_total).toBeGreaterThan(0);
    expect(devices).toHaveLength(1);
  });

  test('lists are empty without a model', async () => {
    const { get } = comfyWorld(null);
    expect((await get('/models/checkpoints')).json).toEqual([]);
    expect((await get('/object_info/KSampler')).json.KSampler.input.required.sampler_name[0]).toEqual([]);
  });

  test('POST /free: has no effect', async () => {
    expect((await comfyWorld().post('/free', { unload_models: true })).json).toEqual({});
  });

  test('every path exists below /api too', () => {
    const paths = comfyWorld().endpoints.map(({ method, path }) => `${method} ${path}`);
    const bare = paths.filter((path) => !path.includes(' /api'));
    expect(bare.filter((path) => !paths.includes(path.replace(' ', ' /api')))).toEqual([]);
  });
});
