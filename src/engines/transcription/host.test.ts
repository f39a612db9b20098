import { expect, test } from 'vitest';
import { AppError, plainError } from '../../core/errors.ts';
import type { TranscriptionEvent, TranscriptionFacts, TranscriptionRequest } from '../../core/transcription.ts';
import type { FromTaskWorker, ToTaskWorker } from '../host/task-messages.ts';
import { fakeWorkers } from '../host/testing/workers.ts';
import { type RecogniserOptions, TranscriptionHost } from './host.ts';

const facts: TranscriptionFacts = { name: 'ear', languages: ['en'], translates: false };
const wishes = { language: 'en', translate: false, prompt: '', temperature: 0, words: false, suppressNonSpeech: false };
const recording = Buffer.from('sound');

function world() {
  const fakes = fakeWorkers<
    ToTaskWorker<RecogniserOptions, TranscriptionRequest>,
    FromTaskWorker<TranscriptionFacts, TranscriptionEvent>
  >();
  const options = { type: 'moonshine', threads: 1 } as const;
  const host = new TranscriptionHost({
    capability: 'transcription',
    entry: 'main.js',
    options,
    spawn: fakes.spawn,
    startTimer: fakes.startTimer,
  });
  host.start();
  fakes.worker().say({ type: 'loaded', facts });
  const events: TranscriptionEvent[] = [];
  const listen = async () => {
    const { signal } = new AbortController();
    for await (const event of host.transcribe({ ...wishes, recording }, signal)) events.push(event);
  };
  const begun = () => fakes.worker().sent.find((message) => message.type === 'begin');
  return { host, fakes, events, listen, begun };
}

test('TranscriptionHost: sends the recording as an attachment', async () => {
  const { host, fakes, events, listen, begun } = world();
  expect(host.facts()).toEqual(facts);
  const over = listen();
  await new Promise((resolve) => setImmediate(resolve));
  const { id = -1, task } = begun() ?? {};
  expect(task).toEqual({ ...wishes, recording: null });
  expect(fakes.worker().attached.at(-1)).toEqual([recording]);
  const finish = { type: 'finish', seconds: 1, language: 'en', notes: [] } as const;
  fakes.worker().say({ type: 'event', id, event: { type: 'start', seconds: 1 } });
  fakes.worker().say({ type: 'event', id, event: finish });
  fakes.worker().say({ type: 'ended', id });
  await over;
  expect(events).toEqual([{ type: 'start', seconds: 1 }, finish]);
});

test('TranscriptionHost: rejects with the error of the worker', async () => {
  const { fakes, listen, begun } = world();
  const over = listen();
  await new Promise((resolve) => setImmediate(resolve));
  const error = new AppError('invalid-field', { field: 'file', expected: 'a recording, and this is text' });
  fakes.worker().say({ type: 'failed', id: begun()?.id ?? -1, error: plainError(error) });
  await expect(over).rejects.toMatchObject({ status: 400, message: error.message, details: { field: 'file' } });
});

test('TranscriptionHost: a crash is an error of the transcription engine', async () => {
  const { fakes, listen } = world();
  const over = listen();
  await new Promise((resolve) => setImmediate(resolve));
  fakes.worker().exit({ signal: 'SIGKILL' });
  await expect(over).rejects.toMatchObject({ code: 'engine-lost', details: { capability: 'transcription' } });
});
