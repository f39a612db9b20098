import { expect, test } from 'vitest';
import { chooseAdapter, loadAdapter } from '../chat/adapters/load.ts';
import { noTemplate } from '../chat/prompt.ts';
import { defaultSettings } from '../config/flags.ts';
import type { ImageEngine } from '../core/image.ts';
import { fixedTextSource } from '../core/text-service.ts';
import { chosenLora } from '../engines/image/diffusion/options.ts';
import { noTextEngine } from '../engines/none.ts';
import { node, stockGraph } from '../protocols/comfy/testing/graphs.ts';
import { asked } from '../protocols/testing/asked.ts';
import { imageFacts, inProcessEditor, pngOf } from '../protocols/testing/pictures.ts';
import { createApp } from './app.ts';

const names = ['film', 'fog'];
const offered = names.map((name) => ({ name, path: `/loras/${name}.safetensors` }));

/** A server with an image engine that chooses LoRAs as that of the pack does. */
async function served() {
  const adapter = chooseAdapter(await loadAdapter('ChatML', async () => undefined), undefined);
  const facts = { ...imageFacts, loras: names.map((name) => ({ name, file: `${name}.safetensors` })) };
  const chosen: (string | undefined)[] = [];
  const engine: ImageEngine = {
    facts: () => facts,
    generate: async function* (request) {
      chosen.push(chosenLora(request.loras ?? [], { fixed: [], offered }));
      yield { type: 'image', index: 0, seed: 1, png: pngOf(8, 8) };
    },
    upscale: async ({ width, height }) => pngOf(width, height),
  };
  const image = {
    name: 'a',
    use: async () => ({ engine, release: () => undefined }),
    peek: () => engine,
    state: () => ({ type: 'ready' }) as const,
    facts,
  };
  const app = createApp({
    name: 'a',
    settings: defaultSettings,
    source: fixedTextSource(noTextEngine(4096)),
    format: { adapter, templateText: undefined, template: async () => undefined, templateUse: noTemplate },
    taskSources: { image },
    resolve: async () => ({ context: app.context, release: () => undefined }),
    editor: inProcessEditor,
    product: { name: 'Parley', version: '1.2.3' },
    observer: {},
    warn: () => undefined,
    onError: () => undefined,
    shutdown: () => undefined,
  });
  const ask = (path: string, body: object) => asked(app.endpoints, 'POST', path, body);
  const read = (path: string) => asked(app.endpoints, 'GET', path);
  return { ask, read, chosen };
}

const sentence = 'the image engine applies one LoRA at a time, and only with the weight 1';
const picture = `data:image/png;base64,${pngOf(8, 8).toString('base64')}`;

test.each<[string, object]>([
  ['/sdapi/v1/txt2img', {}],
  ['/sdapi/v1/img2img', { init_images: [picture] }],
  ['/v1/images/generations', {}],
  ['/v1/images/edits', { images: [{ image_url: picture }] }],
])('image LoRAs: %s takes one, and refuses two and other weights in a sentence', async (path, body) => {
  const { ask, chosen } = await served();
  const prompts = ['a <lora:film:1>', 'a <lora:film:1> <lora:fog:1>', 'a <lora:fog:0.5>'];
  const replies = [];
  for (const prompt of prompts) replies.push(await ask(path, { ...body, prompt }));
  expect(replies.map(({ status }) => status)).toEqual([200, 400, 400]);
  for (const { text } of replies.slice(1)) expect(text).toContain(sentence);
  expect(chosen).toEqual(['/loras/film.safetensors']);
  const lora = names.map((name) => ({ path: `${name}.safetensors`, multiplier: 1 }));
  const both = await ask(path, { ...body, prompt: 'a', lora });
  expect([both.status, both.text.includes(sentence)]).toEqual([400, true]);
});

test('image LoRAs: a graph of ComfyUI with two of them ends with the sentence, and one with one with its image', async () => {
  const { ask, read, chosen } = await served();
  const loader = (lora_name: string, model: readonly unknown[]) =>
    node('LoraLoader', { model, clip: ['4', 1], lora_name, strength_model: 1, strength_clip: 1 });
  const first = loader('film.safetensors', ['4', 0]);
  const second = loader('fog.safetensors', ['21', 0]);
  const outcome = async (nodes: Parameters<typeof stockGraph>[1]) => {
    const reply = await ask('/prompt', { prompt: stockGraph({ model: ['20', 0] }, nodes) });
    expect(reply.status).toBe(200);
    const id = reply.json.prompt_id as string;
    const status = async () => (await read(`/history/${id}`)).json[id]?.status;
    await expect.poll(status).toBeDefined();
    return status();
  };
  expect(await outcome({ '20': first })).toMatchObject({ status_str: 'success' });
  const refused = await outcome({ '21': first, '20': second });
  expect(refused).toMatchObject({ status_str: 'error' });
  expect(JSON.stringify(refused)).toContain(sentence);
  expect(chosen).toEqual(['/loras/film.safetensors']);
});
