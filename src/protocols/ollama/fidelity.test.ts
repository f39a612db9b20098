import { expect } from 'vitest';
import type { EndpointFidelity } from '../../core/fidelity.ts';
import type { PresetStore } from '../../core/models-view.ts';
import type { JsonObject } from '../../http/body.ts';
import { fieldTables } from '../fidelity/fidelity.ts';
import { bindAll } from '../testing/bind.ts';
import { dialectParts, finishEvent, scriptedChat, scriptedText, seeing, startEvent } from '../testing/doubles.ts';
import { scriptedOthers } from '../testing/embedding.ts';
import { asking, type Proof, proveFidelity, samplerProof } from '../testing/fidelity-proof.ts';
import { ollamaEndpoints } from './routes.ts';
import { file, header, type OllamaContext } from './testing/context.ts';

const token = {
  token: 72,
  text: 'H',
  logprob: -0.5,
  bytes: [72],
  top: [{ token: 73, text: 'I', logprob: -1, bytes: [73] }],
};
const script = [startEvent(), { type: 'text-delta', text: 'H', logprobs: [token] } as const, finishEvent()];

function world() {
  const kept: { kept: number }[] = [];
  const { text, asked } = scriptedText(script, {
    state: () => seeing(),
    keepFor: (milliseconds) => void kept.push({ kept: milliseconds }),
  });
  const { chat, asked: chats } = scriptedChat(script);
  const embedding = scriptedOthers();
  const parts: OllamaContext = {
    ...dialectParts({ text, chat, taskServices: embedding.taskServices }),
    modelFile: async (_, { longArrays }) => {
      if (!longArrays) return file;
      const metadata = new Map(header().metadata);
      metadata.set('all.of.it', { type: 'bool', value: true });
      return { ...file, header: header({ metadata }) };
    },
  };
  const changes: object[] = [];
  const presets: PresetStore = {
    create: async (name, preset) => void changes.push({ created: { ...preset, name } }),
    list: async () => [],
    save: async (name: string) => name,
    remove: async (name) => changes.push({ removed: name }) > 0,
  };
  const rows = ollamaEndpoints({ ...parts, presets: () => presets }, parts);
  return {
    rows,
    endpoints: bindAll(rows, parts),
    get asked() {
      return [...asked, ...chats, ...kept, ...changes, ...embedding.asked];
    },
  };
}

const png = 'iVBORw0KGgo=';
const user = { role: 'user', content: 'Hi' };
const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: { a: {} } } } };
const calling = { role: 'assistant', content: '', tool_calls: [{ function: { name: 'f', arguments: { a: 1 } } }] };
const request = (value: object): object => ({ request: value });
const controls = (value: object): object => request({ controls: value });
const message = (value: object): object => request({ conversation: { messages: [value] } });

const ownOptions: Readonly<Record<string, Proof>> = {
  'options.num_predict': { send: { options: { num_predict: 9 } }, asks: controls({ maxTokens: 9 }) },
  'options.num_ctx': { send: { options: { num_ctx: 512 } }, asks: controls({ maxContext: 512 }) },
  'options.stop': { send: { options: { stop: ['x'] } }, asks: controls({ stop: ['x'] }) },
};
const flags = ['penalize_newline', 'use_mmap', 'use_mlock', 'low_vram', 'numa', 'f16_kv', 'vocab_only', 'logits_all'];

const shared = (endpoint: EndpointFidelity): Readonly<Record<string, Proof>> => ({
  genkey: { send: { genkey: 'K1' }, asks: { requestContext: { genkey: 'K1' } } },
  stream: { send: { stream: false }, hides: /"done":false/ },
  format: { send: { format: 'json' }, asks: request({ output: { type: 'json' } }) },
  keep_alive: { send: { keep_alive: '5m' }, asks: { kept: 300_000 } },
  think: { send: { think: 'low' }, asks: request({ reasoning: { effort: 'low' } }) },
  logprobs: { send: { logprobs: true }, asks: controls({ logprobs: 0 }) },
  top_logprobs: { beside: { logprobs: true }, send: { top_logprobs: 3 }, asks: controls({ logprobs: 3 }) },
  truncate: { send: { truncate: true }, asks: controls({ overflow: 'trim' }) },
  _debug_render_only: { send: { _debug_render_only: true }, tells: /"_debug_info"/ },
  ...ownOptions,
  ...Object.fromEntries([...flags, 'embedding_only'].map((name) => [`options.${name}`, option(name, true)])),
  ...Object.fromEntries(endpoint.fields.flatMap(({ field }) => samplerOption(field))),
});

function option(name: string, value: unknown): Proof {
  return { send: { options: { [name]: value } } };
}

function samplerOption(field: string): [string, Proof][] {
  const proof = field.startsWith('options.') ? samplerProof(field.slice('options.'.length), controls) : undefined;
  return proof ? [[field, { ...proof, send: { options: proof.send } }]] : [];
}

const proofs = (table: EndpointFidelity): Readonly<Record<string, Proof>> => {
  switch (table.endpoint) {
    case 'POST /api/generate':
      return {
        model: { send: { model: 'Other' }, tells: /"model":"Other"/ },
        prompt: {
          send: { prompt: 'Other' },
          asks: message({ role: 'user', content: [{ type: 'text', text: 'Other' }] }),
        },
        suffix: {
          beside: { template: '{{ .Prompt }}<gap>{{ .Suffix }}' },
          send: { suffix: 'end' },
          asks: request({ prompt: 'Hi<gap>end' }),
        },
        images: {
          send: { images: [png] },
          asks: request({ conversation: { media: [{ kind: 'image', base64: png }] } }),
        },
        system: {
          send: { system: 'Be brief' },
          asks: request({ conversation: { messages: [{ role: 'system' }, { role: 'user' }] } }),
        },
        template: { send: { template: '<{{ .Prompt }}>' }, asks: request({ prompt: '<Hi>' }) },
        raw: { send: { raw: true }, asks: request({ prompt: 'Hi' }) },
        context: { send: { context: [65, 66] }, asks: request({ memory: 'AB' }) },
        ...shared(table),
      };
    case 'POST /api/chat':
      return {
        model: { send: { model: 'Other' }, tells: /"model":"Other"/ },
        messages: {
          send: { messages: [{ role: 'user', content: 'Other' }] },
          asks: message({ content: [{ type: 'text', text: 'Other' }] }),
        },
        'messages[].role': {
          send: { messages: [{ role: 'System', content: 'Hi' }] },
          asks: message({ role: 'system' }),
        },
        'messages[].content': {
          send: { messages: [{ role: 'user', content: 'Other' }] },
          asks: message({ content: [{ type: 'text', text: 'Other' }] }),
        },
        'messages[].thinking': {
          send: { messages: [{ role: 'assistant', content: 'a', thinking: 'Hm' }] },
          asks: message({ reasoning: 'Hm' }),
        },
        'messages[].images': {
          send: { messages: [{ ...user, images: [png] }] },
          asks: request({ conversation: { media: [{ kind: 'image', base64: png }] } }),
        },
        'messages[].tool_calls': {
          send: { messages: [calling] },
          asks: message({ toolCalls: [{ name: 'f', json: '{"a":1}' }] }),
        },
        'messages[].tool_name': {
          send: { messages: [{ role: 'tool', content: 'r', tool_name: 'f' }] },
          asks: message({ toolName: 'f' }),
        },
        'messages[].tool_call_id': {
          send: { messages: [{ role: 'tool', content: 'r', tool_call_id: 'c1' }] },
          asks: message({ callId: 'c1' }),
        },
        tools: {
          send: { tools: [tool] },
          asks: request({ conversation: { tools: [{ name: 'f', parameters: tool.function.parameters }] } }),
        },
        ...shared(table),
      };
    case 'POST /api/show': {
      const beside = { model: 'm' };
      return {
        model: { send: { model: 'tiny-embed' }, tells: /"capabilities":\["embedding"\]/ },
        name: { send: { name: 'tiny-embed' }, tells: /"capabilities":\["embedding"\]/ },
        verbose: { beside, send: { verbose: true }, tells: /all\.of\.it/ },
        system: { beside, send: { system: 'x' } },
        template: { beside, send: { template: 'x' } },
        options: { beside, send: { options: {} } },
      };
    }
    case 'POST /api/pull': {
      const beside = { model: 'm' };
      return {
        model: { send: { model: 'any' }, tells: /"status":"success"/ },
        name: { send: { name: 'any' }, tells: /"status":"success"/ },
        stream: { beside, send: { stream: false }, hides: /pulling manifest/ },
        insecure: { beside, send: { insecure: true } },
      };
    }
    case 'POST /api/create': {
      const beside = { model: 'm' };
      const created = (value: object): object => ({ created: value });
      return {
        model: { send: { model: 'terse' }, asks: created({ name: 'terse' }) },
        name: { send: { name: 'terse' }, asks: created({ name: 'terse' }) },
        from: { beside, send: { from: 'x' }, asks: created({ from: 'x' }) },
        parameters: {
          beside,
          send: { parameters: { top_k: 3 } },
          asks: created({ parameters: { top_k: 3 } }),
          refuses: [{ parameters: 'x' }],
        },
        system: { beside, send: { system: 'Be brief' }, asks: created({ system: 'Be brief' }) },
        template: { beside, send: { template: '<' }, asks: created({ template: '<' }) },
        messages: { beside, send: { messages: [user] }, asks: created({ messages: [user] }) },
        stream: { beside, send: { stream: false }, hides: /writing manifest/ },
        license: { beside, send: { license: 'MIT' } },
      };
    }
    case 'DELETE /api/delete':
      return {
        model: { send: { model: 'terse' }, asks: { removed: 'terse' } },
        name: { send: { name: 'terse' }, asks: { removed: 'terse' } },
      };
    case 'POST /api/embed':
      return {
        model: { send: { model: 'koboldcpp/mini' }, asks: { by: 'mini' }, tells: /"model":"koboldcpp\/mini"/ },
        input: {
          send: { input: ['a', 'bc'] },
          asks: request({ inputs: ['a', 'bc'] }),
          refuses: [{ input: 5 }, { input: [1, 2] }, { input: {} }],
        },
        truncate: { send: { truncate: false }, asks: request({ truncate: false }) },
        dimensions: {
          send: { dimensions: 2 },
          tells: /"embeddings":\[\[1,0\]\]/,
          refuses: [{ dimensions: -1 }, { dimensions: 'x' }],
        },
        keep_alive: { beside: { input: '' }, send: { keep_alive: '5m' }, asks: { keep: 300_000 } },
        genkey: { send: { genkey: 'K1' }, asks: { requestContext: { genkey: 'K1' } } },
      };
    case 'POST /api/embeddings':
      return {
        model: { send: { model: 'koboldcpp/mini' }, asks: { by: 'mini' } },
        prompt: { send: { prompt: 'Other' }, asks: request({ inputs: ['Other'] }), refuses: [{ prompt: 5 }] },
        keep_alive: { beside: { prompt: '' }, send: { keep_alive: '5m' }, asks: { keep: 300_000 } },
        genkey: { send: { genkey: 'K1' }, asks: { requestContext: { genkey: 'K1' } } },
      };
    default:
      return {};
  }
};

const bases: Readonly<Record<string, JsonObject>> = {
  'POST /api/generate': { model: 'm', prompt: 'Hi' },
  'POST /api/chat': { model: 'm', messages: [user] },
  'POST /api/create': { from: 'b' },
  'POST /api/embed': { model: 'm', input: 'x' },
  'POST /api/embeddings': { model: 'm', prompt: 'x' },
};

for (const table of fieldTables(world().rows)) {
  const [method = '', path = ''] = table.endpoint.split(' ');
  proveFidelity({
    table,
    base: bases[table.endpoint] ?? {},
    ask: asking(world, method, path),
    proofs: proofs(table),
    refusal: (reply) => expect(reply).toEqual({ error: expect.any(String) }),
  });
}
