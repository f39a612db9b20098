import { describe, expect, test } from 'vitest';
import type { GenerationEvent } from '../core/events.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { TextService } from '../core/text-service.ts';
import { type BenchmarkResult, benchmark, benchmarkCsv, benchmarkText } from './benchmark.ts';
import { fakeService } from './testing/service.ts';

const measured: BenchmarkResult = {
  model: 'mini',
  contextSize: 512,
  promptTokens: 412,
  promptSeconds: 0.5,
  promptSpeed: 824,
  generatedTokens: 100,
  generationSeconds: 2,
  generationSpeed: 50,
};

/** A service whose only generation took exactly this long. */
function timed(): { text: TextService; asked: GenerationRequest[] } {
  const { text, asked } = fakeService(() => ({ pieces: [] }), { contextSize: 512 });
  const finish: GenerationEvent = {
    type: 'finish',
    reason: 'length',
    cause: 'limit',
    usage: { promptTokens: 412, cachedTokens: 0, completionTokens: 100 },
    timings: { initMs: 1, promptMs: 500, generationMs: 2000, processedTokens: 412 },
  };
  async function* events(request: GenerationRequest): AsyncGenerator<GenerationEvent> {
    asked.push(request);
    yield { type: 'start', promptTokens: 412, cachedTokens: 0, maxTokens: 100, seed: 1 };
    yield finish;
  }
  return { text: { ...text, generate: events }, asked };
}

describe('benchmark', () => {
  test('uses the timings of the engine', async () => {
    expect(await benchmark(timed().text)).toEqual({ ...measured, model: 'fake' });
  });

  test('fills the context and repeats one request: greedy, fixed seed, no early end', async () => {
    const { text, asked } = timed();
    await benchmark(text);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ maxTokens: 100, endTokens: 'ban', sampling: { temperature: 0, seed: 1 } });
    expect(asked[0]?.prompt.split(' ')).toHaveLength(513);
  });

  test('rejects with a sentence when the engine fails', async () => {
    const { text } = fakeService(() => ({ pieces: ['a'], end: 'lost' }));
    await expect(benchmark(text)).rejects.toMatchObject({ code: 'engine-lost' });
  });
});

test('benchmarkText: has one figure per line', () => {
  const text = benchmarkText(measured);
  expect(text).toContain('MaxCtx: 512');
  expect(text).toMatch(/Prompt: 412 tokens in 0\.50s \(824\.00T\/s\)/);
  expect(text).toMatch(/Generation: 100 tokens in 2\.00s \(50\.00T\/s\)\nTotal: 2\.50s$/);
});

describe('benchmarkCsv', () => {
  const time = '2026-01-02T03:04:05.000Z';

  test('writes the header once', () => {
    const [head, row, ...rest] = benchmarkCsv(measured, time, true).split('\n');
    expect(head?.split(',')).toHaveLength(9);
    expect(row?.split(',')).toEqual([time, 'mini', '512', '412', '0.500', '824.00', '100', '2.000', '50.00']);
    expect(rest).toEqual(['']);
    expect(benchmarkCsv(measured, time, false)).toBe(`${row}\n`);
  });

  test.each([
    ['a,b', '"a,b"'],
    ['say "hi"', '"say ""hi"""'],
    ['two\nlines', '"two\nlines"'],
  ])('quotes the cells for a model named %j', (model, cell) => {
    expect(benchmarkCsv({ ...measured, model }, time, false)).toBe(
      `${time},${cell},512,412,0.500,824.00,100,2.000,50.00\n`,
    );
  });
});
