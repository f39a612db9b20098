import { expect } from 'vitest';
import type { JsonObject } from '../../http/body.ts';
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
import { messagesEndpoints } from './routes.ts';

const script = [startEvent(), { type: 'text-delta', text: 'Hello' } as const, finishEvent()];

function world() {
  const counted: { request: object }[] = [];
  const { chat, asked } = scriptedChat(script, {
    countTokens: async (request) => {
      counted.push({ request });
      return 42;
    },
  });
  const { text } = scriptedText([], { state: () => seeing() });
  // Ids count up, which would make two replies differ that are the same.
  const parts = dialectParts({ text, chat, newId: (prefix) => `${prefix}1`, documents: emptyCollections });
  return {
    endpoints: bindAll(messagesEndpoints(parts), parts),
    get asked() {
      return [...asked, ...counted];
    },
  };
}

const png = 'iVBORw0KGgo=';
const user = { role: 'user', content: 'Hi' };
const tools = [{ name: 'f', input_schema: { type: 'object' } }];
const calling = { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: { a: 1 } }] };
const request = (value: object): object => ({ request: value });
const conversation = (...messages: readonly object[]): object => request({ conversation: { messages } });
const sends = (...content: readonly object[]): JsonObject => ({ messages: [{ role: 'user', content }] });
const words = (text: string | RegExp): object => ({
  content: [{ type: 'text', text: typeof text === 'string' ? text : expect.stringMatching(text) }],
});
const schema = { type: 'object', properties: {} };
const format = { type: 'json_schema', schema };
const low = { reasoning: { effort: 'low' }, controls: { reasoning: { type: 'share', share: 0.25 } } };

const search = { type: 'web_search_20250305', name: 'web_search' };
const fetching = { type: 'web_fetch_20250910', name: 'web_fetch' };
const searched = {
  role: 'assistant',
  content: [
    { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'cats' } },
    {
      type: 'web_search_tool_result',
      tool_use_id: 's',
      content: [{ type: 'web_search_result', url: 'https://a.example/', title: 'A', encrypted_content: '' }],
    },
  ],
};

const proofs: Readonly<Record<string, Proof>> = {
  'messages[].content[]: server_tool_use and results': {
    send: { messages: [user, searched, user] },
    asks: conversation(
      { role: 'user' },
      { role: 'assistant', toolCalls: [{ name: 'web_search' }] },
      { role: 'tool', toolName: 'web_search', ...words(/^\[1\] A\nhttps:/) },
      { role: 'user' },
    ),
  },
  mcp_servers: {
    send: {
      mcp_servers: [{ type: 'url', name: 'x', url: 'mcpfile:x' }],
      tools: [{ type: 'mcp_toolset', mcp_server_name: 'x' }],
    },
    asks: request({ hosted: { mcp: [{ name: 'x', url: 'mcpfile:x' }] } }),
    refuses: [
      { mcp_servers: [{ type: 'url', name: 'x' }] },
      { tools: [{ type: 'mcp_toolset', mcp_server_name: 'y' }] },
    ],
  },
  'tools[]: web_search_*': {
    send: { tools: [{ ...search, max_uses: 2, allowed_domains: ['a.example'], user_location: { city: 'Rome' } }] },
    asks: request({ hosted: { search: { maxUses: 2, allowedDomains: ['a.example'], location: 'Rome' } } }),
    refuses: [
      { tools: [{ ...search, allowed_domains: ['a'], blocked_domains: ['b'] }] },
      { tools: [{ ...search, max_uses: 0 }] },
      { tools: [search, { name: 'web_search', input_schema: {} }] },
    ],
  },
  'tools[]: web_fetch_*': {
    send: { tools: [{ ...fetching, max_content_tokens: 100, blocked_domains: ['a.example'] }] },
    asks: request({ hosted: { fetch: { maxContentTokens: 100, blockedDomains: ['a.example'] } } }),
    refuses: [{ tools: [{ ...fetching, max_content_tokens: 'x' }] }],
  },
  model: { send: { model: 'anything' }, same: true },
  messages: {
    send: { messages: [user, { role: 'user', content: 'there' }] },
    asks: conversation(words(/Hi[\s\S]*there/)),
    refuses: [{ messages: [] }],
  },
  'messages[].role: system': {
    send: { messages: [{ role: 'system', content: 'Be brief' }, user] },
    asks: conversation({ role: 'system', ...words('Be brief') }, { role: 'user' }),
  },
  'messages[]: last one of the assistant': {
    send: { messages: [user, { role: 'assistant', content: 'It' }] },
    asks: conversation({ role: 'user' }, { role: 'assistant', ...words('It') }),
  },
  'messages[].content[]: text': { send: sends({ type: 'text', text: 'Other' }), asks: conversation(words('Other')) },
  'messages[].content[]: image': {
    send: sends({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }),
    asks: request({ conversation: { media: [{ kind: 'image', base64: png }] } }),
    refuses: [sends({ type: 'image', source: { type: 'file', file_id: 'f1' } })],
  },
  'messages[].content[]: document': {
    send: sends({ type: 'document', title: 'Log', source: { type: 'text', media_type: 'text/plain', data: 'Day 1' } }),
    asks: conversation(words(/Log[\s\S]*Day 1/)),
    refuses: [sends({ type: 'document', source: { type: 'url', url: 'https://a.example/b.pdf' } })],
  },
  'messages[].content[]: search_result': {
    send: sends({ type: 'search_result', title: 'T', source: 'S', content: [{ type: 'text', text: 'found' }] }),
    asks: conversation(words(/T[\s\S]*S[\s\S]*found/)),
  },
  'messages[].content[]: compaction': {
    send: {
      messages: [
        { role: 'user', content: 'Before' },
        ...(sends({ type: 'compaction', content: 'We greeted.' }).messages as object[]),
      ],
    },
    asks: conversation(words(/<summary>\nWe greeted\./)),
    refuses: [sends({ type: 'compaction', content: '' })],
  },
  'messages[].content[]: tool_reference': {
    send: sends({ type: 'tool_reference', tool_name: 'f' }),
    asks: conversation(words('Tool found: f')),
  },
  'messages[].content[]: tool_use': {
    send: { messages: [user, calling, { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c' }] }] },
    asks: conversation({}, { toolCalls: [{ id: 'c', name: 'f', json: '{"a":1}' }] }, {}),
  },
  'messages[].content[]: tool_result': {
    send: {
      messages: [
        user,
        calling,
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'broke', is_error: true }] },
      ],
    },
    asks: conversation({}, {}, { role: 'tool', callId: 'c', ...words(/^Error:[\s\S]*broke/) }),
  },
  'messages[].content[]: thinking': {
    send: {
      messages: [
        user,
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm', signature: 's' },
            { type: 'text', text: 'a' },
          ],
        },
        user,
      ],
    },
    asks: conversation({}, { role: 'assistant', reasoning: 'Hm' }, {}),
  },
  'messages[].content[]: redacted_thinking': passedOver('redacted_thinking'),
  'messages[].content[]: other kinds': passedOver('hologram'),
  system: {
    send: { system: [{ type: 'text', text: 'Be brief' }] },
    asks: conversation({ role: 'system', ...words('Be brief') }, { role: 'user' }),
  },
  tools: { send: { tools }, asks: request({ conversation: { tools: [{ name: 'f' }] } }) },
  tool_choice: {
    beside: { tools },
    send: { tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    asks: request({ parallelToolCalls: false }),
  },
  thinking: {
    send: { thinking: { type: 'enabled', budget_tokens: 9 } },
    asks: request({
      controls: { reasoning: { type: 'tokens', tokens: 9 } },
      templateVariables: { enable_thinking: true },
    }),
  },
  'output_config.effort': { send: { output_config: { effort: 'low' } }, asks: request(low) },
  'output_config.format': {
    send: { output_config: { format } },
    asks: request({ output: { type: 'schema', schema } }),
  },
  output_format: { send: { output_format: format }, asks: request({ output: { type: 'schema', schema } }) },
  context_management: {
    send: { context_management: { edits: [] } },
    tells: /"context_management":/,
    refuses: [{ context_management: { edits: [{ type: 'forget' }] } }],
  },
  'context_management.edits[]: clear_tool_uses_20250919': {
    beside: { messages: [user, calling, { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c' }] }] },
    send: {
      context_management: {
        edits: [
          {
            type: 'clear_tool_uses_20250919',
            trigger: { type: 'tool_uses', value: 0 },
            keep: { type: 'tool_uses', value: 0 },
          },
        ],
      },
    },
    asks: conversation({}, {}, words(/cleared/)),
  },
  'context_management.edits[]: compact_20260112': {
    send: {
      context_management: { edits: [{ type: 'compact_20260112', trigger: { type: 'input_tokens', value: 9 } }] },
    },
    asks: request({ compaction: { trigger: 9, pause: false } }),
  },
  compaction: {
    send: { compaction: { type: 'summarize', instructions: 'In verse.' } },
    asks: request({ compaction: { pause: true, instructions: { text: 'In verse.', replace: true } } }),
    refuses: [{ compaction: { type: 'forget' } }],
  },
  'context_management.edits[]: clear_thinking_20251015': {
    beside: {
      messages: [
        user,
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm' },
            { type: 'text', text: 'a' },
          ],
        },
        user,
      ],
    },
    send: {
      context_management: {
        edits: [{ type: 'clear_thinking_20251015', keep: { type: 'thinking_turns', value: 0 } }],
      },
    },
    asks: conversation({}, expect.not.objectContaining({ reasoning: 'Hm' }), {}),
  },
  max_tokens: { send: { max_tokens: 9 }, asks: request({ controls: { maxTokens: 9 } }) },
  stream: { send: { stream: true }, tells: /^event: message_start/ },
  temperature: { send: { temperature: 0.37 }, asks: request({ controls: { sampling: { temperature: 0.37 } } }) },
  top_p: { send: { top_p: 0.37 }, asks: request({ controls: { sampling: { topP: 0.37 } } }) },
  top_k: { send: { top_k: 3 }, asks: request({ controls: { sampling: { topK: 3 } } }) },
  stop_sequences: { send: { stop_sequences: ['', 'x'] }, asks: request({ controls: { stop: ['x'] } }) },
  genkey: { send: { genkey: 'K1' }, asks: { requestContext: { genkey: 'K1' } } },
  memory: { send: { memory: 'M' }, asks: request({ memory: 'M' }) },
  collections: {
    send: { collections: ['papers'] },
    asks: request({ hosted: { marks: 'strip' } }),
    refuses: [{ collections: 'papers' }, { collections: [1] }],
  },
  'sampling controls of the native API': {
    send: { min_p: 0.37, rep_pen: 1.37, seed: 3 },
    asks: request({ controls: { sampling: { minP: 0.37, repetitionPenalty: 1.37, seed: 3 } } }),
  },
};

function passedOver(type: string): Proof {
  return { send: sends({ type: 'text', text: 'Hi' }, { type, data: 'x' }), named: 'messages[0].content[1]' };
}

for (const table of fieldTables(messagesEndpoints(dialectParts()))) {
  const [method = '', path = ''] = table.endpoint.split(' ');
  const known = new Set(table.fields.map(({ field }) => field));
  const own = table.fields.some(({ field, handling }) => field === 'max_tokens' && handling === 'ignored')
    ? { ...proofs, max_tokens: { send: { max_tokens: 9 } } }
    : proofs;
  proveFidelity({
    table,
    base: { messages: [user] },
    ask: asking(world, method, path),
    proofs: Object.fromEntries(Object.entries(own).filter(([name]) => known.has(name))),
    refusal: (reply) =>
      expect(reply).toMatchObject({ type: 'error', error: { type: expect.any(String), message: expect.any(String) } }),
  });
}
