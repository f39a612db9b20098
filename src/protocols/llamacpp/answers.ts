import * as a from '../answers.ts';

/** Samplers are by name, as numbers, beside the fields that every reply has. */
const settings = a.named(
  'GenerationSettings',
  a.open({
    temperature: a.number,
    top_k: a.whole,
    top_p: a.number,
    max_tokens: a.whole,
    n_predict: a.whole,
    ignore_eos: a.flag,
    stream: a.flag,
    n_probs: a.whole,
    samplers: a.list(a.text),
    timings_per_token: a.flag,
    post_sampling_probs: a.flag,
  }),
);

const choice = { id: a.whole, token: a.text, bytes: a.list(a.count) };
const probabilities = a.list(
  a.either(
    a.object({ ...choice, logprob: a.number, top_logprobs: a.list(a.object({ ...choice, logprob: a.number })) }),
    a.object({ ...choice, prob: a.number, top_probs: a.list(a.object({ ...choice, prob: a.number })) }),
  ),
);

const completion = a.named(
  'LlamaCompletion',
  a.object({
    index: a.count,
    content: a.text,
    tokens: a.list(a.whole),
    id_slot: a.whole,
    stop: a.words(true),
    model: a.text,
    tokens_predicted: a.count,
    tokens_evaluated: a.count,
    generation_settings: settings,
    prompt: a.text,
    has_new_line: a.flag,
    truncated: a.flag,
    stop_type: a.words('eos', 'word', 'limit', 'none'),
    stopping_word: a.text,
    tokens_cached: a.count,
    timings: a.either(a.timings, a.object({})),
    'completion_probabilities?': probabilities,
    'warnings?': a.list(a.text),
  }),
);

const chunk = a.object({
  index: a.count,
  content: a.text,
  tokens: a.list(a.whole),
  stop: a.words(false),
  id_slot: a.whole,
  tokens_predicted: a.count,
  tokens_evaluated: a.count,
  'completion_probabilities?': probabilities,
  'timings?': a.timings,
  'prompt_progress?': a.promptProgress,
});

/** `response_fields` of a request choose other members, by their paths. */
const chosenFields = { type: 'object', not: { required: ['stop', 'content', 'model'] } };
const reply = a.either(completion, chosenFields);

const error = a.object({
  error: a.object({
    'code?': a.count,
    message: a.text,
    type: a.text,
    'n_prompt_tokens?': a.count,
    'n_ctx?': a.count,
  }),
  'detail?': a.busyDetail,
});

const completed = a.oneOf(a.json(a.either(reply, a.list(reply))), a.events(a.either(chunk, reply, error)));

const capabilities = ['string_content', 'tools', 'tool_calls', 'parallel_tool_calls', 'system_role'];
const moreCapabilities = ['preserve_reasoning', 'typed_content'];

const props = a.object({
  default_generation_settings: a.object({ params: settings, n_ctx: a.count }),
  total_slots: a.count,
  ...a.members(a.text, 'model_alias', 'model_path', 'model_ftype'),
  modalities: a.object({ vision: a.flag, audio: a.flag, video: a.flag }),
  media_marker: a.text,
  ...a.members(a.flag, 'endpoint_slots', 'endpoint_props', 'endpoint_metrics', 'ui'),
  ui_settings: a.anyObject,
  chat_template: a.orNull(a.text),
  chat_template_caps: a.object(
    Object.fromEntries([...capabilities, ...moreCapabilities].map((name) => [`supports_${name}`, a.flag])),
  ),
  ...a.members(a.text, 'bos_token', 'eos_token', 'build_info'),
  cors_proxy_enabled: a.flag,
  is_sleeping: a.flag,
  'role?': a.words('router'),
  id: a.whole,
  id_task: a.whole,
  n_ctx: a.count,
});

const slot = a.object({
  id: a.count,
  n_ctx: a.count,
  speculative: a.flag,
  is_processing: a.flag,
  ...a.members(a.count, 'id_task?', 'n_prompt_tokens?', 'n_prompt_tokens_processed?', 'n_prompt_tokens_cache?'),
  'params?': settings,
  'next_token?': a.list(
    a.object({ has_next_token: a.flag, has_new_line: a.flag, n_remain: a.count, n_decoded: a.count }),
  ),
});

const lora = a.object({ id: a.count, path: a.text, scale: a.number, task_name: a.text, prompt_prefix: a.text });

const ranked = a.either(
  a.object({
    object: a.words('list'),
    model: a.text,
    results: a.list(a.object({ index: a.count, relevance_score: a.number, 'document?': a.object({ text: a.text }) })),
    usage: a.object({ prompt_tokens: a.count, total_tokens: a.count }),
  }),
  a.list(a.object({ index: a.count, score: a.number, 'text?': a.text })),
);

const success = a.answer({ success: a.words(true) });

export const llamacppAnswers: a.DialectAnswers = {
  errors: { llamacpp: error },
  answers: {
    'GET /props': a.json(props),
    'POST /props': a.refused,
    'GET /health': a.answer({ status: a.words('ok') }),
    'GET /slots': a.json(a.list(slot)),
    'GET /metrics': a.media('text/plain'),
    'GET /lora-adapters': a.json(a.list(lora)),
    'POST /lora-adapters': a.answer({ success: a.flag }),
    'POST /completion': completed,
    'POST /infill': completed,
    'POST /tokenize': a.answer({
      tokens: a.either(a.list(a.count), a.list(a.object({ id: a.count, piece: a.either(a.text, a.list(a.count)) }))),
    }),
    'POST /detokenize': a.answer({ content: a.text }),
    'POST /apply-template': a.answer({ prompt: a.text }),
    'POST /embedding': a.json(a.list(a.object({ index: a.count, embedding: a.list(a.list(a.number)) }))),
    'POST /v1/rerank': a.json(ranked),
    'POST /models/load': success,
    'POST /models/unload': success,
    'POST /slots/{rest}': a.refused,
    'POST /chat/completions/control': a.answer({ success: a.words(false) }),
    'GET /tools': a.refused,
    'GET /cors-proxy': a.refused,
  },
  examples: {
    'POST /completion': { prompt: 'Once upon a time, there was a lighthouse', n_predict: 60, stream: true },
    'POST /infill': { input_prefix: 'def add(a, b):\n    return ', input_suffix: '\n', n_predict: 20 },
    'POST /tokenize': { content: 'Hello, world.', with_pieces: true },
    'POST /detokenize': { tokens: [1, 2, 3] },
    'POST /apply-template': { messages: [{ role: 'user', content: 'Name three colours.' }] },
    'POST /embedding': { content: ['Hello', 'Good morning'] },
    'POST /v1/rerank': { query: 'What shines at night?', documents: ['A lighthouse.', 'A cup of tea.'] },
  },
};
