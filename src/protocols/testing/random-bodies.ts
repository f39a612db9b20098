import fc from 'fast-check';
import { anyCharacter } from '../../core/testing/any-character.ts';

/** A request as a broken, careless or hostile client sends it: a good one that something happened to. */
export interface MutatedRequest {
  readonly path: string;
  readonly body: string;
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const called = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{"city":"Rome"}' } };
const chatTool = { type: 'function', function: { name: 'look', description: 'Looks', parameters } };
const sampling = { temperature: 0.7, top_p: 0.9, top_k: 40, min_p: 0.05, seed: 3, stop: ['END'], rep_pen: 1.1 };

/** Good bodies with as many fields as possible, so that there is much to go wrong. */
export const goodBodies: Readonly<Record<string, { [key: string]: Json }>> = {
  '/v1/chat/completions': {
    model: 'x',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      { role: 'assistant', content: null, tool_calls: [called] },
      { role: 'tool', tool_call_id: 'c1', content: '{"content":[{"type":"text","text":"sunny"}]}' },
      { role: 'user', content: 'And now?', name: 'Ann' },
    ],
    tools: [chatTool],
    tool_choice: 'none',
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema: parameters } },
    stream_options: { include_usage: true },
    logit_bias: { 5: -1 },
    logprobs: true,
    top_logprobs: 2,
    n: 1,
    max_tokens: 4,
    reasoning_effort: 'low',
    chat_template_kwargs: { enable_thinking: false },
    ...sampling,
  },
  '/v1/completions': {
    prompt: 'Once',
    suffix: null,
    echo: true,
    best_of: 1,
    n: 1,
    max_tokens: 4,
    ...sampling,
  },
  '/v1/messages': {
    model: 'x',
    max_tokens: 4,
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: '' },
          { type: 'tool_use', id: 't1', name: 'look', input: { city: 'Rome' } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'sunny', is_error: false }] },
    ],
    tools: [{ name: 'look', description: 'Looks', input_schema: parameters }],
    tool_choice: { type: 'none' },
    thinking: { type: 'disabled' },
    stop_sequences: ['END'],
    metadata: { user_id: 'u' },
    temperature: 0.5,
  },
  '/v1/messages/count_tokens': { model: 'x', messages: [{ role: 'user', content: 'Hi' }], system: 'Be brief.' },
  '/v1/responses': {
    model: 'x',
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }] },
      { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'sunny' },
    ],
    instructions: 'Be brief.',
    tools: [{ type: 'function', name: 'look', parameters, strict: true }],
    tool_choice: 'none',
    text: { format: { type: 'text' }, verbosity: 'low' },
    reasoning: { effort: 'low', summary: 'auto' },
    include: ['message.output_text.logprobs'],
    max_output_tokens: 4,
    truncation: 'auto',
    store: false,
    metadata: { a: 'b' },
    top_logprobs: 2,
  },
  '/api/chat': {
    model: 'x',
    messages: [
      { role: 'user', content: 'Hi', images: [] },
      { role: 'assistant', content: '', tool_calls: [{ function: { name: 'look', arguments: { city: 'Rome' } } }] },
      { role: 'tool', content: 'sunny', tool_name: 'look' },
    ],
    tools: [],
    format: parameters,
    think: false,
    keep_alive: '5m',
    options: { num_predict: 4, num_ctx: 512, stop: ['END'], seed: 1, temperature: 0.1 },
  },
  '/api/generate': {
    model: 'x',
    prompt: 'Once',
    system: 'Be brief.',
    template: '{{ .System }}{{ .Prompt }}',
    context: [1, 2],
    raw: false,
    options: { num_predict: 4 },
  },
  '/api/v1/generate': {
    prompt: 'Once',
    memory: 'Long ago.',
    max_length: 4,
    max_context_length: 512,
    stop_sequence: ['END'],
    sampler_order: [6, 0, 1, 3, 4, 2, 5],
    banned_tokens: ['x'],
    logit_bias: { 5: 1 },
    dry_multiplier: 0.8,
    dry_sequence_breakers: ['\n'],
    xtc_probability: 0.1,
    mirostat: 0,
    grammar: '',
    genkey: 'k',
    sampler_seed: 3,
    ...sampling,
  },
  '/api/extra/generate/stream': { prompt: 'Once', max_length: 4 },
  '/api/extra/tokencount': { prompt: 'Once', special: true },
  '/api/extra/detokenize': { ids: [72, 105] },
  '/api/extra/json_to_grammar': { schema: parameters },
  '/completion': {
    prompt: ['Once', 7, 'upon'],
    n_predict: 4,
    samplers: ['top_k', 'temperature'],
    logit_bias: [[5, -1]],
    n_probs: 2,
    json_schema: parameters,
    response_fields: ['content', 'stop', 'timings/prompt_n'],
    cache_prompt: true,
    ...sampling,
  },
  '/tokenize': { content: 'Once', add_special: true, with_pieces: true },
  '/detokenize': { tokens: [72, 105] },
  '/v1/embeddings': {
    model: 'x',
    input: ['Hi', [72, 105]],
    encoding_format: 'base64',
    dimensions: 2,
    truncate: true,
    user: 'me',
  },
  '/api/extra/embeddings': { input: 'Hi', truncate: true },
  '/api/embed': { model: 'x', input: ['Hi'], truncate: true, dimensions: 2, keep_alive: '5m', options: { num_ctx: 9 } },
  '/api/embeddings': { model: 'x', prompt: 'Hi', keep_alive: 5 },
  '/embedding': { content: ['Hi', [72]], embd_normalize: 2, pooling: 'none' },
  '/v1/rerank': { model: 'x', query: 'Hi', documents: ['a', { text: 'b' }], top_n: 1, return_documents: true },
  '/apply-template': { messages: [{ role: 'user', content: 'Hi' }] },
};

/** Values at the edges of what JSON and clients can say. */
export const strangeNumbers = [
  0,
  -0,
  -1,
  1e308,
  -1e308,
  5e-324,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 53,
  1e21,
  0.1,
  -0.5,
  128_000,
];
export const strangeTexts = [
  '',
  'NaN',
  'Infinity',
  '-1',
  '1e999',
  'null',
  '[object Object]',
  '\u0000',
  '\ud800',
  '\udc00\ud800',
  '\uffff\ufffe',
  '\r\nx-injected: 1',
  'data:image/png;base64,AAAA',
  'http://127.0.0.1:1/x.png',
  '{{[INPUT]}}{{[OUTPUT]}}',
  '{% for a in b %}',
  '🙂'.repeat(50),
];
const strangeValues: readonly Json[] = [null, true, false, [], {}, [[]], [null], [{}], { a: null }, picture];

const scalar: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom(...strangeNumbers),
  fc.constantFrom(...strangeTexts),
  fc.constantFrom(...strangeValues),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.string({ unit: anyCharacter, maxLength: 20 }),
);
const value: fc.Arbitrary<Json> = fc.oneof(
  { weight: 8, arbitrary: scalar },
  { weight: 2, arbitrary: fc.array(scalar, { maxLength: 4 }) },
  { weight: 1, arbitrary: fc.dictionary(fc.string({ maxLength: 6 }), scalar, { maxKeys: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom<Json>(Array(3000).fill(0), Array(3000).fill('x'), Array(3000).fill(null)) },
);

/** What happens to a body: at the place that the numbers lead to, a value becomes another, goes, doubles or is wrapped. */
interface Mutation {
  readonly way: readonly number[];
  readonly kind: 'replace' | 'delete' | 'double' | 'wrap' | 'in-object' | 'many' | 'prototype';
  readonly value: Json;
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  way: fc.array(fc.nat({ max: 50 }), { minLength: 1, maxLength: 6 }),
  kind: fc.oneof(
    { weight: 6, arbitrary: fc.constant('replace' as const) },
    fc.constantFrom('delete' as const, 'double' as const, 'wrap' as const),
    fc.constantFrom('in-object' as const, 'many' as const, 'prototype' as const),
  ),
  value,
});

function mutated(body: Json, { way: [next, ...rest], kind, value: strange }: Mutation): Json {
  if (typeof body === 'object' && body !== null && next !== undefined) {
    const entries: [string, Json][] = Object.entries(body);
    if (entries.length > 0) {
      const place = next % entries.length;
      const inner = entries[place]?.[1] ?? null;
      const changed = mutated(inner, { way: rest, kind, value: strange });
      if (rest.length === 0 && kind === 'delete') entries.splice(place, 1);
      else if (entries[place]) entries[place] = [entries[place][0], changed];
      if (Array.isArray(body)) {
        const list = entries.map(([, one]) => one);
        return rest.length === 0 && kind === 'double' ? [...list, inner] : list;
      }
      return Object.fromEntries(entries);
    }
  }
  switch (kind) {
    case 'wrap':
      return [body];
    case 'in-object':
      return { value: body };
    case 'many':
      return Array(200).fill(body);
    case 'prototype':
      return JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{}},"toString":1}') as Json;
    default:
      return strange;
  }
}

/** What can only be done to the text of a body. */
const textual: readonly ((json: string) => string)[] = [
  (json) => json,
  (json) => json.replace('{', '{"__proto__":{"stream":true},'),
  (json) => `${json.slice(0, -1)},"messages":[],"prompt":1,"input":null}`,
  (json) => `${json.slice(0, -1)},"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
  (json) => `${json.slice(0, -1)},"x":${'{"a":'.repeat(120)}1${'}'.repeat(120)}}`,
  (json) => json.replace(/:(\d+)/, ':NaN'),
  (json) => json.replace(/:(\d+)/, ':1e400'),
  (json) => json.replace(/:"/, ':"\\ud83d'),
  (json) => json.slice(0, -2),
  (json) => json.replaceAll('"', "'"),
  (json) => `[${json}]`,
  (json) => `\ufeff \n${json}\n`,
];

export const mutatedRequest: fc.Arbitrary<MutatedRequest> = fc
  .record({
    path: fc.constantFrom(...Object.keys(goodBodies)),
    mutations: fc.array(mutation, { minLength: 1, maxLength: 3 }),
    text: fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, fc.nat({ max: textual.length - 1 })),
    stream: fc.constantFrom(undefined, true, false),
  })
  .map(({ path, mutations, text, stream }) => {
    const good: Json = { ...goodBodies[path], ...(stream === undefined ? {} : { stream }) };
    const body = JSON.stringify(mutations.reduce(mutated, good));
    return { path, body: textual[text]?.(body) ?? body };
  });
