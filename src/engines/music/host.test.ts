import { expect, test } from 'vitest';
import type { MusicEvent, MusicFacts, MusicRequest } from '../../core/music.ts';
import type { FromTaskWorker, ToTaskWorker } from '../host/task-messages.ts';
import { fakeWorkers } from '../host/testing/workers.ts';
import { MusicHost } from './host.ts';
import type { MusicOptions } from './messages.ts';

const facts: MusicFacts = { name: 'ace' };
const options = { facts } as MusicOptions;
const request = { caption: 'calm piano' } as MusicRequest;

function world() {
  const { spawn, startTimer, worker } = fakeWorkers<
    ToTaskWorker<MusicOptions, MusicRequest>,
    FromTaskWorker<MusicFacts, MusicEvent>
  >();
  const host = new MusicHost({ capability: 'music', entry: 'main.js', options, spawn, startTimer });
  host.start();
  worker().say({ type: 'loaded', facts });
  const stop = new AbortController();
  const events: MusicEvent[] = [];
  const done = (async () => {
    for await (const event of host.generate(request, stop.signal)) events.push(event);
  })();
  done.catch(() => undefined);
  return { host, worker, stop, events, done };
}

test('MusicHost: progress, then the pieces of the file in their order', async () => {
  const { host, worker, events, done } = world();
  expect([worker().sent[0], host.facts()]).toEqual([{ type: 'load', options }, facts]);
  await Promise.resolve();
  expect(worker().sent[1]).toEqual({ type: 'begin', id: 1, task: request });
  worker().say({ type: 'event', id: 1, event: { type: 'progress', stage: 'dit', step: 1, steps: 8 } });
  worker().say({ type: 'event', id: 1, event: { type: 'audio', bytes: Uint8Array.of(1) } });
  worker().say({ type: 'event', id: 1, event: { type: 'audio', bytes: Uint8Array.of(2) } });
  worker().say({ type: 'event', id: 1, event: { type: 'finish', seconds: 1 } });
  worker().say({ type: 'ended', id: 1 });
  await done;
  expect(events).toEqual([
    { type: 'progress', stage: 'dit', step: 1, steps: 8 },
    { type: 'audio', bytes: Uint8Array.of(1) },
    { type: 'audio', bytes: Uint8Array.of(2) },
    { type: 'finish', seconds: 1 },
  ]);
});

test('MusicHost: an abort reaches the worker and ends with its reason', async () => {
  const { worker, stop, done } = world();
  await Promise.resolve();
  stop.abort(new Error('the client is gone'));
  expect(worker().sent.at(-1)).toEqual({ type: 'abort', id: 1 });
  worker().say({ type: 'ended', id: 1 });
  await expect(done).rejects.toThrow('the client is gone');
});
