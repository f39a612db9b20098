import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { base64Of, pngOf } from '../testing/pictures.ts';
import { GraphRefusal, NodeFault, readGraph } from './graph.ts';
import type { Step } from './nodes.ts';
import { type Nodes, node, stockGraph } from './testing/graphs.ts';
import { type WalkOptions, walkGraph } from './walk.ts';

function held(value: unknown) {
  const first = readGraph({ '1': node('Any', { x: value }) }).get('1');
  return { number: () => first?.number('x', 1, 10), text: () => first?.text('x') };
}

describe('Node values', () => {
  test.each([
    [5, 5],
    ['5', 5],
    [' 7.5 ', 7.5],
    [{ __value__: 3 }, 3],
    [null, undefined],
    [undefined, undefined],
  ])('number: reads %j as %s', (value, number) => expect(held(value).number()).toBe(number));

  test.each([
    [0, 'value_smaller_than_min'],
    [11, 'value_bigger_than_max'],
    ['many', 'invalid_input_type'],
    ['', 'invalid_input_type'],
    [true, 'invalid_input_type'],
    [{}, 'invalid_input_type'],
    [Number.POSITIVE_INFINITY, 'invalid_input_type'],
  ])('number: refuses %j (%s)', (value, type) => {
    expect(() => held(value).number()).toThrow(expect.objectContaining({ problem: expect.objectContaining({ type }) }));
  });

  test('text: reads strings and numbers', () => {
    expect([held('a').text(), held(5).text(), held(null).text()]).toEqual(['a', '5', undefined]);
    expect(() => held({ a: 1 }).text()).toThrow(NodeFault);
  });

  test('number: is within its bounds, undefined or a NodeFault for any value', () => {
    fc.assert(
      fc.property(fc.anything({ maxDepth: 2 }), (value) => {
        try {
          const number = held(value).number();
          expect(number === undefined || (number >= 1 && number <= 10)).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(NodeFault);
        }
      }),
    );
  });
});

const walk = (graph: unknown, options: Partial<WalkOptions> = {}) =>
  walkGraph(readGraph(graph), { hasFile: (name) => name === 'photo.png', ...options });
const stepAt = (graph: Nodes, id: string) => walk(graph).plan.steps.get(id);
const drawAt = (graph: Nodes, id = '3') => stepAt(graph, id) as Extract<Step, { type: 'draw' }>;

function refusalOf(graph: unknown, options: Partial<WalkOptions> = {}): GraphRefusal {
  try {
    walk(graph, options);
  } catch (error) {
    if (error instanceof GraphRefusal) return error;
    throw error;
  }
  throw new Error('the graph was taken');
}

describe('walkGraph', () => {
  test('plans an output with all its dependencies', () => {
    const { plan, nodeErrors } = walk(stockGraph());
    expect(nodeErrors).toEqual({});
    expect(plan.outputs).toEqual([
      { id: '9', kind: 'output', prefix: 'demo', from: '8', order: ['4', '6', '7', '5', '3', '8', '9'] },
    ]);
    expect(plan.steps.get('8')).toEqual({ type: 'same', from: '3' });
    expect(plan.steps.get('3')).toMatchObject({
      type: 'draw',
      requested: {
        prompt: 'a boat',
        negativePrompt: 'fog',
        seed: 12,
        steps: 4,
        guidance: 6,
        sampler: 'euler_ancestral',
        scheduler: 'karras',
        strength: 1,
        width: 128,
        height: 64,
        count: 1,
      },
    });
  });

  test('orders nodes topologically, whatever their ids', () => {
    const ids = fc.uniqueArray(
      fc.string({ minLength: 1, maxLength: 5 }).filter((id) => !['__proto__'].includes(id)),
      { minLength: 7, maxLength: 7 },
    );
    fc.assert(
      fc.property(ids, fc.array(fc.nat(), { minLength: 7, maxLength: 7 }), (names, keys) => {
        const rename = new Map(Object.keys(stockGraph()).map((id, index) => [id, names[index] ?? id]));
        const renamed = Object.entries(stockGraph()).map(([id, { class_type, inputs }]) => {
          const links = Object.entries(inputs).map(([key, value]) => [
            key,
            Array.isArray(value) ? [rename.get(String(value[0])), value[1]] : value,
          ]);
          return [rename.get(id) ?? id, { class_type, inputs: Object.fromEntries(links) }] as const;
        });
        const shuffled = renamed
          .map((entry, index) => ({ entry, key: keys[index] ?? 0 }))
          .sort((a, b) => a.key - b.key);
        const graph = readGraph(Object.fromEntries(shuffled.map(({ entry }) => entry)));
        const [output] = walkGraph(graph, { hasFile: () => false }).plan.outputs;
        const order = output?.order ?? [];
        expect(order).toHaveLength(7);
        for (const id of order) {
          for (const value of Object.values(graph.get(id)?.inputs ?? {})) {
            if (Array.isArray(value)) expect(order.indexOf(String(value[0]))).toBeLessThan(order.indexOf(id));
          }
        }
      }),
    );
  });

  test('gives a plan or a refusal for any links', () => {
    const classes = [
      'KSampler',
      'CLIPTextEncode',
      'EmptyLatentImage',
      'VAEDecode',
      'VAEEncode',
      'SaveImage',
      'LoadImage',
      'ImageScale',
      'LatentUpscaleBy',
      'LoraLoader',
      'CLIPSetLastLayer',
      'SetLatentNoiseMask',
      'ConditioningCombine',
      'InvertMask',
      'PrimitiveInt',
      'constructor',
      'toString',
    ];
    const inputs = [
      'images',
      'samples',
      'latent_image',
      'positive',
      'negative',
      'model',
      'clip',
      'pixels',
      'image',
      'mask',
      'text',
      'width',
      'value',
      'conditioning_1',
      'conditioning_2',
      'vae',
    ];
    const value = fc.oneof(
      { weight: 5, arbitrary: fc.tuple(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 2 })) },
      {
        weight: 1,
        arbitrary: fc.oneof(
          fc.string(),
          fc.integer(),
          fc.constant(null),
          fc.constant([]),
          fc.constant({ __value__: [1] }),
        ),
      },
    );
    const anyNode = fc.record({
      class_type: fc.constantFrom(...classes),
      inputs: fc.dictionary(fc.constantFrom(...inputs), value, { maxKeys: 8 }),
    });
    fc.assert(
      fc.property(fc.array(anyNode, { minLength: 1, maxLength: 10 }), (list) => {
        const graph = Object.fromEntries(list.map((each, index) => [String(index), each]));
        try {
          const { plan } = walk(graph);
          expect(plan.outputs.length).toBeGreaterThan(0);
          for (const { order, id } of plan.outputs)
            expect(new Set(order).size === order.length && order.includes(id)).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(GraphRefusal);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('reads each conditioning once in a graph with exponentially many paths', () => {
    const doubled = Object.fromEntries(
      Array.from({ length: 200 }, (_, index) => {
        const before = [index === 0 ? '7' : `c${index - 1}`, 0];
        return [`c${index}`, node('ConditioningCombine', { conditioning_1: before, conditioning_2: before })];
      }),
    );
    const { requested } = drawAt(stockGraph({ positive: ['c199', 0] }, doubled));
    expect(requested.prompt).toMatch(/^fog, fog, fog/);
    expect(requested.prompt.length).toBe(20_000);
  });

  test('accepts a chain of 240 nodes and refuses more than a thousand nodes', () => {
    const chain = Object.fromEntries(
      Array.from({ length: 240 }, (_, index) => [
        `s${index}`,
        node('ImageScaleBy', { image: index === 0 ? ['8', 0] : [`s${index - 1}`, 0], scale_by: 1 }),
      ]),
    );
    const graph = stockGraph({}, { ...chain, '9': node('SaveImage', { images: ['s239', 0] }) });
    expect(walk(graph).plan.outputs[0]?.order).toHaveLength(247);
    const { problem } = refusalOf({
      ...graph,
      ...Object.fromEntries(Array.from({ length: 760 }, (_, index) => [`x${index}`, node('A')])),
    });
    expect(problem.message).toBe('A prompt has 1000 nodes at most.');
  });

  test('ignores unknown nodes that no output depends on', () => {
    expect(walk(stockGraph({}, { '50': node('SomethingNew', { x: ['51', 0] }) })).plan.outputs).toHaveLength(1);
  });

  test('uses the first sampler if there is no output node', () => {
    const graph = {
      '1': node('KSampler', { steps: 9, cfg: 2, positive: ['3', 0], latent_image: ['2', 0] }),
      '2': node('EmptyLatentImage', { width: 64, height: 64 }),
      '3': node('CLIPTextEncode', { text: 'a' }),
    };
    const { plan } = walk(graph);
    expect(plan.outputs).toEqual([{ id: '1', kind: 'output', prefix: 'ComfyUI', from: '1', order: ['3', '2', '1'] }]);
  });

  test('plans only the targets', () => {
    const graph = stockGraph(
      {},
      { '10': node('PreviewImage', { images: ['8', 0] }), '11': node('SaveImageWebsocket', { images: ['8', 0] }) },
    );
    expect(walk(graph).plan.outputs.map(({ id, kind }) => [id, kind])).toEqual([
      ['9', 'output'],
      ['10', 'temp'],
      ['11', 'socket'],
    ]);
    expect(walk(graph, { targets: ['10'] }).plan.outputs.map(({ id }) => id)).toEqual(['10']);
    expect(refusalOf(graph, { targets: ['nobody'] }).problem.type).toBe('prompt_no_outputs');
  });
});

describe('conditioning', () => {
  test.each([
    [
      'another node',
      { '6': node('CLIPTextEncode', { text: ['20', 0] }), '20': node('PrimitiveString', { value: 'a hat' }) },
      'a hat',
    ],
    [
      'a chain of nodes',
      {
        '6': node('CLIPTextEncode', { text: ['20', 0] }),
        '20': node('Show', { text: ['21', 0] }),
        '21': node('String', { string: 'a hat' }),
      },
      'a hat',
    ],
    ['an encoder with two', { '6': node('CLIPTextEncodeSDXL', { text_g: '', text_l: 'a hat' }) }, 'a hat'],
    ['an encoder with another one', { '6': node('CLIPTextEncodeFlux', { clip_l: 'x', t5xxl: 'a hat' }) }, 'a hat'],
    [
      'two prompts together',
      {
        '6': node('ConditioningCombine', { conditioning_1: ['20', 0], conditioning_2: ['7', 0] }),
        '20': node('CLIPTextEncode', { text: 'a hat' }),
      },
      'a hat, fog',
    ],
    [
      'something on the way',
      {
        '6': node('FluxGuidance', { conditioning: ['20', 0], guidance: 3 }),
        '20': node('CLIPTextEncode', { text: 'a hat' }),
      },
      'a hat',
    ],
    ['nothing', { '6': node('ConditioningZeroOut', { conditioning: ['7', 0] }) }, ''],
  ])('is read from %s', (_, more, prompt) => {
    expect(drawAt(stockGraph({}, more)).requested.prompt).toBe(prompt);
  });

  test('clip skip: is read from CLIPSetLastLayer', () => {
    const graph = stockGraph(
      {},
      {
        '6': node('CLIPTextEncode', { text: 'a', clip: ['20', 0] }),
        '20': node('CLIPSetLastLayer', { stop_at_clip_layer: -2, clip: ['4', 1] }),
      },
    );
    expect(drawAt(graph).requested.clipSkip).toBe(2);
  });
});

describe('samplers', () => {
  test('KSamplerAdvanced: start_at_step becomes the strength', () => {
    const graph = {
      ...stockGraph(),
      '3': node('KSamplerAdvanced', {
        noise_seed: 5,
        steps: 20,
        start_at_step: 5,
        cfg: 3,
        positive: ['6', 0],
        negative: ['7', 0],
        latent_image: ['5', 0],
      }),
    };
    expect(drawAt(graph).requested).toMatchObject({ seed: 5, steps: 20, strength: 0.75, guidance: 3 });
  });

  describe('notes about what has no effect', () => {
    const advanced = (inputs: object, latent = '5') => ({
      ...stockGraph(),
      '3': node('KSamplerAdvanced', { steps: 20, positive: ['6', 0], latent_image: [latent, 0], ...inputs }),
      '30': node('VAEEncode', { pixels: ['31', 0] }),
      '31': node('LoadImage', { image: 'photo.png' }),
    });

    test.each([
      ['to end in the middle', { end_at_step: 12 }, [/step 20, and not to end_at_step 12/]],
      ['to begin without noise', { add_noise: 'disable' }, [/add_noise is "disable", and noise was added/]],
      ['to leave noise', { return_with_leftover_noise: 'enable' }, [/no noise is left/]],
      ['to begin in the middle of nothing', { start_at_step: 5 }, [/no picture to begin from/]],
      [
        'all of it',
        { end_at_step: 3, add_noise: 'disable', return_with_leftover_noise: 'enable' },
        [/end_at_step/, /add_noise/, /leftover/],
      ],
    ])('%s', (_, inputs, notes) => {
      expect(drawAt(advanced(inputs)).notes).toEqual(notes.map((note) => expect.stringMatching(note)));
    });

    test('has no notes if everything is supported', () => {
      const usual = { add_noise: 'enable', end_at_step: 10_000, return_with_leftover_noise: 'disable' };
      expect(drawAt(advanced(usual)).notes).toEqual([]);
      expect(drawAt(advanced({ ...usual, start_at_step: 5 }, '30')).notes).toEqual([]);
      expect(drawAt(stockGraph()).notes).toEqual([]);
    });

    test('notes the guidance of a conditioning once', () => {
      const guided = node('FluxGuidance', { conditioning: ['20', 0], guidance: 3.5 });
      const graph = stockGraph(
        { negative: ['6', 0] },
        { '6': guided, '20': node('CLIPTextEncodeFlux', { t5xxl: 'a hat', guidance: 4 }) },
      );
      expect(drawAt(graph).notes).toEqual([
        'CLIPTextEncodeFlux 20: no model here takes a guidance (4); cfg of the sampler counts',
        'FluxGuidance 6: no model here takes a guidance (3.5); cfg of the sampler counts',
      ]);
    });

    test('refuses values out of bounds', () => {
      const guided = node('FluxGuidance', { conditioning: ['7', 0], guidance: 101 });
      expect(refusalOf(stockGraph({}, { '6': guided })).nodeErrors['6']?.errors[0]).toMatchObject({
        type: 'value_bigger_than_max',
      });
      expect(refusalOf(advanced({ end_at_step: -1 })).nodeErrors['3']?.errors[0]).toMatchObject({
        type: 'value_smaller_than_min',
      });
    });
  });

  test('SamplerCustomAdvanced: reads guider, noise, sigmas and sampler', () => {
    const parts = {
      '20': node('RandomNoise', { noise_seed: 77 }),
      '21': node('CFGGuider', { model: ['4', 0], positive: ['6', 0], negative: ['7', 0], cfg: 2.5 }),
      '22': node('KSamplerSelect', { sampler_name: 'euler' }),
      '23': node('BasicScheduler', { model: ['4', 0], scheduler: 'simple', steps: 9, denoise: 0.5 }),
    };
    const graph = stockGraph(
      {},
      {
        '3': node('SamplerCustomAdvanced', {
          noise: ['20', 0],
          guider: ['21', 0],
          sampler: ['22', 0],
          sigmas: ['23', 0],
          latent_image: ['5', 0],
        }),
        ...parts,
      },
    );
    expect(drawAt(graph).requested).toMatchObject({
      prompt: 'a boat',
      negativePrompt: 'fog',
      seed: 77,
      guidance: 2.5,
      sampler: 'euler',
      scheduler: 'simple',
      steps: 9,
      strength: 0.5,
    });
    const basic = { ...graph, '21': node('BasicGuider', { conditioning: ['6', 0] }) };
    expect(drawAt(basic).requested).toMatchObject({ prompt: 'a boat', negativePrompt: '', guidance: 1 });
    const custom = {
      ...graph,
      '3': node('SamplerCustom', {
        noise_seed: 3,
        cfg: 4,
        positive: ['6', 0],
        negative: ['7', 0],
        sampler: ['22', 0],
        sigmas: ['23', 0],
        latent_image: ['5', 0],
      }),
    };
    expect(drawAt(custom).requested).toMatchObject({ seed: 3, guidance: 4, steps: 9 });
  });

  test('reads numbers from strings and linked nodes', () => {
    const graph = stockGraph({ steps: '7', seed: ['20', 0] }, { '20': node('PrimitiveInt', { value: 99 }) });
    expect(drawAt(graph).requested).toMatchObject({ steps: 7, seed: 99 });
  });

  test('batch_size: becomes the number of pictures', () => {
    const repeated = {
      '5': node('RepeatLatentBatch', { samples: ['20', 0], amount: 3 }),
      '20': node('EmptySD3LatentImage', { width: 64, height: 64, batch_size: 2 }),
    };
    expect(drawAt(stockGraph({}, repeated)).requested).toMatchObject({ count: 6, width: 64 });
  });
});

describe('initial picture', () => {
  const encoded = { '5': node('VAEEncode', { pixels: ['10', 0], vae: ['4', 2] }) };

  test('is an uploaded file, scaled by a node', () => {
    const graph = stockGraph(
      { denoise: 0.5 },
      {
        ...encoded,
        '10': node('ImageScale', { image: ['11', 0], width: 256, height: 128, crop: 'center' }),
        '11': node('LoadImage', { image: 'photo.png' }),
      },
    );
    const { steps } = walk(graph).plan;
    expect(steps.get('3')).toMatchObject({ from: '5', requested: { strength: 0.5 } });
    expect(steps.get('5')).toEqual({ type: 'same', from: '10' });
    expect(steps.get('10')).toEqual({ type: 'scale', from: '11', to: { width: 256, height: 128 }, fit: 'cover' });
    expect(steps.get('11')).toEqual({ type: 'load', name: 'photo.png' });
  });

  test('is read from base64 in the graph', () => {
    const graph = stockGraph({}, { ...encoded, '10': node('ETN_LoadImageBase64', { image: base64Of(pngOf(8, 8)) }) });
    expect(stepAt(graph, '10')).toMatchObject({ type: 'inline', picture: { width: 8 } });
  });

  test('is the output of another sampler', () => {
    const graph = stockGraph(
      {},
      {
        '9': node('SaveImage', { images: ['22', 0] }),
        '20': node('LatentUpscaleBy', { samples: ['3', 0], scale_by: 2 }),
        '21': node('KSampler', { steps: 5, denoise: 0.4, positive: ['6', 0], latent_image: ['20', 0] }),
        '22': node('VAEDecode', { samples: ['21', 0] }),
      },
    );
    expect(drawAt(graph, '21')).toMatchObject({ from: '20', requested: { strength: 0.4 } });
    expect(walk(graph).plan.outputs[0]?.order.slice(-4)).toEqual(['20', '21', '22', '9']);
  });

  test('has the mask of its latent', () => {
    const load = { '10': node('LoadImage', { image: 'photo.png' }) };
    const masked = (mask: Nodes, link: readonly unknown[]) =>
      drawAt(
        stockGraph(
          {},
          { ...load, ...mask, '5': node('VAEEncodeForInpaint', { pixels: ['10', 0], mask: link, vae: ['4', 2] }) },
        ),
      ).mask;
    expect(masked({}, ['10', 1])).toEqual({ from: { name: 'photo.png' }, channel: 'alpha', inverted: true });
    expect(masked({ '12': node('LoadImageMask', { image: 'photo.png', channel: 'red' }) }, ['12', 0])).toEqual({
      from: { name: 'photo.png' },
      channel: 'red',
      inverted: false,
    });
    expect(masked({ '12': node('InvertMask', { mask: ['10', 1] }) }, ['12', 0])).toMatchObject({ inverted: false });
    expect(masked({ '12': node('ETN_LoadMaskBase64', { mask: base64Of(pngOf(4, 4)) }) }, ['12', 0])).toMatchObject({
      from: { picture: { width: 4 } },
      channel: 'red',
    });
    const noise = stockGraph(
      {},
      {
        ...load,
        '5': node('SetLatentNoiseMask', { samples: ['13', 0], mask: ['10', 1] }),
        '13': node('VAEEncode', { pixels: ['10', 0] }),
      },
    );
    expect(drawAt(noise)).toMatchObject({ from: '13', mask: { channel: 'alpha' } });
    const inpaint = stockGraph(
      { positive: ['30', 0], negative: ['30', 1], latent_image: ['30', 2] },
      {
        ...load,
        '30': node('InpaintModelConditioning', {
          positive: ['6', 0],
          negative: ['7', 0],
          pixels: ['10', 0],
          mask: ['10', 1],
        }),
      },
    );
    expect(drawAt(inpaint)).toMatchObject({ from: '10', requested: { prompt: 'a boat', negativePrompt: 'fog' } });
  });

  test('is enlarged by an upscaling model', () => {
    const graph = stockGraph(
      {},
      {
        '9': node('SaveImage', { images: ['20', 0] }),
        '20': node('ImageUpscaleWithModel', { image: ['8', 0], upscale_model: ['21', 0] }),
        '21': node('UpscaleModelLoader', { model_name: 'ESRGAN_4x' }),
      },
    );
    expect(stepAt(graph, '20')).toEqual({ type: 'enlarge', from: '8', upscaler: 'ESRGAN_4x' });
  });
});

describe('walkGraph: refusals', () => {
  test.each([
    ['nothing', undefined, 'no_prompt', 'No prompt provided'],
    ['null', null, 'no_prompt', 'No prompt provided'],
    ['a list', [], 'invalid_prompt', 'must be an object'],
    ['no nodes', {}, 'prompt_no_outputs', 'Prompt has no outputs'],
    ['a node that is none', { '1': 5 }, 'invalid_prompt', 'missing the class_type'],
    ['a node without a class', { '1': { inputs: {} } }, 'invalid_prompt', 'missing the class_type'],
    ['only a loader', { '4': node('CheckpointLoaderSimple') }, 'prompt_no_outputs', 'Prompt has no outputs'],
    [
      'a class that nobody knows',
      stockGraph({}, { '8': node('MagicDecode', { samples: ['3', 0] }) }),
      'invalid_prompt',
      'Cannot execute because node MagicDecode does not exist.',
    ],
    [
      'a name of every object',
      stockGraph({}, { '8': node('constructor', { samples: ['3', 0] }) }),
      'invalid_prompt',
      'node constructor does not exist',
    ],
    [
      'a prompt of an unknown kind',
      stockGraph({}, { '6': node('ControlNetApply', {}) }),
      'invalid_prompt',
      'ControlNetApply does not exist',
    ],
  ])('%s', (_, graph, type, message) => {
    const { problem } = refusalOf(graph);
    expect(problem.type).toBe(type);
    expect(problem.message).toContain(message);
  });

  const links = (id: string, more: Nodes): Nodes => stockGraph({}, { [id]: node('SaveImage', {}), ...more });

  test.each([
    ['an output without pictures', stockGraph({}, { '9': node('SaveImage', {}) }), '9', 'required_input_missing'],
    ['a link into nothing', stockGraph({}, { '9': node('SaveImage', { images: ['88', 0] }) }), '9', 'bad_linked_input'],
    ['a link that is none', stockGraph({}, { '9': node('SaveImage', { images: ['8'] }) }), '9', 'bad_linked_input'],
    ['a sampler without a prompt', stockGraph({ positive: undefined }), '3', 'required_input_missing'],
    ['a sampler without a latent', stockGraph({ latent_image: 5 }), '3', 'required_input_missing'],
    ['no steps', stockGraph({ steps: 0 }), '3', 'value_smaller_than_min'],
    ['too many steps', stockGraph({ steps: 1e6 }), '3', 'value_bigger_than_max'],
    ['steps that are none', stockGraph({ steps: 'many' }), '3', 'invalid_input_type'],
    ['a strength above all', stockGraph({ denoise: 7 }), '3', 'value_bigger_than_max'],
    [
      'no width',
      stockGraph({}, { '5': node('EmptyLatentImage', { width: 0, height: 64 }) }),
      '5',
      'value_smaller_than_min',
    ],
    [
      'a huge height',
      stockGraph({}, { '5': node('EmptyLatentImage', { width: 64, height: 1e6 }) }),
      '5',
      'value_bigger_than_max',
    ],
    [
      'no pictures',
      stockGraph({}, { '5': node('EmptyLatentImage', { batch_size: 0 }) }),
      '5',
      'value_smaller_than_min',
    ],
    ['words that are none', stockGraph({}, { '6': node('CLIPTextEncode', { text: {} }) }), '6', 'invalid_input_type'],
    [
      'words that lead nowhere',
      stockGraph({}, { '6': node('CLIPTextEncode', { text: ['4', 0] }) }),
      '6',
      'required_input_missing',
    ],
    [
      'a file that nobody sent',
      stockGraph({}, { '8': node('LoadImage', { image: 'other.png' }) }),
      '8',
      'custom_validation_failed',
    ],
    [
      'a picture that is none',
      stockGraph({}, { '8': node('ETN_LoadImageBase64', { image: 'x' }) }),
      '8',
      'custom_validation_failed',
    ],
    [
      'a LoRA',
      stockGraph(
        { model: ['20', 0] },
        { '20': node('LoraLoader', { model: ['4', 0], lora_name: 'film', strength_model: 1 }) },
      ),
      '20',
      'value_not_in_list',
    ],
    [
      'a picture for a mask',
      stockGraph(
        {},
        {
          '5': node('SetLatentNoiseMask', { samples: ['20', 0], mask: ['21', 0] }),
          '20': node('VAEEncode', { pixels: ['21', 0] }),
          '21': node('LoadImage', { image: 'photo.png' }),
        },
      ),
      '21',
      'return_type_mismatch',
    ],
  ])('%s', (_, graph, id, type) => {
    const { problem, nodeErrors } = refusalOf(graph);
    expect(problem.type).toBe('prompt_outputs_failed_validation');
    expect(nodeErrors[id]?.errors[0]).toMatchObject({
      type,
      message: expect.any(String),
      details: expect.any(String),
      extra_info: expect.any(Object),
    });
    expect(nodeErrors[id]?.dependent_outputs).toEqual(['9']);
    expect(problem.details).toContain(nodeErrors[id]?.errors[0]?.message);
  });

  test.each([
    [
      'a node that needs itself',
      links('9', {
        '9': node('SaveImage', { images: ['8', 0] }),
        '8': node('ImageScaleBy', { image: ['8', 0], scale_by: 1 }),
      }),
    ],
    [
      'two samplers that need each other',
      stockGraph(
        { latent_image: ['20', 0] },
        { '20': node('KSampler', { positive: ['6', 0], latent_image: ['3', 0] }) },
      ),
    ],
    [
      'words that stand in each other',
      stockGraph(
        {},
        {
          '6': node('CLIPTextEncode', { text: ['20', 0] }),
          '20': node('A', { text: ['21', 0] }),
          '21': node('B', { text: ['20', 0] }),
        },
      ),
    ],
    ['prompts that hold each other', stockGraph({}, { '6': node('FluxGuidance', { conditioning: ['6', 0] }) })],
    [
      'models that change each other',
      stockGraph({ model: ['20', 0] }, { '20': node('ModelSampling', { model: ['20', 0] }) }),
    ],
    [
      'masks that turn each other',
      stockGraph(
        {},
        {
          '5': node('SetLatentNoiseMask', { samples: ['20', 0], mask: ['21', 0] }),
          '20': node('EmptyLatentImage'),
          '21': node('InvertMask', { mask: ['21', 0] }),
        },
      ),
    ],
  ])('a cycle: %s', (_, graph) => {
    const { nodeErrors } = refusalOf(graph);
    const [{ errors } = { errors: [] }] = Object.values(nodeErrors);
    expect(errors[0]).toMatchObject({
      type: 'exception_during_inner_validation',
      details: expect.stringContaining('cycle'),
    });
  });

  test('only the broken output fails if another one is valid', () => {
    const { plan, nodeErrors } = walk(stockGraph({}, { '10': node('PreviewImage', {}) }));
    expect(plan.outputs.map(({ id }) => id)).toEqual(['9']);
    expect(nodeErrors['10']).toMatchObject({ class_type: 'PreviewImage', dependent_outputs: ['10'] });
  });

  test('accepts LoRAs of the model with their strengths', () => {
    const loras = {
      '20': node('LoraLoader', { model: ['21', 0], clip: ['4', 1], lora_name: 'film', strength_model: 0.5 }),
      '21': node('LoraLoaderModelOnly', { model: ['4', 0], lora_name: 'fog.gguf' }),
    };
    const { plan } = walk(stockGraph({ model: ['20', 0] }, loras), { loras: ['film', 'fog.gguf'] });
    const [draw] = [...plan.steps.values()].filter(({ type }) => type === 'draw');
    expect(draw).toMatchObject({
      requested: {
        loras: [
          { name: 'film', weight: 0.5 },
          { name: 'fog.gguf', weight: 1 },
        ],
      },
    });
  });

  test('accepts an unknown LoRA of strength 0', () => {
    expect(
      walk(
        stockGraph(
          { model: ['20', 0] },
          { '20': node('LoraLoader', { model: ['4', 0], lora_name: 'film', strength_model: 0 }) },
        ),
      ).plan.outputs,
    ).toHaveLength(1);
  });

  test('NodeFault: has message and details', () => {
    expect(
      new NodeFault({ id: '3', classType: 'KSampler' }, { type: 'x', message: 'Value 0 smaller', details: 'steps' })
        .message,
    ).toBe('Value 0 smaller: steps');
  });
});

/** A chain of nodes from `first` to the one before `end`. */
function chain(count: number, first: string, end: readonly [string, number], make: (next: unknown) => object): Nodes {
  const name = (index: number): string => (index === 0 ? first : `${first}-${index}`);
  const entries = Array.from({ length: count }, (_, index) => [
    name(index),
    make(index === count - 1 ? end : [name(index + 1), 0]),
  ]);
  return Object.fromEntries(entries);
}

const chains: readonly (readonly [string, (count: number) => Nodes])[] = [
  [
    'pictures',
    (count) =>
      stockGraph(
        {},
        chain(count, '8', ['3', 0], (next) => node('ImageScale', { image: next })),
      ),
  ],
  [
    'latents',
    (count) =>
      stockGraph(
        { latent_image: ['c', 0] },
        chain(count, 'c', ['5', 0], (next) => node('RepeatLatentBatch', { samples: next })),
      ),
  ],
  [
    'models',
    (count) =>
      stockGraph(
        { model: ['c', 0] },
        chain(count, 'c', ['4', 0], (next) => node('ModelSampling', { model: next })),
      ),
  ],
  [
    'text encoders',
    (count) => ({
      ...stockGraph(
        {},
        chain(count, 'c', ['4', 1], (next) => node('CLIPSetLastLayer', { clip: next })),
      ),
      '6': node('CLIPTextEncode', { text: 'a', clip: ['c', 0] }),
    }),
  ],
  [
    'conditionings',
    (count) =>
      stockGraph(
        { positive: ['c', 0] },
        chain(count, 'c', ['6', 0], (next) => node('FluxGuidance', { conditioning: next })),
      ),
  ],
  [
    'samplers',
    (count) =>
      stockGraph(
        { latent_image: ['c', 0] },
        chain(count, 'c', ['5', 0], (next) => node('KSampler', { ...stockGraph()['3']?.inputs, latent_image: next })),
      ),
  ],
  [
    'values',
    (count) =>
      stockGraph(
        { steps: ['c', 0] },
        chain(count, 'c', ['v', 0], (next) => node('Int', { value: next })),
      ),
  ],
  [
    'nodes of any class behind an input that is only touched',
    (count) => ({
      ...stockGraph(
        {},
        chain(count, 'c', ['4', 2], (next) => node('Whatever', { anything: next })),
      ),
      '8': node('VAEDecode', { samples: ['3', 0], vae: ['c', 0] }),
    }),
  ],
  [
    'masks',
    (count) =>
      stockGraph(
        { latent_image: ['n', 0] },
        {
          n: node('SetLatentNoiseMask', { samples: ['5', 0], mask: ['c', 0] }),
          ...chain(count, 'c', ['m', 1], (next) => node('InvertMask', { mask: next })),
          m: node('LoadImage', { image: 'photo.png' }),
        },
      ),
  ],
];

/** Accepted, or refused with a GraphRefusal; other errors fail the test. */
function isAnswered(graph: Nodes): 'taken' | GraphRefusal {
  try {
    walk(graph);
    return 'taken';
  } catch (error) {
    if (error instanceof GraphRefusal) return error;
    throw error;
  }
}

describe('walkGraph: hostile graphs', () => {
  test.each(chains)('refuses a chain of 900 %s because of its depth', (kind, make) => {
    const answer = isAnswered(make(900));
    if (kind === 'values') return;
    expect(answer).toBeInstanceOf(GraphRefusal);
    expect(JSON.stringify((answer as GraphRefusal).nodeErrors)).toMatch(/deeper than \d+ nodes/);
  });

  test.each(chains)('accepts a chain of 100 %s', (kind, make) => {
    if (kind === 'values') expect(isAnswered({ ...make(100), v: node('Int', { value: 3 }) })).toBe('taken');
    else expect(isAnswered(make(100))).toBe('taken');
  });

  test('reads a chain of 900 values', () => {
    const values = chain(900, 'c', ['v', 0], (next) => node('Int', { value: next }));
    const graph = stockGraph({ steps: ['c', 0] }, { ...values, v: node('Int', { value: 3 }) });
    expect(drawAt(graph).requested.steps).toBe(3);
  });

  test('reads each sampler once for many outputs', () => {
    let reads = 0;
    const inputs = { ...stockGraph()['3']?.inputs };
    const samplers = chain(200, 'c', ['5', 0], (next) => node('KSampler', { ...inputs, latent_image: next }));
    const saves = Object.fromEntries(
      Array.from({ length: 300 }, (_, index) => [`s${index}`, node('SaveImage', { images: ['8', 0] })]),
    );
    const loader = node('ModelSampling', { model: ['4', 0] });
    const nodes = stockGraph({ latent_image: ['c', 0], model: ['l', 0] }, { ...samplers, ...saves, l: loader });
    const watched = Object.entries(nodes).map(([id, one]) => {
      if (one.class_type !== 'KSampler') return [id, one];
      const get = (target: Readonly<Record<string, unknown>>, key: string | symbol) => {
        if (key === 'seed') reads += 1;
        return target[key as string];
      };
      return [id, { ...one, inputs: new Proxy(one.inputs, { get }) }];
    });
    const { plan } = walkGraph(readGraph(Object.fromEntries(watched)), { hasFile: () => true });
    expect(plan.outputs.length).toBe(301);
    expect(reads).toBeLessThanOrEqual(2 * 201);
  });

  test('reads a broken node once for many outputs', () => {
    const inputs = { ...stockGraph()['3']?.inputs };
    const samplers = chain(200, 'c', ['nobody', 0], (next) => node('KSampler', { ...inputs, latent_image: next }));
    const saves = Object.fromEntries(
      Array.from({ length: 300 }, (_, index) => [`s${index}`, node('SaveImage', { images: ['8', 0] })]),
    );
    const { nodeErrors } = refusalOf(stockGraph({ latent_image: ['c', 0] }, { ...samplers, ...saves }));
    expect(Object.values(nodeErrors).flatMap(({ dependent_outputs }) => dependent_outputs)).toHaveLength(301);
    expect(Object.keys(nodeErrors)).toEqual(['c-199']);
  });

  test('accepts or refuses any graph of known classes with random links', () => {
    const classes = [
      ...[
        'KSampler',
        'KSamplerAdvanced',
        'SamplerCustomAdvanced',
        'CFGGuider',
        'BasicScheduler',
        'VAEDecode',
        'VAEEncode',
      ],
      ...['ImageScale', 'ImageScaleBy', 'LoadImage', 'SaveImage', 'PreviewImage', 'CLIPTextEncode', 'FluxGuidance'],
      ...[
        'ConditioningCombine',
        'LoraLoader',
        'CLIPSetLastLayer',
        'EmptyLatentImage',
        'RepeatLatentBatch',
        'InvertMask',
      ],
      ...['SetLatentNoiseMask', 'VAEEncodeForInpaint', 'ImageUpscaleWithModel', 'InpaintModelConditioning', 'Whatever'],
    ];
    const names = [
      ...[
        'model',
        'clip',
        'vae',
        'positive',
        'negative',
        'latent_image',
        'samples',
        'pixels',
        'image',
        'images',
        'mask',
      ],
      ...['conditioning', 'conditioning_1', 'conditioning_2', 'guider', 'noise', 'sampler', 'sigmas', 'upscale_model'],
      ...['text', 'seed', 'steps', 'cfg', 'width', 'value', 'amount', '__proto__', 'constructor'],
    ];
    const link = fc.tuple(fc.integer({ min: 0, max: 24 }).map(String), fc.integer({ min: 0, max: 2 }));
    const value = fc.oneof({ weight: 8, arbitrary: link }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) });
    const one = fc.record({
      class_type: fc.constantFrom(...classes),
      inputs: fc.uniqueArray(fc.tuple(fc.constantFrom(...names), value), { maxLength: 10, selector: ([name]) => name }),
    });
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 25 }), (nodes) => {
        const graph = nodes.map(({ class_type, inputs }, index) => [
          String(index),
          { class_type, inputs: Object.fromEntries(inputs) },
        ]);
        isAnswered(Object.fromEntries(graph));
      }),
      { numRuns: 500 },
    );
  });
});
