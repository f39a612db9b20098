import type { JsonSchema } from '../../core/fidelity.ts';
import * as a from '../answers.ts';
import { switchNames } from './info.ts';
import { musicFields, songFileFields } from './music.ts';

const warnings = { 'warnings?': a.list(a.text) };

const tokenChoice = { token: a.text, token_id: a.whole, logprob: a.number, bytes: a.list(a.count) };

const logprobs = a.named(
  'NativeLogprobs',
  a.object({
    content: a.list(a.object({ ...tokenChoice, top_logprobs: a.list(a.object(tokenChoice)) })),
    tokens: a.list(a.text),
    token_ids: a.list(a.whole),
    token_logprobs: a.list(a.number),
    top_logprobs: a.list(a.mapOf(a.number)),
    text_offset: a.list(a.count),
  }),
);

const error = a.object({ detail: a.object({ msg: a.text, type: a.text, 'error?': a.text }) });
const failure = a.object({ message: a.text, type: a.text });
const endings = ['stop', 'length', 'tool_calls', 'error'] as const;

const generated = a.object({
  results: a.list(
    a.object({
      text: a.text,
      tool_calls: a.list(a.anything),
      finish_reason: a.words(...endings),
      logprobs: a.orNull(logprobs),
      prompt_tokens: a.count,
      completion_tokens: a.count,
      'error?': failure,
      ...warnings,
    }),
  ),
});

const streamed = a.object({
  token: a.text,
  finish_reason: a.words(...endings, null),
  'error?': failure,
  ...warnings,
});

const checked = a.answer({
  results: a.list(
    a.object({
      text: a.text,
      'finish_reason?': a.words('stop', 'length', 'tool_calls', 'abort', 'error', null),
      'queue_position?': a.count,
      'queue_estimate?': a.orNull(a.number),
    }),
  ),
});
const lastLogprobs = a.answer({ logprobs: a.orNull(logprobs) });

/** A refusal in the form of the answer. */
const unsuccessful = a.object({ success: a.words(false), error: a.text });
const stored = a.either(a.object({ success: a.words(true), error: a.words('') }), unsuccessful);
const turn = { turn_major: a.count, turn_minor: a.count, idle: a.flag, data_format: a.text };
const noStory = a.object({ success: a.words(false), data: a.nothing });
const notKept = a.object({ success: a.words(false), error: a.text, 'revision?': a.count });

const snapshots = a.orNull(
  a.object({
    ...a.members(a.count, 'snapshots', 'bytes', 'limit_bytes?', 'other_bytes?', 'failures?'),
    'last_failure?': a.orNull(a.text),
  }),
);

/** Counters of the other kinds of engines have names of their own. */
const performance = a.open({
  last_process: a.number,
  last_eval: a.number,
  ...a.members(a.count, 'last_token_count', 'last_input_count', 'last_reused_count'),
  ...a.members(a.number, 'last_process_time', 'last_eval_time', 'last_process_speed', 'last_eval_speed'),
  last_seed: a.whole,
  ...a.members(a.count, 'last_draft_success', 'last_draft_failed', 'total_gens'),
  stop_reason: a.words(-2, -1, 0, 1, 2),
  queue: a.count,
  queue_estimate: a.orNull(a.number),
  idle: a.words(0, 1),
  hordeexitcounter: a.whole,
  uptime: a.number,
  idletime: a.number,
  quiet: a.flag,
  loading: a.orNull(a.object({ name: a.text, progress: a.number })),
  'failed?': a.object({ name: a.text, reason: a.text }),
});

const serviceInfo = a.object({
  version: a.text,
  software: a.object({ name: a.text, version: a.text, repository: a.text, homepage: a.text, logo: a.text }),
  api: a.mapOf(a.open({ name: a.text, rel_url: a.text, documentation: a.text, version: a.text })),
});

const cache = a.object({
  slots: a.list(
    a.object({ tokens: a.count, busy: a.flag, 'checkpoints?': a.object({ count: a.count, bytes: a.count }) }),
  ),
  'pool?': a.object({ cells: a.count, capacity: a.count, waiting: a.count }),
  memory: snapshots,
  disk: snapshots,
  misses: a.list(
    a.object({
      time: a.moment,
      ...a.members(a.count, 'parted_at', 'prompt_tokens', 'reused_tokens'),
      ...a.members(a.text, 'before', 'kept', 'wanted'),
    }),
  ),
});

const value = (schema: JsonSchema) => a.answer({ value: schema });
const infoWith = (features: readonly string[]): Readonly<Record<string, a.Answer>> => ({
  'GET /api/v1/model': a.answer({ result: a.text }),
  'GET /api/v1/config/max_length': value(a.count),
  'GET /api/v1/config/max_context_length': value(a.count),
  'GET /api/v1/config/soft_prompt': value(a.words('')),
  'GET /api/v1/config/soft_prompts_list': a.answer({ values: a.list(a.text) }),
  'GET /api/v1/info/version': a.answer({ result: a.text }),
  'GET /api/extra/true_max_context_length': value(a.count),
  'GET /api/extra/version': a.answer({
    result: a.words('KoboldCpp'),
    version: a.text,
    protected: a.flag,
    ...Object.fromEntries([...features, ...switchNames].map((name) => [name, a.flag])),
    admin: a.words(0, 1, 2),
    parley: a.object({ name: a.text, version: a.text, 'commit?': a.text, engines: a.mapOf(a.mapOf(a.text)) }),
  }),
  'GET /api/extra/perf': a.json(performance),
  'GET /.well-known/serviceinfo': a.json(serviceInfo),
  'GET /ping': a.answer({ status: a.words('healthy') }),
  'GET /api/extra/preloadstory': a.json(a.anything),
  'GET /api/extra/cache': a.json(cache),
});

const stories: Readonly<Record<string, a.Answer>> = {
  'POST /api/extra/data/list': a.json(a.list(a.text)),
  'POST /api/extra/data/load': a.withErrors(
    a.json(a.either(a.object({ success: a.words(true), data: a.anyObject }), noStory)),
    noStory,
  ),
  'POST /api/extra/data/save': a.withErrors(a.json(stored), unsuccessful),
  'POST /api/extra/sync/list': a.withErrors(
    a.answer({
      revision: a.count,
      records: a.list(a.open({ kind: a.text, id: a.text, revision: a.count })),
      'library?': a.text,
    }),
    notKept,
  ),
  'POST /api/extra/sync/load': a.withErrors(
    a.answer({ success: a.words(true), revision: a.count, record: a.anyObject }),
    notKept,
  ),
  'POST /api/extra/sync/save': a.withErrors(a.answer({ success: a.words(true), revision: a.count }), notKept),
  'POST /api/extra/multiplayer/status': a.json(a.either(a.object(turn), a.object({ error: a.text }))),
  // The story as a client sent it, which may be empty.
  'POST /api/extra/multiplayer/getstory': a.json(a.anything),
  'POST /api/extra/multiplayer/setstory': a.withErrors(a.answer({ success: a.words(true), ...turn }), unsuccessful),
};

const attributes = a.mapOf(a.either(a.text, a.number, a.flag));
const collection = a.named(
  'Collection',
  a.object({
    ...a.members(a.text, 'id', 'name', 'description'),
    ...a.members(a.count, 'created_at', 'last_active_at', 'bytes', 'passages'),
    files: a.object({
      ...a.members(a.count, 'in_progress', 'completed', 'failed', 'cancelled', 'total'),
    }),
    folders: a.list(
      a.object({
        path: a.text,
        include: a.list(a.text),
        exclude: a.list(a.text),
        max_file_bytes: a.count,
        note: a.orNull(a.text),
      }),
    ),
    embedding: a.text,
    is_outdated: a.flag,
    metadata: a.mapOf(a.text),
    expires_after_days: a.orNull(a.count),
  }),
);

const files = a.object({
  files: a.list(
    a.object({
      ...a.members(a.text, 'id', 'name', 'path?'),
      bytes: a.count,
      created_at: a.count,
      status: a.words('in_progress', 'completed', 'failed', 'cancelled'),
      progress: a.number,
      error: a.orNull(a.object({ code: a.text, message: a.text })),
      attributes,
      passages: a.count,
    }),
  ),
});

const passage = {
  ...a.members(a.text, 'passage', 'collection', 'file', 'name'),
  'page?': a.count,
  headings: a.list(a.text),
  ...a.members(a.count, 'line?', 'start', 'end'),
  text: a.text,
  attributes,
  url: a.text,
};

const done = a.answer({ success: a.words(true) });

const documents: Readonly<Record<string, a.Answer>> = {
  'GET /api/extra/documents': a.answer({ collections: a.list(collection), can_add_folders: a.flag }),
  'POST /api/extra/documents': a.json(collection),
  'POST /api/extra/documents/search': a.answer({
    queries: a.list(a.text),
    results: a.list(
      a.object({
        ...passage,
        score: a.number,
        found: a.object({ 'vector?': a.count, 'keywords?': a.count, 'reranked?': a.number }),
      }),
    ),
    notes: a.list(a.text),
  }),
  'GET /api/extra/documents/{id}': a.json(collection),
  'GET /api/extra/documents/{id}/files': a.json(files),
  'GET /api/extra/documents/{id}/files/{file}/text': a.media('text/plain'),
  'GET /api/extra/documents/{id}/files/{file}/content': a.media('application/octet-stream'),
  'GET /api/extra/documents/passages/{passage}': a.answer({ ...passage, before: a.text, after: a.text }),
  'POST /api/extra/documents/{id}': a.json(collection),
  'POST /api/extra/documents/{id}/files': a.json(files),
  'POST /api/extra/documents/{id}/folders': a.json(collection),
  'POST /api/extra/documents/{id}/reindex': a.json(collection),
  'DELETE /api/extra/documents/{id}': done,
  'DELETE /api/extra/documents/{id}/files/{file}': done,
  'DELETE /api/extra/documents/{id}/folders': a.json(collection),
};

const memory = a.named(
  'Memory',
  a.object({
    id: a.text,
    text: a.text,
    character: a.orNull(a.text),
    pinned: a.flag,
    created_at: a.count,
    changed_at: a.count,
  }),
);
const memoryList = a.answer({ memories: a.list(memory) });

const memories: Readonly<Record<string, a.Answer>> = {
  'GET /api/extra/memories': memoryList,
  'POST /api/extra/memories': a.json(memory),
  'POST /api/extra/memories/search': memoryList,
  'POST /api/extra/memories/suggest': a.answer({ suggestions: a.list(a.text) }),
  'POST /api/extra/memories/{id}': a.json(memory),
  'DELETE /api/extra/memories/{id}': a.answer({ deleted: a.words(true) }),
};

/** What `prepare` answers is what `generate` reads. */
const song = a.object({
  ...Object.fromEntries(
    Object.entries(musicFields).flatMap(([name, { read }]) =>
      read && !songFileFields.includes(name) ? [[name, { type: read.schema?.type }]] : [],
    ),
  ),
  thinking: a.flag,
  task_type: a.words('text2music'),
});

const music: Readonly<Record<string, a.Answer>> = {
  'POST /api/extra/music/prepare': a.json(a.either(song, a.object({ error: a.text }))),
  'POST /api/extra/music/generate': a.media('audio/wav', 'audio/mpeg'),
};

const story = { prompt: 'Once upon a time, there was a lighthouse', max_length: 60, temperature: 0.7 };

/** `features`: the names of the engine kinds in the version reply. */
export const nativeAnswers = (features: readonly string[]): a.DialectAnswers => ({
  errors: { native: error },
  answers: {
    // With padding the status is sent before a failure is known.
    'POST /api/v1/generate': a.json(a.either(generated, error)),
    'POST /api/extra/generate/stream': a.events(streamed),
    // In the dialect of the request that began the stream.
    'GET /api/extra/stream/{id}': {
      ...a.oneOf(a.events(a.anything), a.lines(a.anyObject), a.json(a.anything)),
      statuses: [200, 204],
    },
    'DELETE /api/extra/stream/{id}': a.answer({ success: a.words(true) }),
    'POST /request': a.answer({ data: a.object({ seqs: a.list(a.text) }) }),
    'GET /api/extra/generate/check': checked,
    'POST /api/extra/generate/check': checked,
    'GET /api/extra/last_logprobs': lastLogprobs,
    'POST /api/extra/last_logprobs': lastLogprobs,
    'POST /api/extra/abort': a.answer({ success: a.words('true', 'false'), done: a.words('true', 'false') }),
    'POST /api/extra/embeddings': a.json(a.embeddingList),
    'POST /api/extra/tokencount': a.withErrors(
      a.answer({ value: a.count, ids: a.list(a.count), prompt: a.text }),
      a.object({ value: a.words(-1) }),
    ),
    'POST /api/extra/detokenize': a.withErrors(
      a.answer({ result: a.text, success: a.words(true) }),
      a.object({ result: a.words(''), success: a.words(false) }),
    ),
    'POST /api/extra/json_to_grammar': a.withErrors(
      a.answer({ result: a.text, success: a.flag, 'error?': a.text }),
      a.object({ result: a.words(''), success: a.words(false) }),
    ),
    ...infoWith(features),
    ...stories,
    ...music,
    ...documents,
    ...memories,
    'POST /api/extra/tts': a.sounds,
    'POST /api/extra/transcribe': a.answer({
      text: a.text,
      'detail?': a.object({ msg: a.text, type: a.text }),
      ...warnings,
    }),
    'POST /api/extra/websearch': a.withErrors(
      a.json(a.list(a.object({ title: a.text, url: a.text, desc: a.text, content: a.text }))),
      { type: 'array', maxItems: 0 },
    ),
    'POST /api/extra/webpage': a.json(
      a.either(a.object({ success: a.words(true), url: a.text, content_type: a.text, data: a.base64 }), unsuccessful),
    ),
    'POST /api/extra/shutdown': a.answer({ success: a.flag, 'pid?': a.count }),
  },
  examples: {
    'POST /api/v1/generate': story,
    'POST /api/extra/generate/stream': story,
    'POST /request': { text: story.prompt, max: 40 },
    'POST /api/extra/generate/check': { genkey: 'KCPP0001' },
    'POST /api/extra/last_logprobs': { genkey: 'KCPP0001' },
    'POST /api/extra/abort': { genkey: 'KCPP0001' },
    'POST /api/extra/tokencount': { prompt: 'Hello, world.' },
    'POST /api/extra/detokenize': { ids: [1, 2, 3] },
    'POST /api/extra/json_to_grammar': {
      schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    },
    'POST /api/extra/embeddings': { input: ['Hello', 'Good morning'] },
    'POST /api/extra/tts': { input: 'Hello, this is the voice of your computer.', response_format: 'wav' },
  },
});
