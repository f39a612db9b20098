import { expect, test } from 'vitest';
import { fakeWorkers } from '../engines/host/testing/workers.ts';
import type { FromExtractor, ToExtractor } from './extraction/messages.ts';
import { DocumentExtractor } from './extraction.ts';

const { signal } = new AbortController();
const document = { title: 'A', sections: [] };
const minute = 60_000;

function world() {
  const fake = fakeWorkers<ToExtractor, FromExtractor>();
  const extractor = new DocumentExtractor({ spawn: fake.spawn, startTimer: fake.startTimer });
  const started = async (count: number) => {
    await expect.poll(() => fake.workers.length, { interval: 1 }).toBe(count);
    return fake.worker();
  };
  const extract = (stop = signal) => extractor.extract('a.pdf', { path: '/a.pdf' }, { signal: stop });
  return { ...fake, extract, started };
}

test('extraction: a document whose process was killed is read once more, in another process', async () => {
  const { extract, started } = world();
  const reading = extract();
  (await started(1)).exit({ signal: 'SIGKILL' });
  const second = await started(2);
  expect(second.sent).toMatchObject([{ name: 'a.pdf', path: '/a.pdf' }]);
  second.say({ type: 'extracted', document, megabytes: 50 }, [Buffer.from('Text')]);
  expect(await reading).toMatchObject({ text: 'Text' });
});

test('extraction: a document whose process was killed twice is given up, with what to do', async () => {
  const { extract, started, workers } = world();
  const reading = extract();
  const failure = expect(reading).rejects.toMatchObject({
    code: 'document-unreadable',
    details: { kind: 'interrupted' },
    message: expect.stringMatching(
      /a\.pdf cannot be read: .* ended twice \(SIGKILL\)\. If memory is short, .*read again\./,
    ),
  });
  (await started(1)).exit({ signal: 'SIGKILL' });
  (await started(2)).exit({ signal: 'SIGKILL' });
  await failure;
  expect(workers).toHaveLength(2);
});

test('extraction: a document that needs too much memory is not read again', async () => {
  const { extract, started, workers } = world();
  const reading = extract();
  const failure = expect(reading).rejects.toThrow('MB of memory: split it');
  (await started(1)).exit({ signal: 'SIGKILL', lastLines: ['out of memory: more than 1280 MB'] });
  await failure;
  expect(workers).toHaveLength(1);
});

test('extraction: an abort between two readings starts no second process', async () => {
  const { extract, started, workers } = world();
  const stop = new AbortController();
  const reading = extract(stop.signal);
  const failure = expect(reading).rejects.toThrow('gone');
  const worker = await started(1);
  worker.exit({ signal: 'SIGKILL' });
  stop.abort(new Error('gone'));
  await failure;
  expect(workers).toHaveLength(1);
});

test('extraction: the limit is on time without progress, however long all of a document takes', async () => {
  const { extract, started, advance } = world();
  const reading = extract();
  const worker = await started(1);
  for (let page = 0; page < 10; page += 1) {
    advance(1.5 * minute);
    worker.say({ type: 'progress' });
  }
  expect(worker.killed).toBe(false);
  worker.say({ type: 'extracted', document, megabytes: 50 }, [Buffer.from('Text')]);
  expect(await reading).toMatchObject({ text: 'Text' });

  const stuck = expect(extract()).rejects.toThrow('no progress for 120 seconds');
  await expect.poll(() => worker.sent.length, { interval: 1 }).toBe(2);
  advance(2 * minute);
  await stuck;
  expect(worker.killed).toBe(true);
});

test('extraction: a document that goes on for half an hour ends', async () => {
  const { extract, started, advance } = world();
  const endless = expect(extract()).rejects.toThrow('longer than 1800 seconds');
  const worker = await started(1);
  for (let page = 0; page < 20; page += 1) {
    worker.say({ type: 'progress' });
    advance(1.5 * minute);
  }
  await endless;
  expect(worker.killed).toBe(true);
});
