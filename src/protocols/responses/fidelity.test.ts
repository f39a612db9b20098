import { expect, test } from 'vitest';
import { noKey } from '../../core/owner.ts';
import { whole } from '../../core/slices.ts';
import type { JsonObject } from '../../http/body.ts';
import { type OwnResponses, ResponseStore } from '../../store/responses.ts';
import { ownDocuments } from '../documents/library.ts';
import { fieldTables } from '../fidelity/fidelity.ts';
import { bindAll } from '../testing/bind.ts';
import {
  dialectParts,
  emptyCollections,
  finishEvent,
  scriptedChat,
  scriptedText,
  seeing,
  startEvent,
} from '../testing/doubles.ts';
import { asking, type Proof, proveFidelity } from '../testing/fidelity-proof.ts';
import { responseState } from './background.ts';
import { sealSummary } from './compaction.ts';
import { decode } from './decode.ts';
import { responsesEndpoints } from './routes.ts';

const token = {
  token: 72,
  text: 'H',
  logprob: -0.5,
  bytes: [72],
  top: [{ token: 73, text: 'I', logprob: -1, bytes: [73] }],
};
const script = [
  startEvent(),
  { type: 'reasoning-delta', text: 'Hm' } as const,
  { type: 'text-delta', text: 'H', logprobs: [token] } as const,
  finishEvent(),
];

const said = (id: string, role: string, text: string) => ({
  id,
  type: 'message',
  role,
  content: [{ type: role === 'user' ? 'input_text' : 'output_text', text }],
});

/** One response is stored from the start. */
function world() {
  const counted: { request: object }[] = [];
  const { chat, asked } = scriptedChat(script, {
    countTokens: async (request) => {
      counted.push({ request });
      // Three messages are more than the context holds.
      return request.conversation.messages.length > 2 ? 9000 : 42;
    },
  });
  const times: { keep: number }[] = [];
  const keepFor = (keep: number): void => void times.push({ keep });
  const { text } = scriptedText([], { state: () => seeing(), keepFor });
  const store = new ResponseStore();
  const output = [said('msg_1', 'assistant', 'Earlier answer')];
  const response = { id: 'resp_0', object: 'response', status: 'completed', output };
  const input = [said('in_1', 'user', 'First'), said('in_2', 'user', 'Second')];
  const own = store.of(noKey);
  own.put({ id: 'resp_0', response, context: [], input, output });
  const kept: { kept: string }[] = [];
  const put: OwnResponses['put'] = (stored) => {
    kept.push({ kept: stored.id });
    return own.put(stored);
  };
  store.of = () => ({ ...own, put });
  return {
    endpoints: bindAll(
      responsesEndpoints(responseState(store), dialectParts({ documents: emptyCollections })),
      dialectParts({ text, chat }),
    ),
    get asked() {
      return [...kept, ...asked, ...(counted.length > 0 && asked.length === 0 ? counted : []), ...times];
    },
  };
}

const png = 'iVBORw0KGgo=';
const request = (value: object): object => ({ request: value });
const controls = (value: object): object => request({ controls: value });
const messages = (...all: readonly object[]): object => request({ conversation: { messages: all } });
const words = (text: string): object => ({ content: [{ type: 'text', text }] });
const schema = { type: 'object' };
const format = { type: 'json_schema', name: 's', schema };
const tools = [{ type: 'function', name: 'f', parameters: schema }];
const calling = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
const reasoning = { effort: 'low' };
const low = { reasoning: { effort: 'low' }, controls: { reasoning: { type: 'share', share: 0.25 } } };
const include = ['message.output_text.logprobs'];

const createProofs: Readonly<Record<string, Proof>> = {
  model: { send: { model: 'anything' }, same: true },
  input: {
    send: { input: [{ role: 'user', content: 'Other' }] },
    asks: messages({ role: 'user', ...words('Other') }),
  },
  'input[].content[]': {
    send: { input: [{ role: 'user', content: [{ type: 'input_image', image_url: `data:image/png;base64,${png}` }] }] },
    asks: request({ conversation: { media: [{ kind: 'image', base64: png }] } }),
  },
  'input[].output': {
    send: { input: [calling, { type: 'function_call_output', call_id: 'c', output: 'done' }] },
    asks: messages({ role: 'assistant' }, { role: 'tool', callId: 'c', ...words('done') }),
  },
  instructions: {
    send: { instructions: 'Be brief' },
    asks: messages({ role: 'system', ...words('Be brief') }, { role: 'user' }),
  },
  stream: { send: { stream: true }, tells: /^event: response\.created/ },
  previous_response_id: {
    send: { previous_response_id: 'resp_0' },
    asks: messages({}, {}, { role: 'assistant', ...words('Earlier answer') }, words('Hi')),
    refuses: [{ previous_response_id: 'resp_none' }],
  },
  store: { send: { store: false }, tells: /"store":false/ },
  max_output_tokens: { send: { max_output_tokens: 9 }, asks: controls({ maxTokens: 9 }) },
  temperature: { send: { temperature: 0.37 }, asks: controls({ sampling: { temperature: 0.37 } }) },
  top_p: { send: { top_p: 0.37 }, asks: controls({ sampling: { topP: 0.37 } }) },
  presence_penalty: { send: { presence_penalty: 0.37 }, asks: controls({ sampling: { presencePenalty: 0.37 } }) },
  frequency_penalty: { send: { frequency_penalty: 0.37 }, asks: controls({ sampling: { frequencyPenalty: 0.37 } }) },
  top_logprobs: { beside: { include }, send: { top_logprobs: 3 }, asks: controls({ logprobs: 3 }) },
  tools: { send: { tools }, asks: request({ conversation: { tools: [{ name: 'f' }] } }) },
  tool_choice: {
    beside: { tools },
    send: { tool_choice: 'required' },
    asks: request({ toolChoice: { type: expect.not.stringMatching('auto') } }),
  },
  parallel_tool_calls: { send: { parallel_tool_calls: false }, asks: request({ parallelToolCalls: false }) },
  'tools[]: web_search': {
    send: {
      tools: [
        {
          type: 'web_search_preview',
          filters: { allowed_domains: ['a.example'] },
          search_context_size: 'low',
          user_location: { type: 'approximate', country: 'IT' },
        },
      ],
    },
    asks: request({
      hosted: { search: { allowedDomains: ['a.example'], passageCharacters: 300, location: 'IT' }, itemized: true },
    }),
  },
  'tools[]: file_search': {
    send: { tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] },
    asks: request({ hosted: { documents: {}, marks: 'keep', itemized: true } }),
    refuses: [{ tools: [{ type: 'file_search', vector_store_ids: [] }] }],
  },
  'tools[]: mcp': {
    send: { tools: [{ type: 'mcp', server_label: 'a', server_url: 'mcpfile:a', require_approval: 'never' }] },
    asks: request({ hosted: { mcp: [{ name: 'a', url: 'mcpfile:a' }], itemized: true } }),
  },
  max_tool_calls: {
    beside: { tools: [{ type: 'web_search' }] },
    send: { max_tool_calls: 3 },
    asks: request({ hosted: { search: { maxUses: 3 } } }),
  },
  'text.format': { send: { text: { format } }, asks: request({ output: { type: 'schema', schema } }) },
  'text.verbosity': { send: { text: { verbosity: 'low' } } },
  'reasoning.effort': { send: { reasoning }, asks: request(low) },
  'reasoning.summary': { send: { reasoning: { summary: 'auto' } }, tells: /"summary":"auto"/ },
  include: { send: { include }, asks: controls({ logprobs: 0 }), tells: /"logprobs":\[\{"token":"H"/ },
  truncation: {
    beside: { input: ['One', 'Two', 'Three'].map((content) => ({ role: 'user', content })) },
    send: { truncation: 'auto' },
    asks: messages(words('Two'), words('Three')),
  },
  context_management: {
    send: { context_management: [{ type: 'compaction', compact_threshold: 9 }] },
    asks: request({ compaction: { trigger: 9, pause: false } }),
    refuses: [{ context_management: [{ type: 'forget' }] }, { context_management: {} }],
  },
  'input[]: compaction': {
    send: {
      input: [
        { role: 'user', content: 'Before' },
        { type: 'compaction', encrypted_content: sealSummary({ summary: 'We greeted.', keepsUsers: false }) },
      ],
    },
    asks: messages({ role: 'user', content: [{ type: 'text', text: expect.stringContaining('We greeted.') }] }),
    refuses: [{ input: [{ type: 'compaction', encrypted_content: 'x' }] }],
  },
  'input[]: compaction_trigger': {
    send: { input: [{ role: 'user', content: 'Hi' }, { type: 'compaction_trigger' }] },
    asks: request({ compaction: { trigger: 0, pause: true } }),
  },
  metadata: { send: { metadata: { a: 'b' } }, tells: /"metadata":\{"a":"b"\}/ },
  background: { send: { background: true }, tells: /"background":true/, refuses: [{ background: true, store: false }] },
  prompt_cache_key: { send: { prompt_cache_key: 'x' } },
  safety_identifier: { send: { safety_identifier: 'x' } },
  stop: { send: { stop: ['x'] }, asks: controls({ stop: ['x'] }) },
  reasoning_effort: { send: { reasoning_effort: 'low' }, asks: request(low) },
  thinking_budget_tokens: {
    beside: { reasoning },
    send: { thinking_budget_tokens: 9 },
    asks: controls({ reasoning: { type: 'tokens', tokens: 9 } }),
  },
  chat_template_kwargs: { send: { chat_template_kwargs: { a: 1 } }, asks: request({ templateVariables: { a: 1 } }) },
  continue_assistant_turn: {
    send: { continue_assistant_turn: false },
    asks: request({ continueAssistantTurn: false }),
  },
  encapsulate_thinking: { send: { encapsulate_thinking: false }, asks: request({ reasoning: { separate: false } }) },
  memory: { send: { memory: 'M' }, asks: request({ memory: 'M' }) },
  collections: {
    send: { collections: ['papers'] },
    asks: request({ hosted: { marks: 'keep' } }),
    refuses: [{ collections: 'papers' }, { collections: [1] }],
  },
  genkey: { send: { genkey: 'K1' }, asks: { requestContext: { genkey: 'K1' } } },
  ttl: { send: { ttl: 300 }, asks: { keep: 300_000 }, refuses: [{ ttl: -1 }, { ttl: '5m' }] },
  '(native sampling fields)': {
    send: { min_p: 0.37, rep_pen: 1.37, seed: 3 },
    asks: controls({ sampling: { minP: 0.37, repetitionPenalty: 1.37, seed: 3 } }),
  },
};

const proofs: Readonly<Record<string, Readonly<Record<string, Proof>>>> = {
  'POST /v1/responses': createProofs,
  'POST /v1/responses/compact': {
    model: { send: { model: 'anything' }, same: true },
    input: { send: { input: 'Other' }, asks: messages(words('Other')) },
    instructions: { send: { instructions: 'Be brief' }, asks: messages({ role: 'system' }, words('Hi')) },
    previous_response_id: {
      send: { previous_response_id: 'resp_0' },
      asks: messages(words('First'), words('Second'), words('Earlier answer'), words('Hi')),
      refuses: [{ previous_response_id: 'resp_9' }],
    },
  },
  'POST /v1/responses/input_tokens': {
    '(body)': {
      send: { input: 'Other', instructions: 'Be brief' },
      asks: messages({ role: 'system' }, words('Other')),
    },
  },
  'GET /v1/responses/{id}': {
    stream: { send: { stream: true }, tells: /^event: response\.created/ },
    starting_after: { beside: { stream: true }, send: { starting_after: 3 } },
  },
  'GET /v1/responses/{id}/input_items': {
    limit: { send: { limit: 1 }, hides: /First/ },
    order: { send: { order: 'asc' }, tells: /First.*Second/ },
    after: { send: { after: 'in_2' }, hides: /Second/ },
  },
};

const bases: Readonly<Record<string, JsonObject>> = {
  'POST /v1/responses': { input: 'Hi' },
  'POST /v1/responses/compact': { input: 'Hi' },
  'POST /v1/responses/input_tokens': { input: 'Hi' },
};

const tables = fieldTables(responsesEndpoints(responseState(), dialectParts()));
for (const table of tables) {
  const [method = '', path = ''] = table.endpoint.replace('{id}', 'resp_0').split(' ');
  proveFidelity({
    table,
    base: bases[table.endpoint] ?? {},
    ask: asking(world, method, path),
    proofs: proofs[table.endpoint] ?? {},
    refusal: (reply) =>
      expect(reply).toMatchObject({ error: { message: expect.any(String), type: expect.any(String) } }),
  });
}

test('fidelity table: documents every field that a response returns', () => {
  const { response } = whole(
    decode({ input: 'Hi' }, { ...dialectParts(), store: new ResponseStore().of(''), own: ownDocuments({}, {}) }),
  );
  const made = [
    'id',
    'object',
    'created_at',
    'completed_at',
    'status',
    'error',
    'incomplete_details',
    'output',
    'usage',
  ];
  const explained = new Set([...made, ...(tables[0]?.fields ?? []).map(({ field }) => field.split('.')[0])]);
  expect(Object.keys(response).filter((field) => !explained.has(field))).toEqual([]);
});
