import * as s from '../protocols/response-schemas.ts';

/** Milliseconds or seconds; null where they are not known. */
const duration = s.nullable(s.number);
const tokens = s.nullable(s.count);
const headers = s.record(s.string);

const summary = {
  id: s.string,
  time: s.dateTime,
  method: s.string,
  path: s.string,
  family: s.string,
  kind: s.nullable(s.string),
  model: s.nullable(s.string),
  status: s.nullable(s.count),
  outcome: s.literal('running', 'completed', 'aborted', 'refused', 'failed', 'disconnected'),
  streamed: s.boolean,
  duration_ms: duration,
  queue_ms: duration,
  first_token_ms: duration,
  prompt_tokens: tokens,
  completion_tokens: tokens,
  key: s.nullable(s.string),
  client: s.string,
  program: s.string,
  task: s.nullable(s.string),
};

const generation = s.object({
  memory: s.any,
  prompt: s.any,
  media: s.count,
  prompt_tokens: tokens,
  cached_tokens: tokens,
  completion_tokens: tokens,
  context_size: s.nullable(s.count),
  seed: s.nullable(s.integer),
  settings: s.anyObject,
  text: s.string,
  first_token_ms: duration,
  engine: s.nullable(s.object({ prompt_ms: duration, generation_ms: duration })),
});

const dialect = s.object({
  name: s.string,
  title: s.string,
  shows: s.literal('own', 'chat', 'text', 'impossible'),
  'reason?': s.string,
});

const detail = s.object({
  ...summary,
  request: s.object({
    headers,
    body: s.object({ type: s.string, bytes: s.count, text: s.nullable(s.string), 'cut?': s.string }),
  }),
  neutral: s.any,
  warnings: s.array(s.object({ source: s.literal('field', 'header', 'prompt', 'event'), text: s.string })),
  generations: s.array(generation),
  replies: s.array(s.array(s.looseObject({ at_ms: duration, type: s.string }))),
  'events_cut?': s.string,
  tasks: s.array(s.object({ kind: s.string, begun_ms: duration, ended_ms: duration, error: s.nullable(s.string) })),
  response: s.object({
    status: s.nullable(s.count),
    headers,
    bytes: s.count,
    text: s.nullable(s.string),
    'cut?': s.string,
  }),
  timings: s.record(duration),
  dialects: s.array(dialect),
});

const form = s.object({ path: s.string, body: s.anyObject, status: s.count, headers, text: s.string });

const replay = s.object({
  as: s.string,
  title: s.string,
  kind: s.literal('chat', 'text'),
  own: s.boolean,
  'note?': s.string,
  lost: s.array(s.object({ field: s.string, was: s.any, becomes: s.any })),
  extensions: s.array(s.string),
  streamed: form,
  whole: form,
});

const counts = {
  cached_tokens: s.count,
  computed_tokens: s.count,
  written_tokens: s.count,
};

const turn = s.object({
  time: s.dateTime,
  task: s.nullable(s.string),
  prompt_tokens: s.count,
  ...counts,
  first_token_ms: duration,
  loss: s.nullable(
    s.object({
      cause: s.literal('changed', 'reply', 'trimmed', 'evicted'),
      tokens: s.count,
      seconds: duration,
      at: s.count,
      before: s.string,
      was: s.string,
      is: s.string,
    }),
  ),
});

const conversation = s.object({
  number: s.count,
  client: s.string,
  key: s.nullable(s.string),
  model: s.string,
  sub_agent: s.boolean,
  started: s.dateTime,
  turns: s.count,
  side_requests: s.count,
  ...counts,
  saved_seconds: duration,
  lost_seconds: duration,
  history: s.array(turn),
});

export { errors } from '../protocols/admin/responses.ts';

export const responses = {
  requests: s.jsonObject({ keeps: s.count, requests: s.array(s.object(summary)) }),
  conversations: s.jsonObject({ enabled: s.boolean, conversations: s.array(conversation) }),
  success: s.jsonObject({ success: s.literal(true) }),
  request: s.json(detail),
  replay: s.json(replay),
};
