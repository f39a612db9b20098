import type { ChatRequest } from '../../chat/request.ts';
import type { ChatService } from '../../chat/service.ts';
import type { DocumentLibrary } from '../../core/documents.ts';
import type { GenerationEvent } from '../../core/events.ts';
import type { LibrariesOf } from '../../core/owner.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { RequestContext } from '../../core/request-context.ts';
import {
  emptyCacheReport,
  type Performance,
  type Reservation,
  type TextModel,
  type TextService,
  type TextState,
} from '../../core/text-service.ts';
import type { TranscriptionEvent, TranscriptionRequest, TranscriptionService } from '../../core/transcription.ts';
import type { Call } from '../../http/call.ts';
import type { ControlLimits } from '../controls/decode.ts';
import type { DialectContext } from '../dialect.ts';

/** Test doubles for dialects: services that play what a test tells them to, and note what they were asked. */

export type Script = readonly GenerationEvent[] | (() => AsyncIterable<GenerationEvent>);

const noTimings = { initMs: 0, promptMs: 0, generationMs: 0, processedTokens: 0 };

export function startEvent(own: Partial<Extract<GenerationEvent, { type: 'start' }>> = {}): GenerationEvent {
  return { type: 'start', promptTokens: 7, cachedTokens: 3, maxTokens: 100, seed: 1, ...own };
}

export function finishEvent(own: Partial<Extract<GenerationEvent, { type: 'finish' }>> = {}): GenerationEvent {
  const usage = { promptTokens: 7, cachedTokens: 3, completionTokens: 5 };
  return { type: 'finish', reason: 'stop', cause: 'end-token', usage, timings: noTimings, ...own };
}

export async function* play(events: readonly GenerationEvent[]): AsyncGenerator<GenerationEvent> {
  yield* events;
}

const played = (script: Script): AsyncIterable<GenerationEvent> =>
  typeof script === 'function' ? script() : play(script);

const model: TextModel = {
  name: 'mini',
  path: '/models/mini.gguf',
  contextSize: 4096,
  trainedContext: 8192,
  vocabularySize: 32_000,
  vocabularyType: 2,
  embeddingLength: 512,
  parameters: 1,
  sizeBytes: 1,
  description: '',
  chatTemplate: undefined,
  specialTokens: { bos: '<s>', eos: '</s>' },
  inputs: { image: false, audio: false },
};

export function readyState(own: Partial<TextModel> = {}): TextState & { readonly type: 'ready' } {
  return { type: 'ready', model: { ...model, ...own } };
}

/** A model that takes pictures and sounds, or what the test says. */
export function seeing(inputs: TextModel['inputs'] = { image: true, audio: true }): TextState {
  return readyState({ inputs });
}

export const idlePerformance: Performance = {
  processMsPerToken: 0,
  evalMsPerToken: 0,
  promptTokens: 0,
  processedTokens: 0,
  reusedTokens: 0,
  completionTokens: 0,
  seed: 0,
  draftAccepted: 0,
  draftRejected: 0,
  generations: 0,
  stop: 'none',
  waiting: 0,
  estimateSeconds: 0,
  idle: true,
  uptimeSeconds: 0,
  idleSeconds: 0,
};

export interface AskedText {
  readonly request: GenerationRequest;
  readonly requestContext: RequestContext;
}

/** A place in a queue that has no other: nobody has to be let in. */
export const onlyPlace: Omit<Reservation, 'generate'> = {
  pass: () => undefined,
  rest: () => undefined,
  stopped: new AbortController().signal,
  release: () => undefined,
};

/** A text service without a model: every generation plays the script, and each character counts as one token. */
export function scriptedText(script: Script, own: Partial<TextService> = {}) {
  const asked: AskedText[] = [];
  const generate = (request: GenerationRequest, requestContext: RequestContext): AsyncIterable<GenerationEvent> => {
    asked.push({ request, requestContext });
    return played(script);
  };
  const text: TextService = {
    generate,
    reserve: (requestContext) => ({
      generate: (request) => generate(request, requestContext),
      ...onlyPlace,
      stopped: requestContext.signal,
    }),
    room: () => 0,
    tokenize: async (words, { addSpecial }) => [
      ...(addSpecial ? [1] : []),
      ...Array.from(words, (each) => each.codePointAt(0) ?? 0),
    ],
    detokenize: async (tokens) => String.fromCodePoint(...tokens),
    pieces: async (tokens) => tokens.map((token) => String.fromCodePoint(token)),
    check: () => '',
    finished: () => undefined,
    queuePosition: () => undefined,
    exclusively: (_, work) => work(),
    abort: () => 'refused',
    lastLogprobs: () => undefined,
    state: () => ({ type: 'ready', model }),
    contextSize: () => model.contextSize,
    performance: () => idlePerformance,
    cacheReport: async () => emptyCacheReport,
    states: () => undefined,
    ...own,
  };
  return { text, asked };
}

export interface AskedChat {
  readonly request: ChatRequest;
  readonly requestContext: RequestContext;
}

/** A chat service without a model: every reply plays the script. */
export function scriptedChat(script: Script, own: Partial<ChatService> = {}) {
  const asked: AskedChat[] = [];
  const reply = (request: ChatRequest, requestContext: RequestContext): AsyncIterable<GenerationEvent> => {
    asked.push({ request, requestContext });
    return played(script);
  };
  const chat: ChatService = {
    reply,
    replies: (request, requestContext, count) => Array.from({ length: count }, () => reply(request, requestContext)),
    render: async () => ({ by: 'adapter', prompt: '', memory: '', stop: [], warnings: [] }),
    countTokens: async () => 42,
    thinksAnyway: async () => false,
    ...own,
  };
  return { chat, asked };
}

export interface AskedTranscription {
  /** The recording as text, so that it can be compared. */
  readonly request: Omit<TranscriptionRequest, 'recording'> & { readonly recording: string };
  readonly requestContext: RequestContext;
}

/** Hears the same in every recording, or fails. */
export function scriptedTranscription(script: readonly TranscriptionEvent[] | Error) {
  const asked: AskedTranscription[] = [];
  const transcription: TranscriptionService = {
    name: 'ear',
    async *transcribe({ recording, ...request }, requestContext) {
      asked.push({ request: { ...request, recording: Buffer.from(recording).toString('latin1') }, requestContext });
      if (script instanceof Error) throw script;
      yield* script;
    },
  };
  return { transcription, asked };
}

export const controlLimits: ControlLimits = {
  defaultMaxTokens: 2048,
  maxTokensLimit: 0,
  contextSize: 4096,
  overflow: 'refuse',
  guidance: false,
  adapter: {},
  schemaToGrammar: (schema) => `root ::= ${Object.keys(schema as object).join(' ')}`,
};

/** Everything that a dialect is built on: ids count up from 1, and no time passes. */
export function dialectParts(own: Partial<DialectContext> = {}): DialectContext {
  let ids = 0;
  return {
    text: scriptedText([]).text,
    chat: scriptedChat([]).chat,
    controlLimits: () => controlLimits,
    applyDefaults: (body) => body,
    modelName: () => 'mini',
    now: () => 1_700_000_000_000,
    startedAt: 1_700_000_000_000,
    newId: (prefix) => {
      ids += 1;
      return `${prefix}${ids}`;
    },
    startTimer: () => ({ restart: () => undefined, cancel: () => undefined }),
    ...own,
  };
}

export function callOf(path: string, body: unknown, own: Partial<Call> = {}): Call {
  return {
    id: 'req_1',
    method: 'POST',
    path,
    query: new URLSearchParams(),
    headers: {},
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    signal: new AbortController().signal,
    remoteAddress: '127.0.0.1',
    authorized: true,
    ...own,
  };
}

/** Every collection is there, and nothing is in it. */
export const emptyCollections: LibrariesOf<DocumentLibrary> = {
  of: () =>
    ({
      collection: async (id: string) => ({ id }),
      search: async () => ({ queries: [], hits: [], notes: [] }),
    }) as unknown as DocumentLibrary,
};
