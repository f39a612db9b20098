import * as s from '../response-schemas.ts';

/** Samplers are by name, as numbers, beside the fields that every reply has. */
const settings = s.named(
  'GenerationSettings',
  s.looseObject({
    temperature: s.number,
    top_k: s.integer,
    top_p: s.number,
    max_tokens: s.integer,
    n_predict: s.integer,
    ignore_eos: s.boolean,
    stream: s.boolean,
    n_probs: s.integer,
    samplers: s.array(s.string),
    timings_per_token: s.boolean,
    post_sampling_probs: s.boolean,
  }),
);

const choice = { id: s.integer, token: s.string, bytes: s.array(s.count) };
const probabilities = s.array(
  s.union(
    s.object({ ...choice, logprob: s.number, top_logprobs: s.array(s.object({ ...choice, logprob: s.number })) }),
    s.object({ ...choice, prob: s.number, top_probs: s.array(s.object({ ...choice, prob: s.number })) }),
  ),
);

const completion = s.named(
  'LlamaCompletion',
  s.object({
    index: s.count,
    content: s.string,
    tokens: s.array(s.integer),
    id_slot: s.integer,
    stop: s.literal(true),
    model: s.string,
    tokens_predicted: s.count,
    tokens_evaluated: s.count,
    generation_settings: settings,
    prompt: s.string,
    has_new_line: s.boolean,
    truncated: s.boolean,
    stop_type: s.literal('eos', 'word', 'limit', 'none'),
    stopping_word: s.string,
    tokens_cached: s.count,
    timings: s.union(s.timings, s.object({})),
    'completion_probabilities?': probabilities,
    'warnings?': s.array(s.string),
  }),
);

const chunk = s.object({
  index: s.count,
  content: s.string,
  tokens: s.array(s.integer),
  stop: s.literal(false),
  id_slot: s.integer,
  tokens_predicted: s.count,
  tokens_evaluated: s.count,
  'completion_probabilities?': probabilities,
  'timings?': s.timings,
  'prompt_progress?': s.promptProgress,
});

/** `response_fields` of a request choose other members, by their paths. */
const chosenFields = { type: 'object', not: { required: ['stop', 'content', 'model'] } };
const reply = s.union(completion, chosenFields);

const error = s.object({
  error: s.object({
    'code?': s.count,
    message: s.string,
    type: s.string,
    'n_prompt_tokens?': s.count,
    'n_ctx?': s.count,
  }),
  'detail?': s.busyDetail,
});

const completed = s.oneOf(s.json(s.union(reply, s.array(reply))), s.sse(s.union(chunk, reply, error)));

const capabilities = ['string_content', 'tools', 'tool_calls', 'parallel_tool_calls', 'system_role'];
const moreCapabilities = ['preserve_reasoning', 'typed_content'];

const props = s.object({
  default_generation_settings: s.object({ params: settings, n_ctx: s.count }),
  total_slots: s.count,
  ...s.properties(s.string, 'model_alias', 'model_path', 'model_ftype'),
  modalities: s.object({ vision: s.boolean, audio: s.boolean, video: s.boolean }),
  media_marker: s.string,
  ...s.properties(s.boolean, 'endpoint_slots', 'endpoint_props', 'endpoint_metrics', 'ui'),
  ui_settings: s.anyObject,
  chat_template: s.nullable(s.string),
  chat_template_caps: s.object(
    Object.fromEntries([...capabilities, ...moreCapabilities].map((name) => [`supports_${name}`, s.boolean])),
  ),
  ...s.properties(s.string, 'bos_token', 'eos_token', 'build_info'),
  cors_proxy_enabled: s.boolean,
  is_sleeping: s.boolean,
  'role?': s.literal('router'),
  id: s.integer,
  id_task: s.integer,
  n_ctx: s.count,
});

const slot = s.object({
  id: s.count,
  n_ctx: s.count,
  speculative: s.boolean,
  is_processing: s.boolean,
  ...s.properties(s.count, 'id_task?', 'n_prompt_tokens?', 'n_prompt_tokens_processed?', 'n_prompt_tokens_cache?'),
  'params?': settings,
  'next_token?': s.array(
    s.object({ has_next_token: s.boolean, has_new_line: s.boolean, n_remain: s.count, n_decoded: s.count }),
  ),
});

const lora = s.object({ id: s.count, path: s.string, scale: s.number, task_name: s.string, prompt_prefix: s.string });

const ranked = s.union(
  s.object({
    object: s.literal('list'),
    model: s.string,
    results: s.array(
      s.object({ index: s.count, relevance_score: s.number, 'document?': s.object({ text: s.string }) }),
    ),
    usage: s.object({ prompt_tokens: s.count, total_tokens: s.count }),
  }),
  s.array(s.object({ index: s.count, score: s.number, 'text?': s.string })),
);

export const errors = { llamacpp: error };

export const responses = {
  props: s.json(props),
  refused: s.refused,
  health: s.jsonObject({ status: s.literal('ok') }),
  slots: s.json(s.array(slot)),
  metrics: s.media('text/plain'),
  loras: s.json(s.array(lora)),
  setLoras: s.jsonObject({ success: s.boolean }),
  completion: completed,
  infill: completed,
  tokenize: s.jsonObject({
    tokens: s.union(s.array(s.count), s.array(s.object({ id: s.count, piece: s.union(s.string, s.array(s.count)) }))),
  }),
  detokenize: s.jsonObject({ content: s.string }),
  applyTemplate: s.jsonObject({ prompt: s.string }),
  embedding: s.json(s.array(s.object({ index: s.count, embedding: s.array(s.array(s.number)) }))),
  rerank: s.json(ranked),
  success: s.jsonObject({ success: s.literal(true) }),
  control: s.jsonObject({ success: s.literal(false) }),
};

export const examples = {
  completion: { prompt: 'Once upon a time, there was a lighthouse', n_predict: 60, stream: true },
  infill: { input_prefix: 'def add(a, b):\n    return ', input_suffix: '\n', n_predict: 20 },
  tokenize: { content: 'Hello, world.', with_pieces: true },
  detokenize: { tokens: [1, 2, 3] },
  applyTemplate: { messages: [{ role: 'user', content: 'Name three colours.' }] },
  embedding: { content: ['Hello', 'Good morning'] },
  rerank: { query: 'What shines at night?', documents: ['A lighthouse.', 'A cup of tea.'] },
};
