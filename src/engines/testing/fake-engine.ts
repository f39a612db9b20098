import type { EmbeddingEngine } from '../../core/embedding.ts';
import type { EngineSource } from '../../core/engine-source.ts';
import { AppError } from '../../core/errors.ts';
import type { FinishCause, FinishReason } from '../../core/events.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { GenerationSink, RunningGeneration, TextEngine, TextState } from '../../core/text-service.ts';

/** What the fake says to a request, and how it ends. */
export interface Script {
  readonly pieces: readonly string[];
  /** `lost` ends as if the engine's process had died; without a word the limit is the end. */
  readonly end?: 'end-token' | 'limit' | 'lost';
}

export interface FakeEngineDeps {
  readonly script: (request: GenerationRequest, seed: number) => Script;
  /** Calls back before each piece and before the end: at once, after a while, or when a test says so. */
  readonly pace: (next: () => void) => void;
  readonly contextSize?: number;
}

export interface FakeEngine extends TextEngine {
  start(): void;
  stop(): Promise<void>;
  /** As if a model were loaded, lost or being loaded again. */
  become(state: TextState): void;
  /** How many generations run now, and how many have been begun at all. */
  readonly running: number;
  readonly begun: number;
}

const fakeModelName = 'fake';

/** A text engine without a model, which says so: for timing and fault tests, never for people. */
export function fakeEngine({ script, pace, contextSize = 2048 }: FakeEngineDeps): FakeEngine {
  let state: TextState = readyState(contextSize);
  let running = 0;
  let begun = 0;
  let whenSettled: (() => void)[] = [];

  function generate(request: GenerationRequest, seed: number, sink: GenerationSink): RunningGeneration {
    const { pieces, end = 'limit' } = script(request, seed);
    const shown = pieces.slice(0, request.maxTokens);
    const promptTokens = countWords(request.memory + request.prompt);
    let said = 0;
    let over = false;
    running += 1;
    begun += 1;
    const finish = (cause: FinishCause) => {
      over = true;
      running -= 1;
      const usage = { promptTokens, cachedTokens: 0, completionTokens: said };
      const timings = { initMs: 0, promptMs: 0, generationMs: 0, processedTokens: promptTokens };
      sink.event({ type: 'finish', reason: reasons[cause], cause, usage, timings });
    };
    const lose = () => {
      over = true;
      running -= 1;
      sink.event({ type: 'error', error: new AppError('engine-lost', { capability: 'text' }) });
    };
    const step = () => {
      if (over) return;
      const piece = shown[said];
      if (piece !== undefined) {
        said += 1;
        sink.event({ type: 'text-delta', text: piece });
        pace(step);
      } else if (end === 'lost') lose();
      else finish(end);
    };
    sink.event({ type: 'start', promptTokens, cachedTokens: 0, maxTokens: request.maxTokens, seed });
    pace(step);
    return { abort: () => !over && finish('aborted') };
  }

  return {
    start: () => {},
    stop: () => Promise.resolve(),
    become: (next) => {
      state = next;
      if (next.type === 'loading') return;
      const waiting = whenSettled;
      whenSettled = [];
      for (const resolve of waiting) resolve();
    },
    get running() {
      return running;
    },
    get begun() {
      return begun;
    },
    state: () => state,
    contextSize: () => contextSize,
    settled: () => (state.type === 'loading' ? new Promise((resolve) => whenSettled.push(resolve)) : Promise.resolve()),
    generate,
    tokenize: (text) => Promise.resolve(Array.from(text, (character) => character.codePointAt(0) ?? 0)),
    detokenize: (tokens) => Promise.resolve(tokens.map(character).join('')),
    pieces: (tokens) => Promise.resolve(tokens.map(character)),
  };
}

const reasons: Record<FinishCause, FinishReason> = {
  'end-token': 'stop',
  'stop-text': 'stop',
  limit: 'length',
  aborted: 'aborted',
};

/** Its tokens are code points; other numbers have no text, as in a real vocabulary. */
function character(token: number): string {
  return token >= 0 && token <= 0x10ffff ? String.fromCodePoint(token) : '';
}

function countWords(text: string): number {
  return text.split(/\s+/).filter((word) => word !== '').length;
}

function readyState(contextSize: number): TextState {
  const model = {
    name: fakeModelName,
    path: '',
    contextSize,
    trainedContext: contextSize,
    vocabularySize: 0x110000,
    vocabularyType: 0,
    embeddingLength: 0,
    parameters: 0,
    sizeBytes: 0,
    description: 'no model at all: a fake for tests',
    chatTemplate: undefined,
    specialTokens: { bos: '', eos: '' },
    inputs: { image: false, audio: false },
  };
  return { type: 'ready', model };
}

const [dimensions, maxTokens] = [4, 64];

/** An embedding engine without a model: a character is a token, and a vector tells how many there were. */
const fakeEmbedding: EmbeddingEngine = {
  facts: () => ({ dimensions, maxTokens, pooling: 'mean', architecture: 'fake', parameters: 0, sizeBytes: 0 }),
  embed: async ({ inputs, truncate, pooling = 'mean' }) => {
    const truncated = inputs.flatMap(({ length }, index) => (length > maxTokens ? [index] : []));
    const [first] = truncated;
    if (first !== undefined && !truncate) {
      const tokens = inputs[first]?.length ?? 0;
      throw new AppError('input-too-long', { field: `input[${first}]`, tokens, maxTokens: maxTokens });
    }
    const tokens = inputs.map(({ length }) => Math.min(length, maxTokens));
    const vectors = tokens.map((count) =>
      Array.from({ length: pooling === 'none' ? count : 1 }, () => Float32Array.of(count, 1, -1, 0.5)),
    );
    return { vectors, tokens, truncated, pooling };
  },
  rank: async ({ documents }) => ({
    scores: documents.map(({ length }) => 1 / (1 + length)),
    tokens: documents.length,
    truncated: [],
  }),
};

export const fakeEmbeddingSource: EngineSource<EmbeddingEngine> = {
  name: 'fake-embedding',
  use: async () => ({ engine: fakeEmbedding, release: () => undefined }),
  peek: () => fakeEmbedding,
  state: () => ({ type: 'ready' }),
};
