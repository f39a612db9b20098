import { expect } from 'vitest';
import type { ChatRequest } from '../../chat/request.ts';
import type { EndpointFidelity } from '../../core/fidelity.ts';
import type { JsonObject } from '../../http/body.ts';
import { fieldTables } from '../fidelity/fidelity.ts';
import { bindAll } from '../testing/bind.ts';
import { dialectParts, finishEvent, scriptedChat, scriptedText, seeing, startEvent } from '../testing/doubles.ts';
import { scriptedOthers } from '../testing/embedding.ts';
import { asking, type Proof, proveFidelity } from '../testing/fidelity-proof.ts';
import { llamacppEndpoints } from './routes.ts';
import { llamacppParts, plainControls } from './testing/world.ts';

const token = {
  token: 72,
  text: 'H',
  logprob: -0.5,
  bytes: [72],
  top: [{ token: 73, text: 'I', logprob: -1, bytes: [73] }],
};
const script = [
  startEvent({ seed: 4 }),
  { type: 'text-delta', text: 'Hello\n', logprobs: [token] } as const,
  { type: 'text-delta', text: 'no indent' } as const,
  finishEvent(),
];

/** Every character is a token, and every mark of a gap is one too. */
function world() {
  const { text, asked } = scriptedText(script, {
    state: () => seeing(),
    tokenize: async (words, { addSpecial, parseSpecial = true }) => [
      ...(addSpecial ? [1] : []),
      ...(parseSpecial && /^<.+>$/.test(words) ? [2] : Array.from(words, (each) => each.codePointAt(0) ?? 0)),
    ],
  });
  const rendered: { chat: ChatRequest }[] = [];
  const { chat } = scriptedChat([], {
    render: async (request) => {
      rendered.push({ chat: request });
      return { by: 'template', prompt: 'P', memory: '', stop: [], warnings: [] };
    },
  });
  let clock = 0;
  const embedding = scriptedOthers();
  const parts = llamacppParts({
    ...dialectParts({ text, chat, taskServices: embedding.taskServices, now: () => (clock += 10) }),
    readChat: async (body: JsonObject): Promise<ChatRequest> => ({
      conversation: { messages: body.messages as never, media: [], tools: (body.tools as never) ?? [] },
      continueAssistantTurn: false,
      toolChoice: { type: 'auto' },
      parallelToolCalls: true,
      output: { type: 'text' },
      reasoning: { effort: undefined, separate: true },
      templateVariables: (body.chat_template_kwargs as never) ?? {},
      memory: '',
      controls: plainControls,
    }),
  });
  return {
    endpoints: bindAll(llamacppEndpoints(parts), parts),
    get asked() {
      return [...asked, ...rendered, ...embedding.asked];
    },
  };
}

const png = 'iVBORw0KGgo=';
const request = (value: object): object => ({ request: value });
const gbnf = 'root ::= "a"';
const lazy = { grammar: gbnf, grammar_triggers: [{ type: 1, value: 'x' }] };

/** What both ways of asking for a text share; the samplers prove themselves. */
const options: Readonly<Record<string, Proof>> = {
  genkey: { send: { genkey: 'K1' }, asks: { requestContext: { genkey: 'K1' } } },
  n_predict: { send: { n_predict: 9 }, asks: request({ maxTokens: 9 }) },
  max_tokens: { send: { max_tokens: 9 }, asks: request({ maxTokens: 9 }) },
  max_completion_tokens: { send: { max_completion_tokens: 9 }, asks: request({ maxTokens: 9 }) },
  n_indent: { send: { n_indent: 4 }, hides: /no indent/ },
  t_max_predict_ms: { send: { t_max_predict_ms: 1 }, hides: /no indent/ },
  repeat_last_n: { send: { repeat_last_n: -1 }, asks: request({ sampling: { repetitionRange: 4096 } }) },
  dry_sequence_breakers: {
    send: { dry_sequence_breakers: ['.'] },
    asks: request({ sampling: { dryBreakers: ['.'] } }),
  },
  dry_penalty_last_n: {
    beside: { dry_multiplier: 1 },
    send: { dry_penalty_last_n: 0 },
    asks: request({ sampling: { dryMultiplier: 0 } }),
  },
  samplers: {
    send: { samplers: ['temperature', 'top_k'] },
    asks: request({ sampling: { order: ['temperature', 'top-k'], topP: 1 } }),
  },
  ignore_eos: { send: { ignore_eos: true }, asks: request({ endTokens: 'ban' }) },
  logit_bias: {
    send: {
      logit_bias: [
        [5, -3],
        ['x', false],
      ],
    },
    asks: request({ logitBias: [[5, -3]], bannedTokens: [120] }),
  },
  grammar: { send: { grammar: gbnf }, asks: request({ grammar: { gbnf } }) },
  json_schema: { send: { json_schema: { type: 'object' } }, asks: request({ grammar: { gbnf: 'root ::= type' } }) },
  grammar_lazy: {
    beside: lazy,
    send: { grammar_lazy: true },
    asks: request({ grammar: { triggers: [{ type: 'word', text: 'x' }] } }),
  },
  grammar_triggers: {
    beside: { ...lazy, grammar_lazy: true },
    send: { grammar_triggers: [{ type: 3, value: 'y' }] },
    asks: request({ grammar: { triggers: [{ type: 'pattern', source: '^(?:y)$' }] } }),
  },
  stop: { send: { stop: ['x'] }, asks: request({ stop: ['x'] }) },
  stream: { send: { stream: true }, tells: /^data: .*"stop":false/ },
  n_probs: { send: { n_probs: 1 }, asks: request({ logprobs: 1 }), tells: /"top_logprobs":\[\{"id":73/ },
  logprobs: { send: { logprobs: 1 }, asks: request({ logprobs: 1 }), tells: /"top_logprobs":\[\{"id":73/ },
  post_sampling_probs: { beside: { n_probs: 1 }, send: { post_sampling_probs: true }, tells: /"top_probs"/ },
  return_tokens: { send: { return_tokens: true }, tells: /"tokens":\[72\]/ },
  response_fields: {
    send: { response_fields: ['generation_settings/n_predict'] },
    tells: /^\{"generation_settings\/n_predict":2048\}$/,
  },
  timings_per_token: { beside: { stream: true }, send: { timings_per_token: true }, tells: /"stop":false.*"timings"/ },
  return_progress: {
    beside: { stream: true },
    send: { return_progress: true },
    asks: request({ reportsProgress: true }),
    tells: /"prompt_progress"/,
  },
  n_cmpl: {
    beside: { seed: 5 },
    send: { n_cmpl: 2 },
    asks: request({ sampling: { seed: 6 } }),
    tells: /^\[.*"index":1/,
  },
  n: { beside: { seed: 5 }, send: { n: 2 }, asks: request({ sampling: { seed: 6 } }), tells: /^\[.*"index":1/ },
  cache_prompt: { send: { cache_prompt: false }, asks: request({ freshPrompt: true }) },
  lora: {
    send: { lora: [{ id: 0, scale: 1 }] },
    asks: request({ adapters: [{ adapter: 0, scale: 1 }] }),
    refuses: [{ lora: 1 }, { lora: [{ id: 0 }] }],
  },
};

const others: Readonly<Record<string, Readonly<Record<string, Proof>>>> = {
  'POST /completion': {
    prompt: { send: { prompt: 'Other' }, asks: request({ prompt: 'Other' }) },
    multimodal_data: {
      send: { prompt: { prompt_string: 'What is <__media__>?', multimodal_data: [png] } },
      asks: request({ media: [{ kind: 'image', base64: png }] }),
    },
    ...options,
  },
  'POST /infill': {
    input_prefix: { send: { input_prefix: 'BEFORE' }, asks: request({ prompt: expect.stringContaining('BEFORE') }) },
    input_suffix: { send: { input_suffix: 'BEHIND' }, asks: request({ prompt: expect.stringContaining('BEHIND') }) },
    input_extra: {
      send: { input_extra: [{ filename: 'a.ts', text: 'EXTRA' }] },
      asks: request({ prompt: expect.stringMatching(/a\.ts\nEXTRA/) }),
    },
    prompt: { send: { prompt: 'MIDDLE' }, asks: request({ prompt: expect.stringMatching(/MIDDLE$/) }) },
    ...options,
  },
  'POST /tokenize': {
    content: { send: { content: 'A' }, tells: /^\{"tokens":\[65\]\}$/ },
    add_special: { send: { add_special: true }, tells: /\[1,/ },
    parse_special: { beside: { content: '<s>' }, send: { parse_special: false }, tells: /\[60,115,62\]/ },
    with_pieces: { send: { with_pieces: true }, tells: /\{"id":72,"piece":"H"\}/ },
  },
  'POST /detokenize': { tokens: { send: { tokens: [65] }, tells: /"content":"A"/ } },
  'POST /apply-template': {
    messages: { send: { messages: ['m'] }, asks: { chat: { conversation: { messages: ['m'] } } } },
    tools: { send: { tools: ['t'] }, asks: { chat: { conversation: { tools: ['t'] } } } },
    chat_template_kwargs: { send: { chat_template_kwargs: { a: 1 } }, asks: { chat: { templateVariables: { a: 1 } } } },
  },
  'POST /embedding': {
    content: {
      send: { content: ['a', [1]] },
      asks: request({ inputs: ['a', [1]] }),
      refuses: [{ content: '' }, { content: [] }, { content: 5 }],
    },
    input: { send: { input: 'z' }, asks: request({ inputs: ['z'] }), refuses: [{ input: [null] }] },
    embd_normalize: { send: { embd_normalize: -1 }, tells: /"embedding":\[\[1,0,120,4\]\]/ },
    truncate: { send: { truncate: true }, asks: request({ truncate: true }) },
    pooling: {
      send: { pooling: 'none' },
      asks: request({ pooling: 'none' }),
      refuses: [{ pooling: 'rank' }, { pooling: 'most' }],
    },
    genkey: { send: { genkey: 'K1' }, asks: { requestContext: { genkey: 'K1' } } },
    model: { send: { model: 'mini.gguf' }, asks: { by: 'mini' } },
  },
  'POST /v1/rerank': {
    query: { send: { query: 'other' }, asks: request({ query: 'other' }), refuses: [{ query: '' }, { query: 5 }] },
    documents: {
      send: { documents: [{ text: 'x' }, 'y'] },
      asks: request({ documents: ['x', 'y'] }),
      refuses: [{ documents: [] }, { documents: 'x' }, { documents: [{}] }, { documents: [5] }],
    },
    texts: { send: { texts: ['x'] }, asks: request({ documents: ['x'] }), tells: /^\[\{"index":0,"score":/ },
    top_n: { send: { top_n: 1 }, hides: /"index":0/, refuses: [{ top_n: 0 }, { top_n: 'x' }] },
    return_documents: { send: { return_documents: true }, tells: /"document":\{"text":"bcd"\}/ },
    return_text: { beside: { texts: ['x'] }, send: { return_text: true }, tells: /"text":"x"/ },
    truncate: { send: { truncate: false }, asks: request({ truncate: false }) },
    genkey: { send: { genkey: 'K1' }, asks: { requestContext: { genkey: 'K1' } } },
    model: { send: { model: 'mini' }, asks: { by: 'mini' }, tells: /"model":"mini"/ },
  },
};

const bases: Readonly<Record<string, JsonObject>> = {
  'POST /completion': { prompt: 'Hi' },
  'POST /infill': { input_prefix: 'a', input_suffix: 'b' },
  'POST /tokenize': { content: 'Hi' },
  'POST /detokenize': { tokens: [72] },
  'POST /apply-template': { messages: [] },
  'POST /embedding': { input: 'x' },
  'POST /v1/rerank': { query: 'q', documents: ['a', 'bcd'] },
};

for (const table of fieldTables(llamacppEndpoints(llamacppParts()))) {
  // These two have tests of their own, in models.test.ts.
  if (!table.endpoint.startsWith('POST /models/')) prove(table);
}

function prove(table: EndpointFidelity): void {
  const [method = '', path = ''] = table.endpoint.split(' ');
  proveFidelity({
    table,
    base: bases[table.endpoint] ?? {},
    ask: asking(world, method, path),
    proofs: others[table.endpoint] ?? {},
    refusal: (reply) =>
      expect(reply).toEqual({
        error: { code: expect.any(Number), message: expect.any(String), type: expect.any(String) },
      }),
  });
}
