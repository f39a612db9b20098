import { describe, expect, test, vi } from 'vitest';
import { newPassage, newStory, type Story, textOf } from '../story/story.ts';
import { fakePage, fakeStream } from '../testing/page.ts';

const streamPath = 'api/extra/generate/stream';
const streams = 'api/extra/stream/';
const story = newStory({ id: 's', changed: 1, passages: [newPassage('a', 'person', 'Once.')] });
const event = (token: string, finish_reason: string | null = null) => ({ token, finish_reason });

async function opened(responses: Parameters<typeof fakePage>[0], from: Story = story) {
  const page = fakePage(responses);
  page.records('stories').set('s', from);
  const { library } = await import('../story/library.svelte.ts');
  await library.load();
  const { writer } = await import('./writer.svelte.ts');
  const { server } = await import('../models/server.svelte.ts');
  await expect.poll(() => server.state).toBe('ready');
  page.setVisible(true);
  const { notices } = await import('../ui/notices.svelte.ts');
  const now = () => library.find('s') as Story;
  const texts = () => now().passages.map(textOf);
  return { page, library, writer, now, texts, notes: () => notices.list.map(({ text }) => text) };
}

const whole = (...events: readonly object[]) =>
  new Response(events.map((one) => `data: ${JSON.stringify(one)}\n\n`).join(''));

test('writer: shows a reply while it streams and keeps it at its end', async () => {
  const stream = fakeStream();
  const { page, writer, now, texts } = await opened({ [streamPath]: (_, signal) => stream.response(signal) });
  const done = writer.write(now(), { kind: 'new' });
  expect(now().pending?.key).toBe(writer.running?.key);
  stream.send(event(' Then'));
  await expect.poll(() => texts()).toEqual(['Once.', ' Then']);
  stream.send(event(' fog.', 'stop'));
  stream.end();
  await done;
  expect(texts()).toEqual(['Once.', ' Then fog.']);
  expect(now().pending).toBeUndefined();
  expect(writer.running).toBeUndefined();
  expect(page.requestsTo(streamPath)[0]?.body).toMatchObject({ prompt: 'Once.' });
});

test('writer: a second try is another branch, and one undo step', async () => {
  const { library, writer, now, texts } = await opened({ [streamPath]: () => whole(event(' More.', 'stop')) });
  await writer.write(now(), { kind: 'new' });
  const reply = now().passages[1]?.id as string;
  await writer.write(now(), { kind: 'again', passage: reply });
  expect(now().passages[1]).toMatchObject({ id: reply, shown: 1 });
  library.undo('s');
  expect(now().passages[1]?.branches).toHaveLength(1);
  expect(texts()).toEqual(['Once.', ' More.']);
});

test('writer: continues the last passage', async () => {
  const { writer, now, texts } = await opened({ [streamPath]: () => whole(event(' And so on.', 'length')) });
  await writer.write(now(), { kind: 'more' });
  expect(texts()).toEqual(['Once. And so on.']);
});

test('writer: removes the passage of an empty reply and says so', async () => {
  const { writer, now, texts, notes } = await opened({ [streamPath]: () => whole(event('', 'stop')) });
  await writer.write(now(), { kind: 'new' });
  expect(texts()).toEqual(['Once.']);
  expect(notes()).toEqual(['The model returned an empty reply.']);
});

test('writer: reports an error of the server and keeps the text before it', async () => {
  const failed = { ...event('', 'error'), error: { message: 'Out of memory.' } };
  const { writer, now, texts, notes } = await opened({ [streamPath]: () => whole(event(' Then'), failed) });
  await writer.write(now(), { kind: 'new' });
  expect(texts()).toEqual(['Once.', ' Then']);
  expect(notes()).toEqual(['Out of memory.']);
});

test('writer: reports a rejected request at once', async () => {
  const busy = () => Response.json({ detail: { msg: 'The queue is full.' } }, { status: 503 });
  const { page, writer, now, texts, notes } = await opened({ [streamPath]: busy });
  await writer.write(now(), { kind: 'new' });
  expect(texts()).toEqual(['Once.']);
  expect(notes()).toEqual(['The queue is full.']);
  expect(page.requests.filter(({ path }) => path.startsWith(streams))).toEqual([]);
});

test('writer: takes up the stream if the connection breaks', async () => {
  const stream = fakeStream();
  const { page, writer, now, texts } = await opened({
    [streamPath]: (_, signal) => stream.response(signal),
    [streams]: () => whole(event(' fog.', 'stop')),
  });
  const done = writer.write(now(), { kind: 'new' });
  stream.send(event(' Then'));
  await expect.poll(() => texts()).toEqual(['Once.', ' Then']);
  stream.fail();
  await done;
  expect(texts()).toEqual(['Once.', ' Then fog.']);
  expect(page.requestsTo(`${streams}${page.requestsTo(streamPath)[0]?.body.genkey}`)).toHaveLength(1);
});

describe('writer: a reply that was running before the page was reloaded', () => {
  const passages = [...story.passages, newPassage('b', 'model', 'Well, f')];
  const pending = { key: 'K', passage: 'b', begin: 'Well', stops: ['\nYou:'] };
  const reloaded = { ...story, passages, pending };

  test('is read from its beginning', async () => {
    const { page, writer, now, texts } = await opened(
      { [streams]: () => whole(event(', fine.\nYou: no', 'stop')) },
      reloaded,
    );
    await writer.resume(now());
    expect(texts()).toEqual(['Once.', 'Well, fine.']);
    expect(now().pending).toBeUndefined();
    expect(page.requestsTo(`${streams}K`).map(({ query }) => query)).toEqual(['?after=0']);
  });

  test('keeps its text if the server has restarted', async () => {
    const { writer, now, texts, notes } = await opened({}, reloaded);
    await writer.resume(now());
    expect(texts()).toEqual(['Once.', 'Well, f']);
    expect(now().pending).toBeUndefined();
    expect(notes()).toEqual(['The server no longer has this reply. Press Retry for a new one.']);
  });

  test('keeps its text if it is stopped while the server is gone', async () => {
    const { page, writer, now, texts } = await opened({ [streams]: () => Response.error() }, reloaded);
    const done = writer.resume(now());
    await expect.poll(() => page.requestsTo(`${streams}K`)).not.toEqual([]);
    await writer.stop();
    await done;
    expect(texts()).toEqual(['Once.', 'Well, f']);
    expect(now().pending).toBeUndefined();
  });
});

test('writer: stop aborts the generation on the server before the connection', async () => {
  const stream = fakeStream();
  const { page, writer, now, texts } = await opened({
    [streamPath]: (_, signal) => stream.response(signal),
    'api/extra/abort': () => {
      stream.send(event('', 'stop'));
      stream.end();
      return { success: 'true' };
    },
  });
  const done = writer.write(now(), { kind: 'new' });
  stream.send(event(' Then'));
  await expect.poll(() => texts()).toEqual(['Once.', ' Then']);
  await writer.stop();
  await done;
  expect(texts()).toEqual(['Once.', ' Then']);
  expect(page.requestsTo('api/extra/abort')[0]?.body).toEqual({
    genkey: page.requestsTo(streamPath)[0]?.body.genkey,
  });
});

test('writer: counts tokens after a pause and corrects the characters per token', async () => {
  const { page, writer } = await opened({ 'api/extra/tokencount': () => ({ value: 100 }) });
  vi.useFakeTimers();
  try {
    const built = { ...writer.promptOf(story), prompt: 'x'.repeat(500) };
    writer.measure({ ...built, prompt: 'x'.repeat(400) });
    writer.measure(built);
    await vi.advanceTimersByTimeAsync(1000);
  } finally {
    vi.useRealTimers();
  }
  await expect.poll(() => writer.charactersPerToken).toBe(5);
  expect(page.requestsTo('api/extra/tokencount')).toHaveLength(1);
});
