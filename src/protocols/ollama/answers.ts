import type { JsonSchema } from '../../core/fidelity.ts';
import * as a from '../answers.ts';

const error = a.object({ error: a.text, 'detail?': a.busyDetail });

const choice = { token: a.text, logprob: a.number, bytes: a.list(a.count) };
const figures = {
  'logprobs?': a.list(a.object({ ...choice, 'top_logprobs?': a.list(a.object(choice)) })),
};
const message = a.object({
  role: a.words('assistant'),
  content: a.text,
  'thinking?': a.text,
  'tool_calls?': a.list(
    a.object({ id: a.text, function: a.object({ index: a.count, name: a.text, arguments: a.anyObject }) }),
  ),
});

const ended = {
  done: a.words(true),
  done_reason: a.words('stop', 'length', 'load', 'unload'),
  'context?': a.list(a.whole),
  ...a.members(
    a.count,
    'total_duration?',
    'load_duration?',
    'prompt_eval_count?',
    'prompt_eval_duration?',
    'eval_count?',
    'eval_duration?',
  ),
  'warnings?': a.list(a.text),
};

function generated(said: Readonly<Record<string, JsonSchema>>): a.Answer {
  const head = { model: a.text, created_at: a.moment, ...said, ...figures };
  const last = a.object({ ...head, ...ended });
  const piece = a.object({ ...head, done: a.words(false) });
  const rendered = a.object({ ...head, done: a.words(true), _debug_info: a.object({ rendered_template: a.text }) });
  return a.oneOf(a.json(a.either(last, rendered)), a.lines(piece, last, error));
}

const details = a.object({
  ...a.members(a.text, 'parent_model', 'format', 'family'),
  families: a.list(a.text),
  parameter_size: a.text,
  quantization_level: a.text,
  'context_length?': a.count,
  'embedding_length?': a.count,
});
const model = {
  name: a.text,
  model: a.text,
  size: a.count,
  digest: a.text,
  details,
  capabilities: a.list(a.text),
};

const status = a.object({ status: a.text, 'total?': a.count, 'completed?': a.count });

export const ollamaAnswers: a.DialectAnswers = {
  errors: { ollama: error },
  answers: {
    'POST /api/generate': generated({ response: a.text, 'thinking?': a.text }),
    'POST /api/chat': generated({ message }),
    'POST /api/embed': a.answer({
      model: a.text,
      embeddings: a.list(a.list(a.number)),
      ...a.members(a.count, 'total_duration', 'load_duration', 'prompt_eval_count'),
    }),
    'POST /api/embeddings': a.answer({ embedding: a.list(a.number) }),
    'GET /api/version': a.answer({ version: a.text }),
    'GET /api/tags': a.answer({ models: a.list(a.object({ ...model, modified_at: a.moment })) }),
    'GET /api/ps': a.answer({
      models: a.list(a.object({ ...model, expires_at: a.moment, size_vram: a.count, 'context_length?': a.count })),
    }),
    'POST /api/show': a.answer({
      ...a.members(a.text, 'license?', 'modelfile', 'parameters', 'system?'),
      'messages?': a.list(a.object({ role: a.text, content: a.text })),
      template: a.text,
      details,
      model_info: a.anyObject,
      capabilities: a.list(a.text),
      modified_at: a.moment,
    }),
    'GET /api/status': a.answer({ cloud: a.object({ disabled: a.flag, source: a.text }) }),
    'POST /api/pull': a.oneOf(a.json(status), a.lines(status, error)),
    'POST /api/create': a.oneOf(a.json(status), a.lines(status)),
    ...a.each('POST', ['/api/push', '/api/copy', '/api/blobs/{rest}'], a.refused),
    ...a.each('POST', ['/api/me', '/api/signout'], a.refused),
    'DELETE /api/delete': a.media(),
  },
};
