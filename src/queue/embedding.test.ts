import { describe, expect, test } from 'vitest';
import type { EmbeddingEngine, EmbeddingFacts } from '../core/embedding.ts';
import type { EngineSource, SourceState } from '../core/engine-source.ts';
import type { RequestContext } from '../core/request-context.ts';
import { Queue } from './queue.ts';
import { RequestQueue } from './request-queue.ts';
import { embeddingService } from './task-services.ts';

const facts: EmbeddingFacts = {
  dimensions: 2,
  maxTokens: 8,
  pooling: 'mean',
  architecture: 'bert',
  parameters: 1,
  sizeBytes: 1,
};

function world(own: Partial<EngineSource<EmbeddingEngine>> = {}) {
  let now = 0;
  let state: SourceState = { type: 'unloaded' };
  let loadMs = 0;
  const requestQueue = new RequestQueue(new Queue({ capacity: 8, maxRequests: () => 20, now: () => now }), () => now);
  const signals: AbortSignal[] = [];
  const engine: EmbeddingEngine = {
    facts: () => facts,
    embed: async ({ inputs }, signal) => {
      signals.push(signal);
      signal.throwIfAborted();
      const vectors = inputs.map(({ length }) => [Float32Array.of(length)]);
      return { vectors, tokens: inputs.map(() => 1), truncated: [], pooling: 'mean' };
    },
    rank: async ({ documents }, signal) => {
      signals.push(signal);
      return { scores: documents.map(({ length }) => length), tokens: 1, truncated: [] };
    },
  };
  const source: EngineSource<EmbeddingEngine> = {
    name: 'tiny',
    use: async () => {
      now += loadMs;
      state = { type: 'ready' };
      return { engine, release: () => undefined };
    },
    peek: () => (state.type === 'ready' ? engine : undefined),
    state: () => state,
    ...own,
  };
  return {
    requestQueue,
    source,
    signals,
    service: embeddingService({
      requestQueue,
      source,
      work: { name: 'embedding', cost: 0.1, initialEstimateSeconds: 0.2 },
    }),
    unload: () => {
      state = { type: 'unloaded' };
    },
    takes: (milliseconds: number) => {
      loadMs = milliseconds;
    },
  };
}

const context = (signal = new AbortController().signal): RequestContext => ({
  genkey: 'K',
  client: 'c',
  signal,
});

describe('embeddingService', () => {
  test('returns the result of the engine and its wait', async () => {
    const { service, takes } = world();
    takes(1200);
    const found = await service.embed({ inputs: ['abc'], truncate: false }, context());
    expect(found).toMatchObject({ vectors: [[Float32Array.of(3)]], tokens: [1], loadMs: 1200 });
    takes(0);
    expect((await service.rank({ query: 'q', documents: ['ab'], truncate: true }, context())).loadMs).toBe(0);
  });

  test('aborts when the client disconnects', async () => {
    const { service } = world();
    const gone = AbortSignal.abort(new Error('left'));
    await expect(service.embed({ inputs: ['a'], truncate: false }, context(gone))).rejects.toThrow('left');
  });

  test('is stopped by its key', async () => {
    const { service, requestQueue, signals } = world({});
    const work = service.rank({ query: 'q', documents: ['a'], truncate: true }, context());
    await work;
    expect(signals).toHaveLength(1);
    expect(requestQueue.count('embedding').done).toBe(1);
  });

  test('rejects with the reason of a failed engine', async () => {
    const { service } = world({ use: () => Promise.reject(new Error('no such file')) });
    await expect(service.embed({ inputs: ['a'], truncate: false }, context())).rejects.toThrow('no such file');
  });
});

describe('embeddingService: model', () => {
  test('has the name, and its facts once it was loaded', async () => {
    const { service, unload } = world();
    expect([service.name, service.facts(), service.loaded()]).toEqual(['tiny', undefined, false]);
    await service.embed({ inputs: ['a'], truncate: false }, context());
    expect([service.facts(), service.loaded()]).toEqual([facts, true]);
    unload();
    expect([service.facts(), service.loaded()]).toEqual([facts, false]);
  });

  test('may have its idle time', () => {
    const kept: number[] = [];
    const { service } = world({ keepFor: (milliseconds) => kept.push(milliseconds), expiresAt: () => 77 });
    service.keepFor?.(5);
    expect([kept, service.expiresAt?.()]).toEqual([[5], 77]);
    expect(world().service.keepFor).toBeUndefined();
  });
});
