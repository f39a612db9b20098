import { expect, test } from 'vitest';
import { defaultSettings } from '../config/flags.ts';
import { type PresetReading, readPreset } from '../config/preset.ts';
import type { GenerationRequest } from '../core/request.ts';
import { fixedTextSource } from '../core/text-service.ts';
import { fakeEngine } from '../engines/testing/fake-engine.ts';
import { loadChatFormat } from '../models/chat-format.ts';
import type { PreparedModel } from '../models/prepared-model.ts';
import { presetOffers } from '../models/presets.ts';
import { asked } from '../protocols/testing/asked.ts';
import { createApp } from './app.ts';
import type { ModelContext } from './model-context.ts';

/** Shows its variables, and whether it is to think. */
const template = [
  '{% for message in messages %}<{{ message.role }}>{{ message.content }}</{{ message.role }}>{% endfor %}',
  '{% if enable_thinking is defined and not enable_thinking %}[no thinking]{% endif %}[style {{ style }}]<assistant>',
].join('');

const preset = {
  base: 'base',
  gendefaults: { temperature: 0.25, stop: ['END'] },
  systemprompt: 'Be brief.',
  reasoningeffort: 'none',
  jinja_kwargs: { style: 'plain' },
  defaultgenamt: 100,
};

async function served(own: object = preset) {
  const requests: GenerationRequest[] = [];
  const script = (request: GenerationRequest) => {
    requests.push(request);
    return { pieces: ['Hello'] };
  };
  const settings = { ...defaultSettings, jinja: true };
  const format = await loadChatFormat(settings, template, () => undefined);
  const base = { name: 'base', settings, format, file: { chatTemplate: template } } as unknown as PreparedModel;
  const reading = readPreset(JSON.stringify(own)) as PresetReading;
  const files = [{ file: 'terse.kcpps', reading, version: '1' }];
  const names = new Map([['terse.kcpps', ['terse']]]);
  const [offer] = presetOffers(files, { names, models: [['base']], warn: () => undefined });
  let context: ModelContext | undefined;
  const app = createApp({
    name: 'base',
    settings,
    format,
    source: fixedTextSource(fakeEngine({ script, pace: (next) => next() })),
    resolve: async (name) => ({
      context: name === 'terse' && context ? context : app.context,
      release: () => undefined,
    }),
    models: { byName: true, swap: undefined, list: async () => [] },
    product: { name: 'Parley', version: '1.2.3' },
    observer: {},
    warn: () => undefined,
    onError: () => undefined,
    shutdown: () => undefined,
  });
  const prepared = await offer?.prepare('terse', base);
  context = prepared && app.context.preset(prepared as Parameters<ModelContext['preset']>[0]);
  const ask = (path: string, body: object) => asked(app.endpoints, 'POST', path, body);
  return { ask, requests };
}

const messages = [{ role: 'user', content: 'Hi' }];
const chats: readonly [string, object][] = [
  ['/v1/chat/completions', { messages }],
  ['/v1/responses', { input: 'Hi' }],
  ['/v1/messages', { messages, max_tokens: 10 }],
  ['/api/chat', { messages, stream: false }],
];

test.each(chats)(
  'presets: %s has thinking off, stop text, sampler, template variable and system prompt',
  async (path, body) => {
    const { ask, requests } = await served();
    const { status, json } = await ask(path, { ...body, model: 'terse' });
    expect([status, json.model?.replace('koboldcpp/', '').replace(':latest', '')]).toEqual([200, 'terse']);
    const [request] = requests;
    expect(request?.prompt).toContain('<system>Be brief.</system><user>Hi</user>[no thinking][style plain]');
    expect(request).toMatchObject({ sampling: { temperature: 0.25 } });
    expect(request?.stop).toContain('END');
  },
);

test.each(chats)('presets: %s of the base has none of it', async (path, body) => {
  const { ask, requests } = await served();
  await ask(path, { ...body, model: 'base' });
  const [request] = requests;
  expect(request?.prompt).toContain('<user>Hi</user>[style ]');
  expect(request?.prompt).not.toContain('Be brief.');
  expect(request?.stop).not.toContain('END');
});

test.each(chats)('presets: %s wins with what it sets itself', async (path, body) => {
  const { ask, requests } = await served();
  const stop = path === '/api/chat' ? { options: { temperature: 0.5 } } : { temperature: 0.5 };
  await ask(path, { ...body, ...stop, model: 'terse' });
  expect(requests[0]).toMatchObject({ sampling: { temperature: 0.5 } });
  expect(requests[0]?.prompt).toContain('[style plain]');
});

test.each<[string, object]>([
  ['/api/v1/generate', { prompt: 'Hi' }],
  ['/v1/completions', { prompt: 'Hi' }],
  ['/api/generate', { prompt: 'Hi', raw: true, stream: false }],
  ['/completion', { prompt: 'Hi' }],
])('presets: %s has stop text and sampler, and no system prompt in a text of its own', async (path, body) => {
  const { ask, requests } = await served();
  expect((await ask(path, { ...body, model: 'terse' })).status).toBe(200);
  const [request] = requests;
  expect(request?.prompt).toBe('Hi');
  expect(request).toMatchObject({ sampling: { temperature: 0.25 } });
  expect(request?.stop).toContain('END');
});

test('presets: the reply length counts where a request sets none', async () => {
  const { ask, requests } = await served();
  await ask('/v1/chat/completions', { messages, model: 'terse' });
  await ask('/v1/chat/completions', { messages, model: 'terse', max_tokens: 5 });
  expect(requests.map(({ maxTokens }) => maxTokens)).toEqual([100, 5]);
});
