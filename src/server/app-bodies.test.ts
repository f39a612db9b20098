import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { settingsFrom } from '../config/flags.ts';
import { fixedTextSource } from '../core/text-service.ts';
import { fakeEmbeddingSource, fakeEngine } from '../engines/testing/fake-engine.ts';
import { ask, serve, type World } from '../http/testing/world.ts';
import { loadChatFormat } from '../models/chat-format.ts';
import { answerFault } from '../protocols/testing/answer-fault.ts';
import { goodBodies, mutatedRequest } from '../protocols/testing/random-bodies.ts';
import { createApp } from './app.ts';

/** The whole server with all of its dialects on a socket; only the model is not real. */
async function world(): Promise<World> {
  const settings = settingsFrom(new Map());
  const engine = fakeEngine({
    script: () => ({ pieces: ['Hel', 'lo'], end: 'end-token' }),
    pace: (next) => setImmediate(next),
  });
  const { endpoints } = createApp({
    settings,
    source: fixedTextSource(engine),
    taskSources: { embedding: fakeEmbeddingSource },
    format: await loadChatFormat(settings, undefined, () => undefined),
    product: { name: 'parley', version: '0.0.0' },
    observer: {},
    warn: () => undefined,
    onError: () => undefined,
    shutdown: () => undefined,
  });
  return serve(endpoints, { maxRequestMegabytes: 32 });
}

const post = (place: World, path: string, body: string) =>
  ask(place, { method: 'POST', path, body, headers: { 'content-type': 'application/json' } });

describe('app: mutated request bodies', () => {
  test.each(Object.entries(goodBodies))('%s: a valid body is accepted', async (path, body) => {
    const place = await world();
    const { status, text } = await post(place, path, JSON.stringify(body));
    expect([status, text]).toEqual([200, expect.any(String)]);
    expect(place.errors).toEqual([]);
  });

  test('are answered or rejected in the error format of the API, and the next request is served', async () => {
    const place = await world();
    const seen = new Map<number, number>();
    await fc.assert(
      fc.asyncProperty(mutatedRequest, async (request) => {
        const { status, headers, text } = await post(place, request.path, request.body);
        seen.set(status, (seen.get(status) ?? 0) + 1);
        expect(answerFault(request.path, { status, type: headers['content-type'] ?? '', text })).toBeUndefined();
        expect(place.errors.splice(0)).toEqual([]);
        expect(({} as Record<string, unknown>).polluted).toBeUndefined();
      }),
      {
        numRuns: Number(process.env.FUZZ_RUNS ?? 400),
        ...(process.env.FUZZ_SEED ? { seed: Number(process.env.FUZZ_SEED) } : {}),
      },
    );
    expect(seen.get(200)).toBeGreaterThan(40);
    expect(seen.get(400)).toBeGreaterThan(40);
    const { status, text } = await post(place, '/api/v1/generate', JSON.stringify({ prompt: 'Once' }));
    expect([status, JSON.parse(text)]).toMatchObject([200, { results: [{ text: 'Hello' }] }]);
  });
});
