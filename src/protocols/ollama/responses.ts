import type { JsonSchema } from '../../core/fidelity.ts';
import * as s from '../response-schemas.ts';

const error = s.object({ error: s.string, 'detail?': s.busyDetail });

const choice = { token: s.string, logprob: s.number, bytes: s.array(s.count) };
const figures = {
  'logprobs?': s.array(s.object({ ...choice, 'top_logprobs?': s.array(s.object(choice)) })),
};
const message = s.object({
  role: s.literal('assistant'),
  content: s.string,
  'thinking?': s.string,
  'tool_calls?': s.array(
    s.object({ id: s.string, function: s.object({ index: s.count, name: s.string, arguments: s.anyObject }) }),
  ),
});

const ended = {
  done: s.literal(true),
  done_reason: s.literal('stop', 'length', 'load', 'unload'),
  'context?': s.array(s.integer),
  ...s.properties(
    s.count,
    'total_duration?',
    'load_duration?',
    'prompt_eval_count?',
    'prompt_eval_duration?',
    'eval_count?',
    'eval_duration?',
  ),
  'warnings?': s.array(s.string),
};

function generated(content: Readonly<Record<string, JsonSchema>>): s.ResponseSchema {
  const head = { model: s.string, created_at: s.dateTime, ...content, ...figures };
  const last = s.object({ ...head, ...ended });
  const piece = s.object({ ...head, done: s.literal(false) });
  const rendered = s.object({ ...head, done: s.literal(true), _debug_info: s.object({ rendered_template: s.string }) });
  return s.oneOf(s.json(s.union(last, rendered)), s.ndjson(piece, last, error));
}

const details = s.object({
  ...s.properties(s.string, 'parent_model', 'format', 'family'),
  families: s.array(s.string),
  parameter_size: s.string,
  quantization_level: s.string,
  'context_length?': s.count,
  'embedding_length?': s.count,
});
const model = {
  name: s.string,
  model: s.string,
  size: s.count,
  digest: s.string,
  details,
  capabilities: s.array(s.string),
};

const status = s.object({ status: s.string, 'total?': s.count, 'completed?': s.count });

export const errors = { ollama: error };

export const responses = {
  generate: generated({ response: s.string, 'thinking?': s.string }),
  chat: generated({ message }),
  embed: s.jsonObject({
    model: s.string,
    embeddings: s.array(s.array(s.number)),
    ...s.properties(s.count, 'total_duration', 'load_duration', 'prompt_eval_count'),
  }),
  embedding: s.jsonObject({ embedding: s.array(s.number) }),
  version: s.jsonObject({ version: s.string }),
  tags: s.jsonObject({ models: s.array(s.object({ ...model, modified_at: s.dateTime })) }),
  loadedModels: s.jsonObject({
    models: s.array(s.object({ ...model, expires_at: s.dateTime, size_vram: s.count, 'context_length?': s.count })),
  }),
  model: s.jsonObject({
    ...s.properties(s.string, 'license?', 'modelfile', 'parameters', 'system?'),
    'messages?': s.array(s.object({ role: s.string, content: s.string })),
    template: s.string,
    details,
    model_info: s.anyObject,
    capabilities: s.array(s.string),
    modified_at: s.dateTime,
  }),
  status: s.jsonObject({ cloud: s.object({ disabled: s.boolean, source: s.string }) }),
  pull: s.oneOf(s.json(status), s.ndjson(status, error)),
  create: s.oneOf(s.json(status), s.ndjson(status)),
  refused: s.refused,
  deleted: s.media(),
};
