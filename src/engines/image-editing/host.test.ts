import { expect, test } from 'vitest';
import { AppError, plainError } from '../../core/errors.ts';
import type { ImageEdit } from '../../core/image-editing.ts';
import type { FromTaskWorker, ToTaskWorker } from '../host/task-messages.ts';
import { fakeWorkers } from '../host/testing/workers.ts';
import { type Edited, type EditTask, ImageEditorHost } from './host.ts';

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
const edit: ImageEdit = { type: 'encode', format: 'jpeg', quality: 80 };
const image = { bytes: Uint8Array.of(1, 2), field: 'image' };

function world() {
  const fakes = fakeWorkers<ToTaskWorker<object, EditTask>, FromTaskWorker<object, Edited>>();
  const host = new ImageEditorHost({ entry: 'main.js', spawn: fakes.spawn, startTimer: fakes.startTimer });
  const begun = () => fakes.worker().sent.flatMap((message) => (message.type === 'begin' ? [message] : []));
  const load = () => fakes.worker().say({ type: 'loaded', facts: {} });
  const answer = (bytes?: Uint8Array) => {
    const id = begun().at(-1)?.id ?? -1;
    if (bytes) fakes.worker().say({ type: 'event', id, event: { bytes } });
    fakes.worker().say({ type: 'ended', id });
  };
  return { fakes, host, begun, load, answer };
}

test('PictureHost: starts no process before the first picture', () => {
  const { fakes } = world();
  expect([fakes.workers.length, fakes.pendingTimers()]).toEqual([0, 0]);
});

test('PictureHost: sends the pictures as attachments and resolves with the encoded result', async () => {
  const { host, fakes, begun, load, answer } = world();
  const result = host.edit(edit, [image]);
  load();
  expect(begun()).toMatchObject([{ task: { edit, images: [{ field: 'image' }] } }]);
  expect(fakes.worker().attached.at(-1)).toEqual([image.bytes]);
  answer(Uint8Array.of(9));
  expect(await result).toEqual(Uint8Array.of(9));
});

test('PictureHost: resolves with undefined if the edit has no result', async () => {
  const { host, load, answer } = world();
  const result = host.edit(edit, [image]);
  load();
  answer();
  expect(await result).toBeUndefined();
});

test('PictureHost: rejects with the error of the worker', async () => {
  const { host, fakes, begun, load } = world();
  const result = host.edit(edit, [image]);
  load();
  const error = plainError(new AppError('invalid-field', { field: 'image', expected: 'a picture' }));
  fakes.worker().say({ type: 'failed', id: begun()[0]?.id ?? -1, error });
  await expect(result).rejects.toMatchObject({ code: 'invalid-field', details: { field: 'image' } });
});

test('PictureHost: an aborted request rejects with its reason', async () => {
  const { host, fakes, load, answer } = world();
  const stop = new AbortController();
  const result = host.edit(edit, [image], stop.signal);
  result.catch(() => undefined);
  load();
  stop.abort(new AppError('stopped', {}));
  expect(fakes.worker().sent.at(-1)).toMatchObject({ type: 'abort' });
  answer();
  await expect(result).rejects.toMatchObject({ code: 'stopped' });
});

test('PictureHost: ends the process after five minutes without work, and starts another for the next picture', async () => {
  const { host, fakes, load, answer } = world();
  const first = host.edit(edit, [image]);
  load();
  answer(Uint8Array.of(1));
  await first;
  fakes.advance(5 * 60_000);
  await settle();
  expect(fakes.workers[0]?.stoppedWithin).toBeDefined();
  const second = host.edit(edit, [image]);
  expect(fakes.workers.length).toBe(2);
  load();
  answer(Uint8Array.of(2));
  expect(await second).toEqual(Uint8Array.of(2));
});

test('PictureHost: a crash rejects the running edit, and the next one uses a new process', async () => {
  const { host, fakes, load, answer } = world();
  const lost = host.edit(edit, [image]);
  load();
  fakes.worker().exit();
  await expect(lost).rejects.toMatchObject({ code: 'engine-lost' });
  const next = host.edit({ type: 'colours' }, [image]);
  fakes.advance(10_000);
  load();
  answer(Uint8Array.of(3));
  expect(await next).toEqual(Uint8Array.of(3));
});
