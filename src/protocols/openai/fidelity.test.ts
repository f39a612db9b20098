import { expect } from 'vitest';
import type { InstructText } from '../../chat/placeholders.ts';
import type { EndpointFidelity } from '../../core/fidelity.ts';
import type { JsonObject } from '../../http/body.ts';
import { fieldTables } from '../fidelity/fidelity.ts';
import { bindAll } from '../testing/bind.ts';
import {
  dialectParts,
  emptyCollections,
  finishEvent,
  readyState,
  scriptedChat,
  scriptedText,
  startEvent,
} from '../testing/doubles.ts';
import { listProofs, scriptedOthers } from '../testing/embedding.ts';
import { asking, type Proof, proveFidelity } from '../testing/fidelity-proof.ts';
import { openaiEndpoints } from './routes.ts';

const token = {
  token: 72,
  text: 'H',
  logprob: -0.5,
  bytes: [72],
  top: [{ token: 73, text: 'I', logprob: -1, bytes: [73] }],
};
const scored = { ...token, rank: 1, inPrompt: true };
const script = [
  startEvent(),
  { type: 'prompt-logprobs', tokens: [scored] } as const,
  { type: 'text-delta', text: 'H', logprobs: [token] } as const,
  finishEvent(),
];

function world() {
  const fillMarks = { prefix: '<P>', suffix: '<S>', middle: '<M>' };
  const inputs = { image: true, audio: true };
  const times: { keep: number }[] = [];
  const keepFor = (keep: number): void => void times.push({ keep });
  const { text, asked } = scriptedText(script, { state: () => readyState({ inputs, fillMarks }), keepFor });
  const counted: { request: object }[] = [];
  const { chat, asked: chats } = scriptedChat(script, {
    countTokens: async (request) => {
      counted.push({ request });
      return 42;
    },
  });
  const replacePlaceholders = ({ prompt, ...rest }: InstructText) => ({
    ...rest,
    prompt: prompt.replace('{{[INPUT]}}', 'User:'),
  });
  const embedding = scriptedOthers();
  const parts = {
    ...dialectParts({ text, chat, taskServices: embedding.taskServices, documents: emptyCollections }),
    replacePlaceholders,
  };
  return {
    endpoints: bindAll(openaiEndpoints(parts), parts),
    get asked() {
      return [...asked, ...chats, ...counted, ...times, ...embedding.asked];
    },
  };
}

const png = 'iVBORw0KGgo=';
const wav = Buffer.from('RIFF\0\0\0\0WAVEfmt ').toString('base64');
const user = { role: 'user', content: 'Hi' };
const definition = { name: 'f', parameters: { type: 'object', properties: {} } };
const tools = [{ type: 'function', function: definition }];
const schema = { type: 'object' };
const request = (value: object): object => ({ request: value });
const parts = (...content: readonly object[]): JsonObject => ({ messages: [{ role: 'user', content }] });
const media = (kind: string, base64: string): object => request({ conversation: { media: [{ kind, base64 }] } });
const result = (content: string): JsonObject => ({
  messages: [user, { role: 'tool', tool_call_id: 'c', content }],
});

/** Where an endpoint keeps the controls: chats beside their conversation, texts in the request itself. */
type Controls = (value: object) => object;

const generation = (controls: Controls): Readonly<Record<string, Proof>> => ({
  model: { send: { model: 'anything' }, same: true },
  stream: { send: { stream: true }, tells: /^data: / },
  stream_options: {
    beside: { stream: true },
    send: { stream_options: { include_usage: true } },
    tells: /"usage":\{/,
  },
  max_tokens: { send: { max_tokens: 9 }, asks: controls({ maxTokens: 9 }) },
  max_completion_tokens: {
    beside: { max_tokens: 5 },
    send: { max_completion_tokens: 9 },
    asks: controls({ maxTokens: 9 }),
  },
  n_predict: { send: { n_predict: 9 }, asks: controls({ maxTokens: 9 }) },
  stop: { send: { stop: 'x' }, asks: controls({ stop: ['x'] }) },
  temperature: { send: { temperature: 0.37 }, asks: controls({ sampling: { temperature: 0.37 } }) },
  top_p: { send: { top_p: 0.37 }, asks: controls({ sampling: { topP: 0.37 } }) },
  presence_penalty: { send: { presence_penalty: -9 }, asks: controls({ sampling: { presencePenalty: -2 } }) },
  frequency_penalty: { send: { frequency_penalty: 9 }, asks: controls({ sampling: { frequencyPenalty: 2 } }) },
  seed: { send: { seed: 3 }, asks: controls({ sampling: { seed: 3 } }) },
  logit_bias: { send: { logit_bias: { 5: -3 } }, asks: controls({ logitBias: [[5, -3]] }) },
  timings_per_token: { beside: { stream: true }, send: { timings_per_token: true }, tells: /"timings".*"timings"/s },
  return_progress: {
    beside: { stream: true },
    send: { return_progress: true },
    asks: controls({ reportsProgress: true }),
    tells: /"prompt_progress"/,
  },
  grammar: { send: { grammar: 'root ::= "a"' }, asks: controls({ grammar: { gbnf: 'root ::= "a"' } }) },
  genkey: { send: { genkey: 'K1' }, asks: { requestContext: { genkey: 'K1' } } },
  ttl: { send: { ttl: 300 }, asks: { keep: 300_000 } },
  kcpp_extra_args: {
    beside: { genkey: 'K1' },
    send: { kcpp_extra_args: { keep_text_gen_on_disconnect: true } },
    asks: { requestContext: { survivesDisconnect: true } },
  },
  cache_prompt: { send: { cache_prompt: false }, asks: controls({ freshPrompt: true }) },
  logprobs: { send: { logprobs: true }, tells: /"logprobs":\{/ },
  prompt_logprobs: {
    send: { prompt_logprobs: 2 },
    asks: controls({ promptLogprobs: 2 }),
    tells: /"prompt_logprobs":\[\{"72":/,
    refuses: [{ prompt_logprobs: 2, stream: true }],
  },
});

const reasoning = (effort: string | undefined, budget: object): object =>
  request({ ...(effort === undefined ? {} : { reasoning: { effort } }), controls: { reasoning: budget } });
const low = { type: 'share', share: 0.25 };
const nine = { type: 'tokens', tokens: 9 };

const chatProofs: Readonly<Record<string, Proof>> = {
  ...generation((controls) => request({ controls })),
  web_search_options: {
    send: {
      web_search_options: {
        search_context_size: 'low',
        user_location: { type: 'approximate', approximate: { city: 'Rome', country: 'IT' } },
      },
    },
    asks: request({ hosted: { search: { passageCharacters: 300, location: 'Rome, IT' } } }),
  },
  messages: {
    send: { messages: [{ role: 'developer', content: 'Be brief' }, user] },
    asks: request({ conversation: { messages: [{ role: 'system' }, { role: 'user' }] } }),
  },
  'messages[].content[]: text': {
    send: parts({ type: 'text', text: 'Other' }),
    asks: request({ conversation: { messages: [{ content: [{ type: 'text', text: 'Other' }] }] } }),
  },
  'messages[].content[]: refusal': {
    send: parts({ type: 'refusal', refusal: 'No' }),
    asks: request({ conversation: { messages: [{ content: [{ type: 'text', text: 'No' }] }] } }),
  },
  'messages[].content[]: image_url': {
    send: parts({ type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } }),
    asks: media('image', png),
  },
  'messages[].content[]: image': { send: parts({ type: 'image', data: png }), asks: media('image', png) },
  'messages[].content[]: input_audio': {
    send: parts({ type: 'input_audio', input_audio: { data: wav, format: 'wav' } }),
    asks: media('audio', wav),
  },
  'messages[].content[]: file': {
    send: parts({ type: 'file', file: { filename: 'a.png', file_data: `data:image/png;base64,${png}` } }),
    asks: media('image', png),
  },
  'messages[].content[]: other kinds': { send: parts({ type: 'hologram' }) },
  'messages[].content of tools': {
    send: result(JSON.stringify({ content: [{ type: 'image', data: png, mimeType: 'image/png' }] })),
    asks: media('image', png),
  },
  'messages[].name': { send: { messages: [{ ...user, name: 'Ann' }] } },
  memory: { send: { memory: 'M' }, asks: request({ memory: 'M' }) },
  collections: {
    send: { collections: ['papers'] },
    asks: request({ hosted: { marks: 'keep' } }),
  },
  n: { send: { n: 2 }, tells: /"index":1/ },
  top_logprobs: { beside: { logprobs: true }, send: { top_logprobs: 3 }, asks: request({ controls: { logprobs: 3 } }) },
  response_format: { send: { response_format: { type: 'json_object' } }, asks: request({ output: { type: 'json' } }) },
  json_schema: { send: { json_schema: schema }, asks: request({ output: { type: 'schema', schema } }) },
  tools: { send: { tools }, asks: request({ conversation: { tools: [{ name: 'f' }] } }) },
  tool_choice: { beside: { tools }, send: { tool_choice: 'none' }, asks: request({ toolChoice: { type: 'none' } }) },
  parallel_tool_calls: {
    beside: { tools },
    send: { parallel_tool_calls: false },
    asks: request({ parallelToolCalls: false }),
  },
  functions: { send: { functions: [definition] }, asks: request({ conversation: { tools: [{ name: 'f' }] } }) },
  function_call: {
    beside: { functions: [definition] },
    send: { function_call: 'none' },
    asks: request({ toolChoice: { type: 'none' } }),
  },
  reasoning_effort: { send: { reasoning_effort: 'low' }, asks: reasoning('low', low) },
  reasoning: { send: { reasoning: { effort: 'low' } }, asks: reasoning('low', low) },
  chat_template_kwargs: { send: { chat_template_kwargs: { a: 1 } }, asks: request({ templateVariables: { a: 1 } }) },
  reasoning_format: { send: { reasoning_format: 'none' }, asks: request({ reasoning: { separate: false } }) },
  encapsulate_thinking: { send: { encapsulate_thinking: false }, asks: request({ reasoning: { separate: false } }) },
  thinking_budget_tokens: { send: { thinking_budget_tokens: 9 }, asks: reasoning(undefined, nine) },
  reasoning_budget_tokens: { send: { reasoning_budget_tokens: 9 }, asks: reasoning(undefined, nine) },
  continue_assistant_turn: {
    send: { continue_assistant_turn: false },
    asks: request({ continueAssistantTurn: false }),
  },
  continue_final_message: { send: { continue_final_message: false }, asks: request({ continueAssistantTurn: false }) },
  add_generation_prompt: { send: { add_generation_prompt: true }, asks: request({ continueAssistantTurn: false }) },
  modalities: { send: { modalities: ['text'] }, same: true, refuses: [{ modalities: ['text', 'audio'] }] },
  service_tier: { send: { service_tier: 'priority' }, tells: /"service_tier":"default"/ },
};

const completionProofs: Readonly<Record<string, Proof>> = {
  ...generation(request),
  prompt: { send: { prompt: [65, 66] }, asks: request({ prompt: 'AB', promptTokens: [65, 66] }) },
  images: { send: { images: [png] }, asks: request({ media: [{ kind: 'image', base64: png }] }) },
  audio: { send: { audio: [wav] }, asks: request({ media: [{ kind: 'audio', base64: wav }] }) },
  memory: { send: { memory: 'M' }, asks: request({ memory: 'M' }) },
  n: { send: { n: 2 }, tells: /"index":1/ },
  replace_instruct_placeholders: {
    beside: { prompt: '{{[INPUT]}}Hi' },
    send: { replace_instruct_placeholders: false },
    asks: request({ prompt: '{{[INPUT]}}Hi' }),
  },
  best_of: { send: { best_of: 3 }, asks: request({ logprobs: 0 }) },
  echo: { send: { echo: true }, tells: /"text":"HiH"/ },
  suffix: {
    send: { suffix: 'end' },
    asks: request({ prompt: '<P>Hi<S>end<M>' }),
    refuses: [
      { suffix: 'end', prompt: [65] },
      { suffix: 'end', echo: true, logprobs: 0 },
    ],
  },
  reasoning_effort: { send: { reasoning_effort: 'low' }, asks: request({ reasoning: low }) },
  thinking_budget_tokens: { send: { thinking_budget_tokens: 9 }, asks: request({ reasoning: nine }) },
};

const proofs: Readonly<Record<string, Readonly<Record<string, Proof>>>> = {
  'POST /v1/chat/completions': chatProofs,
  'POST /v1/completions': completionProofs,
  'POST /v1/embeddings': listProofs(false),
};

const bases: Readonly<Record<string, JsonObject>> = {
  'POST /v1/completions': { prompt: 'Hi' },
  'POST /v1/embeddings': { input: 'x' },
};

for (const table of fieldTables(openaiEndpoints(dialectParts()))) {
  // Proved beside the code of the folder audio.
  if (!table.endpoint.startsWith('POST /v1/audio/')) prove(table);
}

function prove(table: EndpointFidelity): void {
  const [method = '', path = ''] = table.endpoint.split(' ');
  const known = new Set(table.fields.map(({ field }) => field));
  // To count is to read a chat: what shows in the prompt of one shows in that of the other.
  const own =
    proofs[table.endpoint] ?? Object.fromEntries(Object.entries(chatProofs).filter(([name]) => known.has(name)));
  proveFidelity({
    table,
    base: bases[table.endpoint] ?? { messages: [user] },
    ask: asking(world, method, path),
    proofs: own,
    refusal: (reply) =>
      expect(reply).toEqual({
        error: {
          message: expect.any(String),
          type: expect.any(String),
          param: expect.anything(),
          code: table.endpoint === 'POST /v1/embeddings' ? null : expect.anything(),
        },
      }),
  });
}
