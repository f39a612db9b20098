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
  'total_duration?': a.count,
  'load_duration?': a.count,
  'prompt_eval_count?': a.count,
  'prompt_eval_duration?': a.count,
  'eval_count?': a.count,
  'eval_duration?': a.count,
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
  parent_model: a.text,
  format: a.text,
  family: a.text,
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
    'POST /api/embed': a.json(
      a.object({
        model: a.text,
        embeddings: a.list(a.list(a.number)),
        total_duration: a.count,
        load_duration: a.count,
        prompt_eval_count: a.count,
      }),
    ),
    'POST /api/embeddings': a.json(a.object({ embedding: a.list(a.number) })),
    'GET /api/version': a.json(a.object({ version: a.text })),
    'GET /api/tags': a.json(a.object({ models: a.list(a.object({ ...model, modified_at: a.moment })) })),
    'GET /api/ps': a.json(
      a.object({
        models: a.list(a.object({ ...model, expires_at: a.moment, size_vram: a.count, 'context_length?': a.count })),
      }),
    ),
    'POST /api/show': a.json(
      a.object({
        'license?': a.text,
        modelfile: a.text,
        parameters: a.text,
        'system?': a.text,
        'messages?': a.list(a.object({ role: a.text, content: a.text })),
        template: a.text,
        details,
        model_info: a.anyObject,
        capabilities: a.list(a.text),
        modified_at: a.moment,
      }),
    ),
    'GET /api/status': a.json(a.object({ cloud: a.object({ disabled: a.flag, source: a.text }) })),
    'POST /api/pull': a.oneOf(a.json(status), a.lines(status, error)),
    'POST /api/create': a.oneOf(a.json(status), a.lines(status)),
    ...a.each('POST', ['/api/push', '/api/copy', '/api/blobs/{rest}'], a.refused),
    ...a.each('POST', ['/api/me', '/api/signout'], a.refused),
    'DELETE /api/delete': a.media(),
  },
};
