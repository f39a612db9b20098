import { describe, expect, test } from 'vitest';
import type { SpeechEvent, SpeechFacts, SpeechRequest } from '../../core/speech.ts';
import type { FromTaskWorker, ToTaskWorker } from '../host/task-messages.ts';
import { fakeWorkers } from '../host/testing/workers.ts';
import { SpeechHost, type SpeechOptions } from './host.ts';

const facts: SpeechFacts = { name: 'flite', voices: [{ name: 'slt', language: 'en', description: '' }] };
const options: SpeechOptions = { name: 'flite', engine: { type: 'flite', path: '/flite.wasm' } };
const request: SpeechRequest = {
  text: 'Hello.',
  voice: 'slt',
  speed: 1,
  language: '',
  instruction: '',
  seed: -1,
  format: 'wav',
  streamed: true,
};

function world() {
  const { spawn, startTimer, worker, workers } = fakeWorkers<
    ToTaskWorker<SpeechOptions, SpeechRequest>,
    FromTaskWorker<SpeechFacts, SpeechEvent>
  >();
  const host = new SpeechHost({ capability: 'speech', entry: 'main.js', options, spawn, startTimer });
  host.start();
  worker().say({ type: 'loaded', facts });
  const stop = new AbortController();
  const heard: SpeechEvent[] = [];
  const speaking = (async () => {
    for await (const event of host.speak(request, stop.signal)) heard.push(event);
  })();
  speaking.catch(() => undefined);
  return { host, worker, workers, stop, heard, speaking };
}

describe('SpeechHost', () => {
  test('sends the load options and has the facts after loading', async () => {
    const { host, worker } = world();
    expect(worker().sent[0]).toEqual({ type: 'load', options });
    expect(host.facts()).toEqual(facts);
    expect(host.state()).toEqual({ type: 'ready' });
    await host.settled();
  });

  test('yields audio in order', async () => {
    const { worker, heard, speaking } = world();
    await Promise.resolve();
    expect(worker().sent[1]).toEqual({ type: 'begin', id: 1, task: request });
    worker().say({ type: 'event', id: 1, event: { type: 'start', notes: ['a note'] } });
    worker().say({ type: 'event', id: 1, event: { type: 'audio', bytes: Uint8Array.of(1, 2) } });
    worker().say({ type: 'event', id: 1, event: { type: 'audio', bytes: Uint8Array.of(3) } });
    worker().say({ type: 'event', id: 1, event: { type: 'finish', seconds: 2 } });
    worker().say({ type: 'ended', id: 1 });
    await speaking;
    expect(heard).toEqual([
      { type: 'start', notes: ['a note'] },
      { type: 'audio', bytes: Uint8Array.of(1, 2) },
      { type: 'audio', bytes: Uint8Array.of(3) },
      { type: 'finish', seconds: 2 },
    ]);
  });

  test('an abort stops the task', async () => {
    const { worker, stop, speaking } = world();
    await Promise.resolve();
    stop.abort(new Error('gone'));
    expect(worker().sent.at(-1)).toEqual({ type: 'abort', id: 1 });
    worker().say({ type: 'ended', id: 1 });
    await expect(speaking).rejects.toThrow('gone');
  });

  test('a crash rejects the running request, and the worker is restarted', async () => {
    const { host, worker, workers, speaking } = world();
    await Promise.resolve();
    worker().exit({ signal: 'SIGSEGV' });
    await expect(speaking).rejects.toMatchObject({ code: 'engine-lost' });
    expect(workers).toHaveLength(2);
    worker().say({ type: 'loaded', facts });
    expect(host.state()).toEqual({ type: 'ready' });
  });

  test('rejects with the error of the worker', async () => {
    const { worker, speaking } = world();
    await Promise.resolve();
    const error = { code: 'unsupported' as const, details: { feature: 'This', instead: 'not' } };
    worker().say({ type: 'failed', id: 1, error });
    await expect(speaking).rejects.toThrow('This is not possible: not.');
  });

  test('stop ends the worker', async () => {
    const { host, worker } = world();
    await host.stop();
    expect(worker().stoppedWithin).toBeGreaterThan(0);
    expect(host.pid).toBeUndefined();
  });
});
