import { describe, expect, test } from 'vitest';
import type { EngineSource } from '../core/engine-source.ts';
import { AppError } from '../core/errors.ts';
import type { SpeechEngine, SpeechEvent, SpeechRequest } from '../core/speech.ts';
import { Queue } from './queue.ts';
import { RequestQueue } from './request-queue.ts';
import { speechService } from './task-services.ts';

const request: SpeechRequest = {
  text: 'Hello.',
  voice: 'v',
  speed: 1,
  language: '',
  instruction: '',
  seed: -1,
  format: 'wav',
  streamed: true,
};
const start: SpeechEvent = { type: 'start', notes: [] };
const finish: SpeechEvent = { type: 'finish', seconds: 1 };

/** An engine with scripted events. */
function world({ places = 10 } = {}) {
  const spoken: { readonly request: SpeechRequest; readonly signal: AbortSignal; go: () => void }[] = [];
  const uses = { held: 0 };
  const engine: SpeechEngine = {
    facts: () => undefined,
    async *speak(asked, signal) {
      yield start;
      await new Promise<void>((resolve) => {
        spoken.push({ request: asked, signal, go: resolve });
        signal.addEventListener('abort', () => resolve());
      });
      if (!signal.aborted) yield finish;
    },
  };
  const source: EngineSource<SpeechEngine> = {
    name: 'flite',
    use: async () => {
      uses.held += 1;
      return {
        engine,
        release: () => {
          uses.held -= 1;
        },
      };
    },
    peek: () => engine,
    state: () => ({ type: 'ready' }),
  };
  const requestQueue = new RequestQueue(new Queue({ capacity: 1, maxRequests: () => places }), () => 0);
  const speech = speechService({
    requestQueue,
    work: { name: 'speech', cost: 0.5, initialEstimateSeconds: 2 },
    source: { ...source, voices: async () => [], maxWords: 7 },
  });
  const say = (genkey = '') => {
    const stop = new AbortController();
    const heard: SpeechEvent[] = [];
    const events = speech.speak(request, { genkey, client: 'me', signal: stop.signal });
    const done = (async () => {
      for await (const event of events) heard.push(event);
    })();
    done.catch(() => undefined);
    return { stop, heard, done };
  };
  return { requestQueue, speech, spoken, uses, say };
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('speechService', () => {
  test('has a name, a maximum length and voices', async () => {
    const { speech } = world();
    expect([speech.name, speech.maxWords, await speech.voices()]).toEqual(['flite', 7, []]);
  });

  test('yields the events of the engine, and counts tasks', async () => {
    const { say, spoken, requestQueue, uses } = world();
    const { heard, done } = say();
    await settled();
    expect(heard).toEqual([start]);
    expect(uses.held).toBe(1);
    spoken[0]?.go();
    await done;
    expect(heard).toEqual([start, finish]);
    expect(uses.held).toBe(0);
    expect(requestQueue.count('speech')).toMatchObject({ done: 1 });
  });

  test('speaks one text at a time', async () => {
    const { say, spoken } = world();
    const [first, second] = [say(), say()];
    await settled();
    expect(spoken).toHaveLength(1);
    spoken[0]?.go();
    await first.done;
    await settled();
    expect(spoken).toHaveLength(2);
    spoken[1]?.go();
    await second.done;
  });

  test('stops when its client disconnects, and the next one starts', async () => {
    const { say, spoken, uses, requestQueue } = world();
    const [first, second] = [say(), say()];
    await settled();
    first.stop.abort(new AppError('stopped', {}));
    await expect(first.done).rejects.toMatchObject({ code: 'stopped' });
    expect(spoken[0]?.signal.aborted).toBe(true);
    await settled();
    spoken[1]?.go();
    await second.done;
    expect(uses.held).toBe(0);
    expect(requestQueue.count('speech').done).toBe(1);
  });

  test('a client that disconnects in the queue never reaches the engine', async () => {
    const { say, spoken } = world();
    const [first, second] = [say(), say()];
    await settled();
    second.stop.abort(new AppError('stopped', {}));
    await expect(second.done).rejects.toMatchObject({ code: 'stopped' });
    spoken[0]?.go();
    await first.done;
    await settled();
    expect(spoken).toHaveLength(1);
  });

  test('rejects when the queue is full', async () => {
    const { speech, say } = world({ places: 1 });
    const { stop } = say();
    await settled();
    const context = { genkey: '', client: 'other', signal: new AbortController().signal };
    const refused = [1, 2].map(() => {
      try {
        speech.speak(request, context);
        return 'taken';
      } catch (error) {
        return (error as AppError).code;
      }
    });
    expect(refused).toContain('busy');
    stop.abort();
  });
});
