import * as a from '../protocols/answers.ts';

const time = a.orNull(a.number);
const tokens = a.orNull(a.count);
const headers = a.mapOf(a.text);

const summary = {
  id: a.text,
  time: a.moment,
  method: a.text,
  path: a.text,
  family: a.text,
  kind: a.orNull(a.text),
  model: a.orNull(a.text),
  status: a.orNull(a.count),
  outcome: a.words('running', 'completed', 'aborted', 'refused', 'failed', 'disconnected'),
  streamed: a.flag,
  duration_ms: time,
  queue_ms: time,
  first_token_ms: time,
  prompt_tokens: tokens,
  completion_tokens: tokens,
  key: a.orNull(a.text),
  client: a.text,
  program: a.text,
  task: a.orNull(a.text),
};

const generation = a.object({
  memory: a.anything,
  prompt: a.anything,
  media: a.count,
  prompt_tokens: tokens,
  cached_tokens: tokens,
  completion_tokens: tokens,
  context_size: a.orNull(a.count),
  seed: a.orNull(a.whole),
  settings: a.anyObject,
  text: a.text,
  first_token_ms: time,
  engine: a.orNull(a.object({ prompt_ms: time, generation_ms: time })),
});

const dialect = a.object({
  name: a.text,
  title: a.text,
  shows: a.words('own', 'chat', 'text', 'impossible'),
  'reason?': a.text,
});

const detail = a.object({
  ...summary,
  request: a.object({
    headers,
    body: a.object({ type: a.text, bytes: a.count, text: a.orNull(a.text), 'cut?': a.text }),
  }),
  neutral: a.anything,
  warnings: a.list(a.object({ source: a.words('field', 'header', 'prompt', 'event'), text: a.text })),
  generations: a.list(generation),
  replies: a.list(a.list(a.open({ at_ms: time, type: a.text }))),
  'events_cut?': a.text,
  tasks: a.list(a.object({ kind: a.text, begun_ms: time, ended_ms: time, error: a.orNull(a.text) })),
  response: a.object({
    status: a.orNull(a.count),
    headers,
    bytes: a.count,
    text: a.orNull(a.text),
    'cut?': a.text,
  }),
  timings: a.mapOf(time),
  dialects: a.list(dialect),
});

const form = a.object({ path: a.text, body: a.anyObject, status: a.count, headers, text: a.text });

const replay = a.object({
  as: a.text,
  title: a.text,
  kind: a.words('chat', 'text'),
  own: a.flag,
  'note?': a.text,
  lost: a.list(a.object({ field: a.text, was: a.anything, becomes: a.anything })),
  extensions: a.list(a.text),
  streamed: form,
  whole: form,
});

const seconds = a.orNull(a.number);
const counts = {
  cached_tokens: a.count,
  computed_tokens: a.count,
  written_tokens: a.count,
};

const turn = a.object({
  time: a.moment,
  task: a.orNull(a.text),
  prompt_tokens: a.count,
  ...counts,
  first_token_ms: time,
  loss: a.orNull(
    a.object({
      cause: a.words('changed', 'reply', 'trimmed', 'evicted'),
      tokens: a.count,
      seconds,
      at: a.count,
      before: a.text,
      was: a.text,
      is: a.text,
    }),
  ),
});

const conversation = a.object({
  number: a.count,
  client: a.text,
  key: a.orNull(a.text),
  model: a.text,
  sub_agent: a.flag,
  started: a.moment,
  turns: a.count,
  side_requests: a.count,
  ...counts,
  saved_seconds: seconds,
  lost_seconds: seconds,
  history: a.list(turn),
});

/** Errors are those of the family, which administration has too. */
export const inspectorAnswers: a.DialectAnswers = {
  errors: {},
  answers: {
    'GET /api/extra/requests': a.json(a.object({ keeps: a.count, requests: a.list(a.object(summary)) })),
    'GET /api/extra/conversations': a.json(a.object({ enabled: a.flag, conversations: a.list(conversation) })),
    'DELETE /api/extra/conversations': a.json(a.object({ success: a.words(true) })),
    'DELETE /api/extra/requests': a.json(a.object({ success: a.words(true) })),
    'GET /api/extra/requests/{id}': a.json(detail),
    'POST /api/extra/requests/{id}/replay': a.json(replay),
  },
};
