import type { JsonSchema } from '../../core/fidelity.ts';
import * as s from '../response-schemas.ts';
import { vectorStoreResponses } from './vector-stores/responses.ts';

const warnings = { 'warnings?': s.array(s.string) };
const seconds = s.count;

/** What every whole reply and every chunk starts with. */
const envelope = (object: string) => ({
  id: s.string,
  object: s.literal(object),
  created: seconds,
  ...s.properties(s.string, 'model', 'system_fingerprint', 'service_tier?'),
});

const usage = s.named(
  'Usage',
  s.object({
    ...s.properties(s.count, 'prompt_tokens', 'completion_tokens', 'total_tokens'),
    prompt_tokens_details: s.object({ cached_tokens: s.count }),
    completion_tokens_details: s.object({ reasoning_tokens: s.count }),
  }),
);

const tokenChoice = { id: s.integer, token: s.string, logprob: s.number, bytes: s.array(s.count) };
const tokens = s.array(s.object({ ...tokenChoice, top_logprobs: s.array(s.object(tokenChoice)) }));
const promptLogprobs = {
  'prompt_logprobs?': s.array(
    s.nullable(s.record(s.object({ logprob: s.number, rank: s.nullable(s.count), decoded_token: s.string }))),
  ),
};
const ending = { finish_reason: s.literal('stop', 'length', 'tool_calls', 'function_call'), 'stop_reason?': s.string };
const running = { finish_reason: s.nullable(ending.finish_reason), 'stop_reason?': s.string };

const called = s.object({ name: s.string, arguments: s.string });
const chatLogprobs = s.nullable(s.object({ content: tokens, refusal: s.nil }));

const annotations = {
  'annotations?': s.array(s.object({ type: s.literal('url_citation'), url_citation: s.object(s.urlCitation) })),
};

const message = s.object({
  role: s.literal('assistant'),
  content: s.nullable(s.string),
  refusal: s.nil,
  'reasoning_content?': s.string,
  ...annotations,
  'function_call?': called,
  'tool_calls?': s.array(s.object({ id: s.string, type: s.literal('function'), function: called })),
});

const chat = s.named(
  'ChatCompletion',
  s.object({
    ...envelope('chat.completion'),
    choices: s.array(s.object({ index: s.count, message, logprobs: chatLogprobs, ...ending })),
    usage,
    timings: s.timings,
    ...promptLogprobs,
    ...warnings,
  }),
);

const calledPiece = s.object({ 'name?': s.string, arguments: s.string });
const delta = s.object({
  'role?': s.literal('assistant'),
  'content?': s.string,
  'reasoning_content?': s.string,
  ...annotations,
  'function_call?': calledPiece,
  'tool_calls?': s.array(
    s.object({ index: s.count, 'id?': s.string, 'type?': s.literal('function'), function: calledPiece }),
  ),
});

const figures = { 'usage?': usage, 'timings?': s.timings, 'prompt_progress?': s.promptProgress, ...warnings };

const chatChunk = s.object({
  ...envelope('chat.completion.chunk'),
  choices: s.array(s.object({ index: s.count, delta, logprobs: chatLogprobs, ...running })),
  ...figures,
});

const completionLogprobs = s.nullable(
  s.object({
    content: tokens,
    tokens: s.array(s.string),
    token_ids: s.array(s.integer),
    token_logprobs: s.array(s.nullable(s.number)),
    top_logprobs: s.array(s.nullable(s.record(s.number))),
    text_offset: s.array(s.count),
  }),
);
const completionChoice = { index: s.count, text: s.string, logprobs: completionLogprobs };

const completion = s.named(
  'Completion',
  s.object({
    ...envelope('text_completion'),
    choices: s.array(s.object({ ...completionChoice, ...ending, ...promptLogprobs })),
    usage,
    timings: s.timings,
    ...warnings,
  }),
);

const completionChunk = s.object({
  ...envelope('text_completion'),
  choices: s.array(s.object({ ...completionChoice, ...running })),
  ...figures,
});

const error = s.named('OpenaiFailure', s.object({ error: s.openaiError, 'detail?': s.busyDetail }));
const chatStream = (chunk: JsonSchema) => s.sse(s.union(chunk, error), '[DONE]');

const measures = s.looseObject({ n_ctx: s.count, n_embd: s.count, n_params: s.count, size: s.count });

const model = s.named(
  'Model',
  s.object({
    id: s.string,
    object: s.literal('model'),
    created: seconds,
    owned_by: s.string,
    type: s.literal('model'),
    display_name: s.string,
    created_at: s.dateTime,
    permission: s.array(s.any),
    root: s.string,
    status: s.object({ value: s.literal('loaded', 'loading', 'unloaded', 'failed') }),
    ...s.properties(s.array(s.string), 'aliases', 'tags', 'capabilities?'),
    'context_length?': s.count,
    'max_model_len?': s.count,
    meta: s.nullable(measures),
  }),
);

const tag = s.looseObject({
  name: s.string,
  model: s.string,
  modified_at: s.dateTime,
  size: s.count,
  capabilities: s.array(s.string),
});

const models = s.object({
  object: s.literal('list'),
  data: s.array(model),
  has_more: s.boolean,
  'first_id?': s.string,
  'last_id?': s.string,
  models: s.array(tag),
});

const counted = { input_tokens: s.count, output_tokens: s.count, total_tokens: s.count };

const speechEvent = s.byType({
  'speech.audio.delta': { audio: s.base64 },
  'speech.audio.done': { usage: s.object(counted) },
  error: { error: s.openaiError },
});

const duration = s.object({ type: s.literal('duration'), seconds: s.count });
const transcript = s.object({ text: s.string, usage: duration });
const segment = s.object({
  id: s.count,
  seek: s.count,
  start: s.number,
  end: s.number,
  text: s.string,
  tokens: s.array(s.integer),
  ...s.properties(s.number, 'temperature', 'avg_logprob', 'compression_ratio', 'no_speech_prob'),
});
const verboseTranscript = s.object({
  task: s.literal('transcribe', 'translate'),
  language: s.string,
  duration: s.number,
  text: s.string,
  'segments?': s.array(segment),
  'words?': s.array(s.object({ word: s.string, start: s.number, end: s.number })),
  usage: duration,
});
// With padding the status is sent before a failure is known.
const transcribed = s.json(s.union(transcript, verboseTranscript, error));
const transcriptEvent = s.union(
  s.byType({
    'transcript.text.delta': { delta: s.string },
    'transcript.text.done': { text: s.string, usage: duration, ...warnings },
  }),
  error,
);

const imageFacts = {
  background: s.literal('opaque'),
  output_format: s.literal('png', 'jpeg', 'webp'),
  quality: s.literal('medium'),
  size: s.string,
};
const imageUsage = s.object({
  ...counted,
  input_tokens_details: s.object({ image_tokens: s.count, text_tokens: s.count }),
});
const images = s.object({
  created: seconds,
  data: s.array(s.object({ b64_json: s.base64, 'url?': s.string })),
  ...imageFacts,
  usage: imageUsage,
});
const imageEvents = (kind: string) => {
  const shared = { b64_json: s.base64, created_at: seconds, ...imageFacts };
  const kinds = {
    [`${kind}.partial_image`]: { partial_image_index: s.count },
    [`${kind}.completed`]: { usage: imageUsage },
  };
  return s.sse(s.union(s.byType(kinds, shared), error));
};
const generated = s.json(s.union(images, error));

const question = [{ role: 'user', content: 'Name three colours.' }];

const storedFile = {
  id: s.string,
  object: s.literal('file'),
  bytes: s.count,
  created_at: seconds,
  expires_at: s.nullable(seconds),
  filename: s.string,
  purpose: s.string,
};
const file = s.named('File', s.object({ ...storedFile, status: s.literal('processed'), status_details: s.nil }));
const upload = s.object({
  ...storedFile,
  object: s.literal('upload'),
  expires_at: seconds,
  status: s.literal('pending', 'completed', 'cancelled', 'expired'),
  file: s.nullable(file),
});
const moment = s.nullable(seconds);
const batch = s.named(
  'Batch',
  s.object({
    id: s.string,
    object: s.literal('batch'),
    endpoint: s.string,
    model: s.nullable(s.string),
    errors: s.nullable(
      s.object({
        object: s.literal('list'),
        data: s.array(
          s.object({ code: s.string, message: s.string, param: s.nullable(s.string), line: s.nullable(s.count) }),
        ),
      }),
    ),
    input_file_id: s.nullable(s.string),
    completion_window: s.literal('24h'),
    status: s.literal(
      ...['validating', 'failed', 'in_progress', 'finalizing', 'completed', 'expired', 'cancelling', 'cancelled'],
    ),
    output_file_id: s.nullable(s.string),
    error_file_id: s.nullable(s.string),
    created_at: seconds,
    in_progress_at: moment,
    expires_at: seconds,
    ...s.properties(
      moment,
      'finalizing_at',
      'completed_at',
      'failed_at',
      'expired_at',
      'cancelling_at',
      'cancelled_at',
    ),
    request_counts: s.object({ total: s.count, completed: s.count, failed: s.count }),
    usage: s.nullable(
      s.object({
        input_tokens: s.count,
        input_tokens_details: s.object({ cached_tokens: s.count }),
        output_tokens: s.count,
        output_tokens_details: s.object({ reasoning_tokens: s.count }),
        total_tokens: s.count,
      }),
    ),
    metadata: s.nullable(s.record(s.string)),
  }),
);
export const errors = { openai: error };

export const responses = {
  batch: s.json(batch),
  batches: s.page(batch),
  file: s.json(file),
  files: s.page(file),
  fileContent: s.media('application/octet-stream'),
  deletedFile: s.deleted('file'),
  upload: s.json(upload),
  uploadPart: s.jsonObject({
    id: s.string,
    object: s.literal('upload.part'),
    created_at: seconds,
    upload_id: s.string,
  }),
  chat: s.oneOf(s.json(s.union(chat, error)), chatStream(chatChunk)),
  inputTokens: s.inputTokens,
  completion: s.oneOf(s.json(s.union(completion, error)), chatStream(completionChunk)),
  embeddings: s.json(s.embeddingList),
  ...vectorStoreResponses,
  models: s.json(models),
  model: s.json(model),
  speech: s.oneOf(s.audio, s.sse(speechEvent)),
  voices: s.jsonObject({ status: s.literal('ok'), voices: s.array(s.string) }),
  speechModels: s.jsonObject({ models: s.array(s.object({ id: s.string, 'languages?': s.array(s.string) })) }),
  transcription: s.oneOf(transcribed, s.media('text/plain', 'text/vtt'), s.sse(transcriptEvent, '[DONE]')),
  translation: s.oneOf(transcribed, s.media('text/plain', 'text/vtt')),
  images: s.oneOf(generated, imageEvents('image_generation')),
  editedImages: s.oneOf(generated, imageEvents('image_edit')),
};

export const examples = {
  chat: { messages: question, max_tokens: 60, stream: true },
  inputTokens: { messages: question },
  completion: { prompt: 'Once upon a time, there was a lighthouse', max_tokens: 60, stream: true },
  embeddings: { input: ['Hello', 'Good morning'] },
  speech: { input: 'Hello, this is the voice of your computer.', response_format: 'mp3' },
  images: { prompt: 'a house on a hill', size: '256x256', n: 1, steps: 8 },
};
