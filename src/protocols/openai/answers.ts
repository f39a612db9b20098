import type { JsonSchema } from '../../core/fidelity.ts';
import * as a from '../answers.ts';
import { vectorStoreAnswers } from './vector-stores/answers.ts';

const warnings = { 'warnings?': a.list(a.text) };
const seconds = a.count;

/** What every whole reply and every chunk starts with. */
const envelope = (object: string) => ({
  id: a.text,
  object: a.words(object),
  created: seconds,
  ...a.members(a.text, 'model', 'system_fingerprint', 'service_tier?'),
});

const usage = a.named(
  'Usage',
  a.object({
    ...a.members(a.count, 'prompt_tokens', 'completion_tokens', 'total_tokens'),
    prompt_tokens_details: a.object({ cached_tokens: a.count }),
    completion_tokens_details: a.object({ reasoning_tokens: a.count }),
  }),
);

const tokenChoice = { id: a.whole, token: a.text, logprob: a.number, bytes: a.list(a.count) };
const tokens = a.list(a.object({ ...tokenChoice, top_logprobs: a.list(a.object(tokenChoice)) }));
const promptLogprobs = {
  'prompt_logprobs?': a.list(
    a.orNull(a.mapOf(a.object({ logprob: a.number, rank: a.orNull(a.count), decoded_token: a.text }))),
  ),
};
const ending = { finish_reason: a.words('stop', 'length', 'tool_calls', 'function_call'), 'stop_reason?': a.text };
const running = { finish_reason: a.orNull(ending.finish_reason), 'stop_reason?': a.text };

const called = a.object({ name: a.text, arguments: a.text });
const chatLogprobs = a.orNull(a.object({ content: tokens, refusal: a.nothing }));

const annotations = {
  'annotations?': a.list(a.object({ type: a.words('url_citation'), url_citation: a.object(a.citedUrl) })),
};

const message = a.object({
  role: a.words('assistant'),
  content: a.orNull(a.text),
  refusal: a.nothing,
  'reasoning_content?': a.text,
  ...annotations,
  'function_call?': called,
  'tool_calls?': a.list(a.object({ id: a.text, type: a.words('function'), function: called })),
});

const chat = a.named(
  'ChatCompletion',
  a.object({
    ...envelope('chat.completion'),
    choices: a.list(a.object({ index: a.count, message, logprobs: chatLogprobs, ...ending })),
    usage,
    timings: a.timings,
    ...promptLogprobs,
    ...warnings,
  }),
);

const calledPiece = a.object({ 'name?': a.text, arguments: a.text });
const delta = a.object({
  'role?': a.words('assistant'),
  'content?': a.text,
  'reasoning_content?': a.text,
  ...annotations,
  'function_call?': calledPiece,
  'tool_calls?': a.list(
    a.object({ index: a.count, 'id?': a.text, 'type?': a.words('function'), function: calledPiece }),
  ),
});

const figures = { 'usage?': usage, 'timings?': a.timings, 'prompt_progress?': a.promptProgress, ...warnings };

const chatChunk = a.object({
  ...envelope('chat.completion.chunk'),
  choices: a.list(a.object({ index: a.count, delta, logprobs: chatLogprobs, ...running })),
  ...figures,
});

const completionLogprobs = a.orNull(
  a.object({
    content: tokens,
    tokens: a.list(a.text),
    token_ids: a.list(a.whole),
    token_logprobs: a.list(a.orNull(a.number)),
    top_logprobs: a.list(a.orNull(a.mapOf(a.number))),
    text_offset: a.list(a.count),
  }),
);
const completionChoice = { index: a.count, text: a.text, logprobs: completionLogprobs };

const completion = a.named(
  'Completion',
  a.object({
    ...envelope('text_completion'),
    choices: a.list(a.object({ ...completionChoice, ...ending, ...promptLogprobs })),
    usage,
    timings: a.timings,
    ...warnings,
  }),
);

const completionChunk = a.object({
  ...envelope('text_completion'),
  choices: a.list(a.object({ ...completionChoice, ...running })),
  ...figures,
});

const error = a.named('OpenaiFailure', a.object({ error: a.openaiError, 'detail?': a.busyDetail }));
const chatStream = (chunk: JsonSchema) => a.events(a.either(chunk, error), '[DONE]');

const measures = a.open({ n_ctx: a.count, n_embd: a.count, n_params: a.count, size: a.count });

const model = a.named(
  'Model',
  a.object({
    id: a.text,
    object: a.words('model'),
    created: seconds,
    owned_by: a.text,
    type: a.words('model'),
    display_name: a.text,
    created_at: a.moment,
    permission: a.list(a.anything),
    root: a.text,
    status: a.object({ value: a.words('loaded', 'loading', 'unloaded', 'failed') }),
    ...a.members(a.list(a.text), 'aliases', 'tags', 'capabilities?'),
    'context_length?': a.count,
    'max_model_len?': a.count,
    meta: a.orNull(measures),
  }),
);

const tag = a.open({ name: a.text, model: a.text, modified_at: a.moment, size: a.count, capabilities: a.list(a.text) });

const models = a.object({
  object: a.words('list'),
  data: a.list(model),
  has_more: a.flag,
  'first_id?': a.text,
  'last_id?': a.text,
  models: a.list(tag),
});

const counted = { input_tokens: a.count, output_tokens: a.count, total_tokens: a.count };

const speechEvent = a.byType({
  'speech.audio.delta': { audio: a.base64 },
  'speech.audio.done': { usage: a.object(counted) },
  error: { error: a.openaiError },
});

const duration = a.object({ type: a.words('duration'), seconds: a.count });
const transcript = a.object({ text: a.text, usage: duration });
const segment = a.object({
  id: a.count,
  seek: a.count,
  start: a.number,
  end: a.number,
  text: a.text,
  tokens: a.list(a.whole),
  ...a.members(a.number, 'temperature', 'avg_logprob', 'compression_ratio', 'no_speech_prob'),
});
const verboseTranscript = a.object({
  task: a.words('transcribe', 'translate'),
  language: a.text,
  duration: a.number,
  text: a.text,
  'segments?': a.list(segment),
  'words?': a.list(a.object({ word: a.text, start: a.number, end: a.number })),
  usage: duration,
});
// With padding the status is sent before a failure is known.
const transcribed = a.json(a.either(transcript, verboseTranscript, error));
const transcriptEvent = a.either(
  a.byType({
    'transcript.text.delta': { delta: a.text },
    'transcript.text.done': { text: a.text, usage: duration, ...warnings },
  }),
  error,
);

const pictureFacts = {
  background: a.words('opaque'),
  output_format: a.words('png', 'jpeg', 'webp'),
  quality: a.words('medium'),
  size: a.text,
};
const pictureUsage = a.object({
  ...counted,
  input_tokens_details: a.object({ image_tokens: a.count, text_tokens: a.count }),
});
const pictures = a.object({
  created: seconds,
  data: a.list(a.object({ b64_json: a.base64, 'url?': a.text })),
  ...pictureFacts,
  usage: pictureUsage,
});
const pictureEvents = (kind: string) => {
  const shared = { b64_json: a.base64, created_at: seconds, ...pictureFacts };
  const kinds = {
    [`${kind}.partial_image`]: { partial_image_index: a.count },
    [`${kind}.completed`]: { usage: pictureUsage },
  };
  return a.events(a.either(a.byType(kinds, shared), error));
};
const drawn = a.json(a.either(pictures, error));

const question = [{ role: 'user', content: 'Name three colours.' }];

const storedFile = {
  id: a.text,
  object: a.words('file'),
  bytes: a.count,
  created_at: seconds,
  expires_at: a.orNull(seconds),
  filename: a.text,
  purpose: a.text,
};
const file = a.named('File', a.object({ ...storedFile, status: a.words('processed'), status_details: a.nothing }));
const upload = a.object({
  ...storedFile,
  object: a.words('upload'),
  expires_at: seconds,
  status: a.words('pending', 'completed', 'cancelled', 'expired'),
  file: a.orNull(file),
});
const moment = a.orNull(seconds);
const batch = a.named(
  'Batch',
  a.object({
    id: a.text,
    object: a.words('batch'),
    endpoint: a.text,
    model: a.orNull(a.text),
    errors: a.orNull(
      a.object({
        object: a.words('list'),
        data: a.list(a.object({ code: a.text, message: a.text, param: a.orNull(a.text), line: a.orNull(a.count) })),
      }),
    ),
    input_file_id: a.orNull(a.text),
    completion_window: a.words('24h'),
    status: a.words(
      ...['validating', 'failed', 'in_progress', 'finalizing', 'completed', 'expired', 'cancelling', 'cancelled'],
    ),
    output_file_id: a.orNull(a.text),
    error_file_id: a.orNull(a.text),
    created_at: seconds,
    in_progress_at: moment,
    expires_at: seconds,
    ...a.members(moment, 'finalizing_at', 'completed_at', 'failed_at', 'expired_at', 'cancelling_at', 'cancelled_at'),
    request_counts: a.object({ total: a.count, completed: a.count, failed: a.count }),
    usage: a.orNull(
      a.object({
        input_tokens: a.count,
        input_tokens_details: a.object({ cached_tokens: a.count }),
        output_tokens: a.count,
        output_tokens_details: a.object({ reasoning_tokens: a.count }),
        total_tokens: a.count,
      }),
    ),
    metadata: a.orNull(a.mapOf(a.text)),
  }),
);
export const openaiAnswers: a.DialectAnswers = {
  errors: { openai: error },
  answers: {
    'POST /v1/batches': a.json(batch),
    'GET /v1/batches': a.page(batch),
    'GET /v1/batches/{id}': a.json(batch),
    'POST /v1/batches/{id}/cancel': a.json(batch),
    'POST /v1/files': a.json(file),
    'GET /v1/files': a.page(file),
    'GET /v1/files/{id}': a.json(file),
    'GET /v1/files/{id}/content': a.media('application/octet-stream'),
    'DELETE /v1/files/{id}': a.deleted('file'),
    'POST /v1/uploads': a.json(upload),
    'POST /v1/uploads/{id}/parts': a.json(
      a.object({ id: a.text, object: a.words('upload.part'), created_at: seconds, upload_id: a.text }),
    ),
    'POST /v1/uploads/{id}/complete': a.json(upload),
    'POST /v1/uploads/{id}/cancel': a.json(upload),
    'POST /v1/chat/completions': a.oneOf(a.json(a.either(chat, error)), chatStream(chatChunk)),
    'POST /v1/chat/completions/input_tokens': a.json(
      a.object({ object: a.words('response.input_tokens'), input_tokens: a.count }),
    ),
    'POST /v1/completions': a.oneOf(a.json(a.either(completion, error)), chatStream(completionChunk)),
    'POST /v1/embeddings': a.json(a.embeddingList),
    ...vectorStoreAnswers,
    'GET /v1/models': a.json(models),
    'GET /v1/models/{id}': a.json(model),
    'POST /v1/audio/speech': a.oneOf(a.sounds, a.events(speechEvent)),
    'GET /v1/audio/voices': a.json(a.object({ status: a.words('ok'), voices: a.list(a.text) })),
    'GET /v1/audio/models': a.json(
      a.object({ models: a.list(a.object({ id: a.text, 'languages?': a.list(a.text) })) }),
    ),
    'POST /v1/audio/transcriptions': a.oneOf(
      transcribed,
      a.media('text/plain', 'text/vtt'),
      a.events(transcriptEvent, '[DONE]'),
    ),
    'POST /v1/audio/translations': a.oneOf(transcribed, a.media('text/plain', 'text/vtt')),
    'POST /v1/images/generations': a.oneOf(drawn, pictureEvents('image_generation')),
    'POST /v1/images/edits': a.oneOf(drawn, pictureEvents('image_edit')),
    'POST /v1/images/variations': a.oneOf(drawn, pictureEvents('image_edit')),
  },
  examples: {
    'POST /v1/chat/completions': { messages: question, max_tokens: 60, stream: true },
    'POST /v1/chat/completions/input_tokens': { messages: question },
    'POST /v1/completions': { prompt: 'Once upon a time, there was a lighthouse', max_tokens: 60, stream: true },
    'POST /v1/embeddings': { input: ['Hello', 'Good morning'] },
    'POST /v1/audio/speech': { input: 'Hello, this is the voice of your computer.', response_format: 'mp3' },
    'POST /v1/images/generations': { prompt: 'a house on a hill', size: '256x256', n: 1, steps: 8 },
  },
};
