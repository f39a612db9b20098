import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ServerEvent, serverEvents } from './events.ts';

function streamOf(pieces: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

async function eventsOf(pieces: readonly Uint8Array[], comments: string[] = []): Promise<ServerEvent[]> {
  const found: ServerEvent[] = [];
  for await (const event of serverEvents(streamOf(pieces), (text) => comments.push(text))) found.push(event);
  return found;
}

test('serverEvents: reads names and multi-line data', async () => {
  const text = 'event: delta\ndata: {"a":1}\n\ndata:one\ndata: two\n\n';
  expect(await eventsOf([bytes(text)])).toEqual([
    { event: 'delta', data: '{"a":1}' },
    { event: 'message', data: 'one\ntwo' },
  ]);
});

test('serverEvents: passes comments to the callback', async () => {
  const comments: string[] = [];
  expect(await eventsOf([bytes(': queue 2\n\ndata: x\n\n:\n')], comments)).toEqual([{ event: 'message', data: 'x' }]);
  expect(comments).toEqual(['queue 2', '']);
});

test('serverEvents: yields a last event without an empty line', async () => {
  expect(await eventsOf([bytes('data: [DONE]')])).toEqual([{ event: 'message', data: '[DONE]' }]);
});

test('serverEvents: yields the same events for any chunking', async () => {
  const whole = bytes('event: message\r\ndata: grüße 🙂\r\n\r\ndata: 2\n\n: c\n\ndata: 3\n\n');
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: whole.length }), { maxLength: 12 }), async (cuts) => {
      const at = [0, ...cuts.sort((a, b) => a - b), whole.length];
      const pieces = at.slice(1).map((end, index) => whole.slice(at[index], end));
      expect((await eventsOf(pieces)).map(({ data }) => data)).toEqual(['grüße 🙂', '2', '3']);
    }),
  );
});

test('serverEvents: closes the stream when the consumer stops', async () => {
  let cancelled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(bytes('data: x\n\n')),
    cancel: () => {
      cancelled = true;
    },
  });
  for await (const _ of serverEvents(endless)) break;
  expect(cancelled).toBe(true);
});
