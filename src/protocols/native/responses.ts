import type { JsonSchema } from '../../core/fidelity.ts';
import * as s from '../response-schemas.ts';
import { musicFields, songFileFields } from './music.ts';
import { switchNames } from './version.ts';

const warnings = { 'warnings?': s.array(s.string) };

const tokenChoice = { token: s.string, token_id: s.integer, logprob: s.number, bytes: s.array(s.count) };

const logprobs = s.named(
  'NativeLogprobs',
  s.object({
    content: s.array(s.object({ ...tokenChoice, top_logprobs: s.array(s.object(tokenChoice)) })),
    tokens: s.array(s.string),
    token_ids: s.array(s.integer),
    token_logprobs: s.array(s.number),
    top_logprobs: s.array(s.record(s.number)),
    text_offset: s.array(s.count),
  }),
);

const error = s.object({ detail: s.busyDetail });
const failure = s.object({ message: s.string, type: s.string });
const endings = ['stop', 'length', 'tool_calls', 'error'] as const;

const generated = s.object({
  results: s.array(
    s.object({
      text: s.string,
      tool_calls: s.array(s.any),
      finish_reason: s.literal(...endings),
      logprobs: s.nullable(logprobs),
      prompt_tokens: s.count,
      completion_tokens: s.count,
      'error?': failure,
      ...warnings,
    }),
  ),
});

const streamed = s.object({
  token: s.string,
  finish_reason: s.literal(...endings, null),
  'error?': failure,
  ...warnings,
});

const checked = s.jsonObject({
  results: s.array(
    s.object({
      text: s.string,
      'finish_reason?': s.literal('stop', 'length', 'tool_calls', 'abort', 'error', null),
      'queue_position?': s.count,
      'queue_estimate?': s.nullable(s.number),
    }),
  ),
});
const lastLogprobs = s.jsonObject({ logprobs: s.nullable(logprobs) });

/** A refusal in the form of the answer. */
const unsuccessful = s.object({ success: s.literal(false), error: s.string });
const stored = s.union(s.object({ success: s.literal(true), error: s.literal('') }), unsuccessful);
const turn = { turn_major: s.count, turn_minor: s.count, idle: s.boolean, data_format: s.string };
const noStory = s.object({ success: s.literal(false), data: s.nil });
const notKept = s.object({ success: s.literal(false), error: s.string, 'revision?': s.count });

const snapshots = s.nullable(
  s.object({
    ...s.properties(s.count, 'snapshots', 'bytes', 'limit_bytes?', 'other_bytes?', 'failures?'),
    'last_failure?': s.nullable(s.string),
  }),
);

/** Counters of the other kinds of engines have names of their own. */
const performance = s.looseObject({
  last_process: s.number,
  last_eval: s.number,
  ...s.properties(s.count, 'last_token_count', 'last_input_count', 'last_reused_count'),
  ...s.properties(s.number, 'last_process_time', 'last_eval_time', 'last_process_speed', 'last_eval_speed'),
  last_seed: s.integer,
  ...s.properties(s.count, 'last_draft_success', 'last_draft_failed', 'total_gens'),
  stop_reason: s.literal(-2, -1, 0, 1, 2),
  queue: s.count,
  queue_estimate: s.nullable(s.number),
  idle: s.literal(0, 1),
  hordeexitcounter: s.integer,
  uptime: s.number,
  idletime: s.number,
  quiet: s.boolean,
  loading: s.nullable(s.object({ name: s.string, progress: s.number })),
  'failed?': s.object({ name: s.string, reason: s.string }),
});

const serviceInfo = s.object({
  version: s.string,
  software: s.object({ name: s.string, version: s.string, repository: s.string, homepage: s.string, logo: s.string }),
  api: s.record(s.looseObject({ name: s.string, rel_url: s.string, documentation: s.string, version: s.string })),
});

const cache = s.object({
  slots: s.array(
    s.object({ tokens: s.count, busy: s.boolean, 'checkpoints?': s.object({ count: s.count, bytes: s.count }) }),
  ),
  'pool?': s.object({ cells: s.count, capacity: s.count, waiting: s.count }),
  memory: snapshots,
  disk: snapshots,
  misses: s.array(
    s.object({
      time: s.dateTime,
      ...s.properties(s.count, 'parted_at', 'prompt_tokens', 'reused_tokens'),
      ...s.properties(s.string, 'before', 'kept', 'wanted'),
    }),
  ),
});

const value = (schema: JsonSchema) => s.jsonObject({ value: schema });
const collection = s.named(
  'Collection',
  s.object({
    ...s.properties(s.string, 'id', 'name', 'description'),
    ...s.properties(s.count, 'created_at', 'last_active_at', 'bytes', 'passages'),
    files: s.object({
      ...s.properties(s.count, 'in_progress', 'completed', 'failed', 'cancelled', 'total'),
    }),
    folders: s.array(
      s.object({
        path: s.string,
        include: s.array(s.string),
        exclude: s.array(s.string),
        max_file_bytes: s.count,
        note: s.nullable(s.string),
      }),
    ),
    embedding: s.string,
    is_outdated: s.boolean,
    metadata: s.record(s.string),
    expires_after_days: s.nullable(s.count),
  }),
);

const files = s.object({
  files: s.array(
    s.object({
      ...s.properties(s.string, 'id', 'name', 'path?'),
      bytes: s.count,
      created_at: s.count,
      status: s.literal('in_progress', 'completed', 'failed', 'cancelled'),
      progress: s.number,
      error: s.nullable(s.object({ code: s.string, message: s.string })),
      attributes: s.fileAttributes,
      passages: s.count,
    }),
  ),
});

const passage = {
  ...s.properties(s.string, 'passage', 'collection', 'file', 'name'),
  'page?': s.count,
  headings: s.array(s.string),
  ...s.properties(s.count, 'line?', 'start', 'end'),
  text: s.string,
  attributes: s.fileAttributes,
  url: s.string,
};

const done = s.jsonObject({ success: s.literal(true) });

const memory = s.named(
  'Memory',
  s.object({
    id: s.string,
    text: s.string,
    character: s.nullable(s.string),
    pinned: s.boolean,
    created_at: s.count,
    changed_at: s.count,
  }),
);
const memoryList = s.jsonObject({ memories: s.array(memory) });

/** What `prepare` answers is what `generate` reads. */
const song = s.object({
  ...Object.fromEntries(
    Object.entries(musicFields).flatMap(([name, { read }]) =>
      read && !songFileFields.includes(name) ? [[name, { type: read.schema?.type }]] : [],
    ),
  ),
  thinking: s.boolean,
  task_type: s.literal('text2music'),
});

const story = { prompt: 'Once upon a time, there was a lighthouse', max_length: 60, temperature: 0.7 };

/** `engineFeatures`: the names that engine kinds have in the version reply. */
export const nativeResponses = (engineFeatures: readonly string[]): s.DialectResponses => ({
  errors: { native: error },
  responses: {
    // With padding the status is sent before a failure is known.
    generate: s.json(s.union(generated, error)),
    generateStream: s.sse(streamed),
    // In the dialect of the request that began the stream.
    resumedStream: {
      ...s.oneOf(s.sse(s.any), s.ndjson(s.anyObject), s.json(s.any)),
      statuses: [200, 204],
    },
    request: s.jsonObject({ data: s.object({ seqs: s.array(s.string) }) }),
    check: checked,
    logprobs: lastLogprobs,
    abort: s.jsonObject({ success: s.literal('true', 'false'), done: s.literal('true', 'false') }),
    embeddings: s.json(s.embeddingList),
    countTokens: s.withErrors(
      s.jsonObject({ value: s.count, ids: s.array(s.count), prompt: s.string }),
      s.object({ value: s.literal(-1) }),
    ),
    detokenize: s.withErrors(
      s.jsonObject({ result: s.string, success: s.literal(true) }),
      s.object({ result: s.literal(''), success: s.literal(false) }),
    ),
    grammar: s.withErrors(
      s.jsonObject({ result: s.string, success: s.boolean, 'error?': s.string }),
      s.object({ result: s.literal(''), success: s.literal(false) }),
    ),
    text: s.jsonObject({ result: s.string }),
    count: value(s.count),
    softPrompt: value(s.literal('')),
    softPrompts: s.jsonObject({ values: s.array(s.string) }),
    version: s.jsonObject({
      result: s.literal('KoboldCpp'),
      version: s.string,
      protected: s.boolean,
      ...Object.fromEntries([...engineFeatures, ...switchNames].map((name) => [name, s.boolean])),
      admin: s.literal(0, 1, 2),
      parley: s.object({
        name: s.string,
        version: s.string,
        'commit?': s.string,
        engines: s.record(s.record(s.string)),
      }),
    }),
    performance: s.json(performance),
    serviceInfo: s.json(serviceInfo),
    ping: s.jsonObject({ status: s.literal('healthy') }),
    story: s.json(s.any),
    cache: s.json(cache),
    saveSlots: s.json(s.array(s.string)),
    loadSlot: s.withErrors(
      s.json(s.union(s.object({ success: s.literal(true), data: s.anyObject }), noStory)),
      noStory,
    ),
    saveSlot: s.withErrors(s.json(stored), unsuccessful),
    syncedRecords: s.withErrors(
      s.jsonObject({
        revision: s.count,
        records: s.array(s.looseObject({ kind: s.string, id: s.string, revision: s.count })),
        'library?': s.string,
      }),
      notKept,
    ),
    loadRecord: s.withErrors(
      s.jsonObject({ success: s.literal(true), revision: s.count, record: s.anyObject }),
      notKept,
    ),
    saveRecord: s.withErrors(s.jsonObject({ success: s.literal(true), revision: s.count }), notKept),
    storyStatus: s.json(s.union(s.object(turn), s.object({ error: s.string }))),
    // The story as a client sent it, which may be empty.
    setStory: s.withErrors(s.jsonObject({ success: s.literal(true), ...turn }), unsuccessful),
    prepareSong: s.json(s.union(song, s.object({ error: s.string }))),
    song: s.media('audio/wav', 'audio/mpeg'),
    collections: s.jsonObject({ collections: s.array(collection), can_add_folders: s.boolean }),
    collection: s.json(collection),
    searchDocuments: s.jsonObject({
      queries: s.array(s.string),
      results: s.array(
        s.object({
          ...passage,
          score: s.number,
          found: s.object({ 'vector?': s.count, 'keywords?': s.count, 'reranked?': s.number }),
        }),
      ),
      notes: s.array(s.string),
    }),
    documentFiles: s.json(files),
    documentText: s.media('text/plain'),
    documentContent: s.media('application/octet-stream'),
    passage: s.jsonObject({ ...passage, before: s.string, after: s.string }),
    success: done,
    memories: memoryList,
    memory: s.json(memory),
    suggestions: s.jsonObject({ suggestions: s.array(s.string) }),
    deletedMemory: s.jsonObject({ deleted: s.literal(true) }),
    speech: s.audio,
    transcription: s.jsonObject({
      text: s.string,
      'detail?': s.object({ msg: s.string, type: s.string }),
      ...warnings,
    }),
    webSearch: s.withErrors(
      s.json(s.array(s.object({ title: s.string, url: s.string, desc: s.string, content: s.string }))),
      { type: 'array', maxItems: 0 },
    ),
    webPage: s.json(
      s.union(
        s.object({ success: s.literal(true), url: s.string, content_type: s.string, data: s.base64 }),
        unsuccessful,
      ),
    ),
    shutdown: s.jsonObject({ success: s.boolean, 'pid?': s.count }),
  },
  examples: {
    generate: story,
    generateStream: story,
    request: { text: story.prompt, max: 40 },
    check: { genkey: 'KCPP0001' },
    logprobs: { genkey: 'KCPP0001' },
    abort: { genkey: 'KCPP0001' },
    countTokens: { prompt: 'Hello, world.' },
    detokenize: { ids: [1, 2, 3] },
    grammar: {
      schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    },
    embeddings: { input: ['Hello', 'Good morning'] },
    speech: { input: 'Hello, this is the voice of your computer.', response_format: 'wav' },
  },
});
