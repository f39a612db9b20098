import { expect, test } from 'vitest';
import type { EmbeddingEngine } from '../core/embedding.ts';
import type { EngineSource } from '../core/engine-source.ts';
import { fold } from '../core/fold.ts';
import type { ImageEngine, ImageRequest } from '../core/image.ts';
import type { MusicEngine, MusicRequest } from '../core/music.ts';
import type { RequestContext } from '../core/request-context.ts';
import type { SpeechEngine, SpeechRequest } from '../core/speech.ts';
import { plainRequest } from '../core/testing/plain-request.ts';
import { fixedTextSource } from '../core/text-service.ts';
import type { TranscriptionEngine, TranscriptionRequest } from '../core/transcription.ts';
import type { UsageCounts } from '../core/usage.ts';
import { fakeEngine } from '../engines/testing/fake-engine.ts';
import { imageService, RunningImageJobs } from './image.ts';
import { musicService } from './music.ts';
import { Queue } from './queue.ts';
import { RequestQueue } from './request-queue.ts';
import { embeddingService, speechService, transcriptionService } from './task-services.ts';
import { textService } from './text.ts';

const requestQueue = new RequestQueue(new Queue({ capacity: 1, maxRequests: () => 9 }), () => 0);
const work = { name: 'task', cost: 1, initialEstimateSeconds: 1 };

function source<Engine>(engine: object): EngineSource<Engine> {
  const use = async () => ({ engine: engine as Engine, release: () => undefined });
  return { name: 'tiny', use, peek: () => undefined, state: () => ({ type: 'ready' }) };
}

/** What the watch of a request is told while it runs. */
async function counted(run: (context: RequestContext) => AsyncIterable<unknown> | Promise<unknown>) {
  const used: Partial<UsageCounts>[] = [];
  const watch = { used: (counts: Partial<UsageCounts>) => void used.push(counts) };
  const running = run({ genkey: '', client: 'a', signal: new AbortController().signal, watch });
  if (running instanceof Promise) await running;
  else for await (const _ of running);
  return used;
}

async function* events(...all: object[]) {
  yield* all;
}

test('usage of a text: the tokens of its prompt and of its reply', async () => {
  const engine = fakeEngine({ script: () => ({ pieces: ['a', 'b'] }), pace: (next) => next() });
  const text = textService({ source: fixedTextSource(engine), requestQueue, randomSeed: () => 1 });
  const reply = await fold(
    text.generate(plainRequest('Hello', 10), { genkey: '', client: 'a', signal: new AbortController().signal }),
  );
  const { promptTokens, completionTokens } = reply.usage;
  expect(completionTokens).toBeGreaterThan(0);
  expect(await counted((context) => text.generate(plainRequest('Hello', 10), context))).toEqual([
    { promptTokens, completionTokens },
  ]);
});

test('usage of images: each image', async () => {
  const generate = () => events({ type: 'progress' }, { type: 'image', index: 0 }, { type: 'image', index: 1 });
  const service = imageService({
    requestQueue,
    work,
    imageJobs: new RunningImageJobs(() => 0),
    source: { ...source<ImageEngine>({ generate, facts: () => undefined }), facts: {} as never },
  });
  const request = { count: 2, seed: 1, steps: 1 } as ImageRequest;
  expect(await counted((context) => service.generate(request, context))).toEqual([{ images: 1 }, { images: 1 }]);
});

test('usage of sound: the seconds that are spoken, played and transcribed', async () => {
  const finish = () => events({ type: 'start', seconds: 9 }, { type: 'finish', seconds: 2.5 });
  const said = () => events({ type: 'audio' }, { type: 'finish', seconds: 2.5 });
  const voices = { voices: async () => [], maxWords: 7 };
  const speech = speechService({ requestQueue, work, source: { ...source<SpeechEngine>({ speak: said }), ...voices } });
  const music = musicService({ requestQueue, work, source: source<MusicEngine>({ generate: said }) });
  const transcription = transcriptionService({
    requestQueue,
    work,
    source: source<TranscriptionEngine>({ transcribe: finish }),
  });
  expect([
    await counted((context) => speech.speak({} as SpeechRequest, context)),
    await counted((context) => music.generate({} as MusicRequest, context)),
    await counted((context) => transcription.transcribe({} as TranscriptionRequest, context)),
  ]).toEqual([[{ audioSecondsOut: 2.5 }], [{ audioSecondsOut: 2.5 }], [{ audioSecondsIn: 2.5 }]]);
});

test('usage of embeddings: the tokens of all texts', async () => {
  const engine = { facts: () => undefined, embed: async () => ({ tokens: [3, 4] }), rank: async () => ({ tokens: 5 }) };
  const service = embeddingService({ requestQueue, work, source: source<EmbeddingEngine>(engine) });
  expect([
    await counted((context) => service.embed({ inputs: ['a', 'b'], truncate: false }, context)),
    await counted((context) => service.rank({ query: '', documents: [], truncate: false }, context)),
  ]).toEqual([[{ promptTokens: 7 }], [{ promptTokens: 5 }]]);
});
