import { expect, test } from 'vitest';
import type { EngineSource } from '../core/engine-source.ts';
import { AppError } from '../core/errors.ts';
import { fold } from '../core/fold.ts';
import type { RequestContext } from '../core/request-context.ts';
import type { RequestObserver } from '../core/request-observer.ts';
import { plainRequest } from '../core/testing/plain-request.ts';
import { fixedTextSource, type GenerationSink, type TextSource } from '../core/text-service.ts';
import { fakeEngine } from '../engines/testing/fake-engine.ts';
import { Queue } from './queue.ts';
import { RequestQueue } from './request-queue.ts';
import { tasks } from './tasks.ts';
import { textService } from './text.ts';

/** All calls of a watch, in order. */
function recordingWatch(): { readonly calls: string[]; readonly watch: RequestObserver } {
  const calls: string[] = [];
  const watch: RequestObserver = {
    traceparent: '00-aa-bb-01',
    queued: (kind) => calls.push(`queued ${kind}`),
    dequeued: () => calls.push('turn'),
    engineReady: (kind, model, _, error) =>
      calls.push(`engine ${kind} ${model}${error ? ` ${(error as Error).name}` : ''}`),
    generationBegun: (request, _, job) => calls.push(`begun ${request.prompt} ${job}`),
    event: ({ type }, job) => calls.push(`${type} ${job}`),
    taskBegun: (kind) => calls.push(`begun ${kind}`),
    taskEnded: (kind, error) => calls.push(`ended ${kind} ${error?.code}`),
    left: () => calls.push('left'),
  };
  return { calls, watch };
}

const requestQueue = () => new RequestQueue(new Queue({ capacity: 1, maxRequests: () => 9 }), () => 0);

function requestContextOf(watch: RequestObserver, signal = new AbortController().signal): RequestContext {
  return { genkey: '', client: 'a', signal, requestId: 'req_1', watch };
}

function text(source: (engine: ReturnType<typeof fakeEngine>) => TextSource = fixedTextSource) {
  const engine = fakeEngine({ script: () => ({ pieces: ['a', 'b'] }), pace: (next) => next() });
  return {
    engine,
    service: textService({ source: source(engine), requestQueue: requestQueue(), randomSeed: () => 1 }),
  };
}

test('watch of a text: reports queue, engine, generation, every event, and finally that it left', async () => {
  const { calls, watch } = recordingWatch();
  await fold(text().service.generate(plainRequest('Hello', 10), requestContextOf(watch)));
  expect(calls).toEqual([
    'queued text',
    'turn',
    'engine text fake',
    'begun Hello 1',
    'start 1',
    'text-delta 1',
    'text-delta 1',
    'finish 1',
    'left',
  ]);
});

test('watch of a text: the engine gets the trace context', async () => {
  const { watch } = recordingWatch();
  const { engine, service } = text();
  const sinks: GenerationSink[] = [];
  const reservation = service.reserve(requestContextOf(watch), plainRequest('Hello', 10));
  const events = reservation.generate(plainRequest('Hello', 10), (_, seed, sink) => {
    sinks.push(sink);
    return engine.generate(plainRequest('Hello', 10), seed, sink);
  });
  await fold(events);
  reservation.release();
  expect(sinks[0]?.traceparent).toBe('00-aa-bb-01');
});

test('watch of a text: reports a model that cannot be loaded, and that the job left', async () => {
  const { calls, watch } = recordingWatch();
  const failing = (engine: ReturnType<typeof fakeEngine>): TextSource => ({
    ...fixedTextSource(engine),
    use: () => Promise.reject(new AppError('model-load-failed', { model: 'fake', reason: 'x' })),
  });
  await fold(text(failing).service.generate(plainRequest('Hello', 10), requestContextOf(watch))).catch(() => undefined);
  expect(calls).toEqual(['queued text', 'turn', 'engine text fake AppError', 'error 1', 'left']);
});

test('watch of a text: reports once that it left, also if released twice', () => {
  const { calls, watch } = recordingWatch();
  const { release } = text().service.reserve(requestContextOf(watch), plainRequest('Hello', 10));
  release();
  release();
  expect(calls).toEqual(['queued text', 'left']);
});

test('watch of a task: reports queue, engine, begin, end, and finally that it left', async () => {
  const { calls, watch } = recordingWatch();
  const source: EngineSource<object> = {
    name: 'bell',
    use: async () => ({ engine: {}, release: () => undefined }),
    peek: () => undefined,
    state: () => ({ type: 'ready' }),
  };
  const work = { name: 'speech', cost: 1, initialEstimateSeconds: 1 };
  const queue = requestQueue();
  await tasks({ requestQueue: queue, work, source }).once(requestContextOf(watch), async () => 'ding');
  expect(calls).toEqual([
    'queued speech',
    'turn',
    'engine speech bell',
    'begun speech',
    'ended speech undefined',
    'left',
  ]);
});
