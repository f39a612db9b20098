import { expect, onTestFinished, test, vi } from 'vitest';
import type { Attachment, Chat, Turn } from '../conversations/conversation.ts';
import { emptyChat, withTurn } from '../conversations/tree.ts';
import { fakePage } from '../testing/page.ts';
import { wordsOf } from './ranking.ts';

const filler = (from: number, count: number): string =>
  Array.from({ length: count }, (_, at) => `Line ${from + at}: the harbour was quiet and the boats lay still.`).join(
    '\n',
  );
const fact = 'The keeper of the old tower hides his key below a blue flower pot.';
const book: Attachment = {
  id: 'book',
  kind: 'text',
  name: 'book.txt',
  text: `${filler(1, 200)}\n\n${fact}\n\n${filler(300, 200)}`,
};
const asked = (text: string, more: Partial<Turn> = {}, parent: string | null = null): Turn => ({
  id: `${text}`,
  parent,
  role: 'user',
  text,
  at: 1,
  ...more,
});
const chatWith = (...turns: Turn[]): Chat => turns.reduce(withTurn, emptyChat('c', 1));

/** Vectors by the words of a text, so that texts with common words are similar. */
function embeddings({ input }: { input: readonly string[] }) {
  const vector = (text: string): number[] => {
    const counts = new Array<number>(64).fill(0);
    for (const word of wordsOf(text)) {
      const at = [...word].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) % 64, 7);
      counts[at] = (counts[at] ?? 0) + 1;
    }
    return counts;
  };
  return { model: 'fake', data: input.map((text, index) => ({ index, embedding: vector(text) })) };
}

async function opened(chat: Chat, responses: Parameters<typeof fakePage>[0] = {}, features: object = {}) {
  const page = fakePage({
    'api/extra/version': () => ({ result: 'KoboldCpp', embeddings: true, ...features }),
    'v1/embeddings': embeddings,
    ...responses,
  });
  page.records('chats').set('c', chat);
  const { refreshServer } = await import('../models/server.svelte.ts');
  await refreshServer();
  const { chatRecords } = await import('../conversations/library.svelte.ts');
  await chatRecords.load();
  const { retrieve } = await import('./retrieve.ts');
  const { indexState } = await import('./document-index.svelte.ts');
  const { notices } = await import('../ui/notices.svelte.ts');
  const find = (turnId: string, signal = new AbortController().signal) =>
    retrieve('c', turnId, { signal, onStatus: () => {} });
  const turn = (id: string) => (chatRecords.find('c') as Chat).turns[id] as Turn;
  return { page, find, turn, indexState, notices };
}

test('retrieve: a document that does not fit is sent by its best passages', async () => {
  const question = asked('Where does the keeper hide his key?', { attachments: [book] });
  const { page, find, turn, indexState } = await opened(chatWith(question));
  await find(question.id);
  const { sources = [], attachments } = turn(question.id);
  expect(sources.map(({ text }) => text).join()).toContain(fact);
  expect(sources[0]?.title).toBe('book.txt');
  expect(sources.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThan(4500);
  expect(attachments?.[0]?.send).toBe('passages');
  expect(indexState('book')).toMatchObject({ step: 'ready' });
  expect(page.records('documents').get('book')).toMatchObject({ model: 'fake', dimensions: 64 });
});

test('retrieve: passages are in the order of the document, neighbours are one source', async () => {
  const question = asked('harbour boats line', { attachments: [book] });
  const { find, turn } = await opened(chatWith(question));
  await find(question.id);
  const starts = (turn(question.id).sources ?? []).map(({ text }) => book.text?.indexOf(text) ?? -1);
  expect(starts).toEqual([...starts].sort((a, b) => a - b));
  expect(starts).not.toContain(-1);
});

test('retrieve: later questions search the documents of the chat without embedding them again', async () => {
  const first = asked('Hello', { attachments: [{ ...book, send: 'passages' }] });
  const second = asked('Where is the key of the keeper?', {}, first.id);
  const { page, find, turn } = await opened(chatWith(first, second));
  await find(first.id);
  const before = page.requestsTo('v1/embeddings').length;
  await find(second.id);
  expect(page.requestsTo('v1/embeddings').length - before).toBe(1);
  expect(
    turn(second.id)
      .sources?.map(({ text }) => text)
      .join(),
  ).toContain(fact);
});

test('retrieve: small documents stay whole, and nothing is embedded', async () => {
  const question = asked('Hi', { attachments: [{ ...book, text: 'short' }] });
  const { page, find, turn } = await opened(chatWith(question));
  await find(question.id);
  expect(turn(question.id)).toEqual(question);
  expect(page.requestsTo('v1/embeddings')).toEqual([]);
});

test('retrieve: keywords find the passage if the server has no embedding model', async () => {
  const question = asked('Where does the keeper hide his key?', { attachments: [book] });
  const { page, find, turn, indexState } = await opened(chatWith(question), {}, { embeddings: false });
  await find(question.id);
  expect(
    turn(question.id)
      .sources?.map(({ text }) => text)
      .join(),
  ).toContain(fact);
  expect(indexState('book')).toMatchObject({ step: 'keywords' });
  expect(page.requestsTo('v1/embeddings')).toEqual([]);
});

test('retrieve: keywords are used if the embedding model fails, with the reason', async () => {
  const question = asked('Where does the keeper hide his key?', { attachments: [book] });
  const { find, turn, indexState } = await opened(chatWith(question), {
    'v1/embeddings': () => Response.json({ error: { message: 'Out of memory.' } }, { status: 500 }),
  });
  await find(question.id);
  expect(
    turn(question.id)
      .sources?.map(({ text }) => text)
      .join(),
  ).toContain(fact);
  expect(indexState('book')).toMatchObject({ step: 'keywords', reason: 'Out of memory.' });
});

test('retrieve: vectors of another model are made again', async () => {
  const question = asked('Where does the keeper hide his key?', { attachments: [book] });
  let model = 'old';
  const { page, find } = await opened(chatWith(question, asked('And the pot?', {}, question.id)), {
    'v1/embeddings': (body: { input: string[] }) => ({ ...embeddings(body), model }),
  });
  await find(question.id);
  model = 'new';
  await find('And the pot?');
  expect(page.records('documents').get('book')).toMatchObject({ model: 'new' });
});

/** Answers when the test says so, as a slow server does. */
function slowEmbeddings() {
  const waiting: (() => void)[] = [];
  const answer = (body: { input: string[] }, signal: AbortSignal | undefined) =>
    new Promise((resolve, reject) => {
      waiting.push(() => resolve(embeddings(body)));
      signal?.addEventListener('abort', () => reject(signal.reason));
    });
  return { answer, next: () => waiting.shift()?.(), count: () => waiting.length };
}

test('retrieve: Stop ends the indexing of a document, keeps what was done, and the next question goes on from there', async () => {
  const question = asked('Where does the keeper hide his key?', { attachments: [book] });
  const slow = slowEmbeddings();
  const { page, find, turn, indexState } = await opened(chatWith(question), { 'v1/embeddings': slow.answer });
  const stop = new AbortController();
  const finding = find(question.id, stop.signal);
  await expect.poll(slow.count).toBe(1);
  slow.next();
  await expect.poll(() => indexState('book')).toMatchObject({ step: 'embedding', done: 8 });
  await expect.poll(slow.count).toBe(1);
  stop.abort();
  await expect(finding).rejects.toThrow();
  expect(indexState('book')).toBeUndefined();
  await expect.poll(() => page.records('documents').get('book')).toMatchObject({ vectors: { length: 8 * 64 } });
  const before = page.requestsTo('v1/embeddings').length;

  page.responses['v1/embeddings'] = embeddings as never;
  await find(question.id);
  expect(turn(question.id).sources).toBeDefined();
  const passages = (page.records('documents').get('book') as { passages: unknown[] }).passages.length;
  // The rest of the passages, and the question.
  expect(page.requestsTo('v1/embeddings').length - before).toBe(Math.ceil((passages - 8) / 8) + 1);
});

test('indexOf: goes on while one of its callers still waits', async () => {
  const slow = slowEmbeddings();
  const { page } = await opened(chatWith(asked('Hi')), { 'v1/embeddings': slow.answer });
  const { indexOf, indexState } = await import('./document-index.svelte.ts');
  const [chip, reply] = [new AbortController(), new AbortController()];
  const first = indexOf(book, chip.signal);
  const second = indexOf(book, reply.signal);
  await expect.poll(slow.count).toBe(1);
  chip.abort();
  await expect(first).rejects.toThrow();
  expect(indexState('book')).toMatchObject({ step: 'embedding' });
  page.responses['v1/embeddings'] = embeddings as never;
  slow.next();
  expect((await second).model).toBe('fake');
});

test('indexOf: gives way while the server is busy, and goes on after a while', async () => {
  const { page } = await opened(chatWith(asked('Hi')));
  const { indexOf } = await import('./document-index.svelte.ts');
  page.responses['api/extra/perf'] = () => ({ queue: 0, idle: 0 });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const made = indexOf(book, new AbortController().signal);
  await vi.waitFor(() => expect(page.requestsTo('api/extra/perf').length).toBeGreaterThan(1));
  expect(page.requestsTo('v1/embeddings')).toEqual([]);
  page.responses['api/extra/perf'] = () => ({ queue: 0, idle: 1 });
  await vi.advanceTimersByTimeAsync(500);
  expect((await made).model).toBe('fake');
});

test('retrieve: keeps the sources that a message has', async () => {
  const sources = [{ title: 'x', text: 'y' }];
  const question = asked('Hi', { attachments: [book], sources });
  const { page, find, turn } = await opened(chatWith(question));
  await find(question.id);
  expect(turn(question.id).sources).toBe(sources);
  expect(page.requestsTo('v1/embeddings')).toEqual([]);
});

const found = [{ title: 'Towers', url: 'https://a.example/', desc: 'short', content: 'A long text' }];

test('retrieve: results of a web search are sources with links', async () => {
  const question = asked('How old are towers in general?');
  const chat = { ...chatWith(question), webSearch: true };
  const { page, find, turn } = await opened(chat, { 'api/extra/websearch': () => found }, { websearch: true });
  await find(question.id);
  expect(page.requestsTo('api/extra/websearch')[0]?.body).toEqual({ q: question.text });
  expect(turn(question.id).sources).toEqual([{ title: 'Towers', url: 'https://a.example/', text: 'A long text' }]);
});

test('retrieve: no search without the switch, or without --websearch', async () => {
  const question = asked('How old are towers?');
  const off = await opened(chatWith(question), { 'api/extra/websearch': () => found }, { websearch: true });
  await off.find(question.id);
  const missing = await opened({ ...chatWith(question), webSearch: true }, { 'api/extra/websearch': () => found });
  await missing.find(question.id);
  for (const { page } of [off, missing]) expect(page.requestsTo('api/extra/websearch')).toEqual([]);
});

test('retrieve: a failed search is shown, and the message has no sources', async () => {
  const question = asked('How old are towers?');
  const failing = () =>
    Response.json([], { headers: { 'x-parley-notes': 'The search page answers with status 500.' } });
  const chat = { ...chatWith(question), webSearch: true };
  const { find, turn, notices } = await opened(chat, { 'api/extra/websearch': failing }, { websearch: true });
  await find(question.id);
  expect(turn(question.id).sources).toBeUndefined();
  expect(notices.list[0]).toMatchObject({ kind: 'bad', text: expect.stringContaining('status 500') });
});

test('retrieve: the switch of a new chat belongs to its first message', async () => {
  const question = asked('How old are towers?');
  const { page, find } = await opened(chatWith(question), { 'api/extra/websearch': () => found }, { websearch: true });
  const { setSearch } = await import('./search.svelte.ts');
  setSearch(undefined, true);
  await find(question.id);
  expect(page.requestsTo('api/extra/websearch')).toHaveLength(1);
});

test('searchQuery: a short question is searched with the one before it', async () => {
  fakePage();
  const { searchQuery } = await import('./retrieve.ts');
  expect(searchQuery([asked('How warm is Oslo in summer?'), asked('And winter?')])).toBe(
    'How warm is Oslo in summer? And winter?',
  );
  expect(searchQuery([asked('Old'), asked('How warm is it there in winter?')])).toBe('How warm is it there in winter?');
});

const manual = { id: 'vs_1', name: 'Manual' };
const passage = (number: number, text: string, more: object = {}) => ({
  passage: `vs_1.${number}`,
  collection: 'vs_1',
  file: 'f',
  name: 'manual.pdf',
  page: 3,
  headings: ['Lamp'],
  start: 0,
  end: text.length,
  text,
  found: { vector: number, keywords: 2 },
  score: 0.5,
  ...more,
});
const answers = (...results: object[]) => ({ 'api/extra/documents/search': () => ({ results, notes: [] }) });

test('retrieve: passages of collections are sources, with how they were found', async () => {
  const question = asked('When is the lamp lit?', { collections: [manual] });
  const page = passage(2, 'See the site.', { attributes: { url: 'https://a.example/' } });
  const { find, turn } = await opened(chatWith(question), answers(passage(1, 'At dusk.'), page));
  await find(question.id);
  expect(turn(question.id).sources).toEqual([
    {
      title: 'manual.pdf, page 3, Lamp',
      location: { name: 'manual.pdf', page: 3, headings: ['Lamp'] },
      text: 'At dusk.',
      passage: 'vs_1.1',
      span: { start: 0, end: 8 },
      found: { vector: 1, keywords: 2 },
    },
    expect.objectContaining({ url: 'https://a.example/', passage: 'vs_1.2' }),
  ]);
});

test('retrieve: collections of the message, of the chat and of its folder are searched once each, with the messages before', async () => {
  const first = asked('Tell me of the lamp.');
  const reply: Turn = { id: 'reply', parent: first.id, role: 'assistant', text: 'It is large.', at: 2 };
  const question = asked('And when is it lit?', { collections: [manual, { id: 'vs_2', name: 'Log' }] }, 'reply');
  const chat: Chat = { ...chatWith(first, reply, question), folder: 'Work', collections: [manual] };
  const { page, find } = await opened(chat, answers());
  page.records('chats').set('d', {
    ...emptyChat('d', 1, 'Work'),
    collections: [{ id: 'vs_3', name: 'Charts', folder: 'Work' }],
  });
  const { chatRecords } = await import('../conversations/library.svelte.ts');
  await chatRecords.refresh('d');
  await find(question.id);
  expect(page.requestsTo('api/extra/documents/search').map(({ body }) => body)).toEqual([
    expect.objectContaining({
      query: 'And when is it lit?',
      collections: ['vs_1', 'vs_2', 'vs_3'],
      conversation: ['Tell me of the lamp.', 'It is large.'],
    }),
  ]);
});

test('retrieve: passages of collections fill their part of the context, the best first', async () => {
  const question = asked('When is the lamp lit?', { collections: [manual] });
  const many = Array.from({ length: 20 }, (_, at) => passage(at + 1, `${at} ${'x'.repeat(900)}`));
  const { find, turn } = await opened(chatWith(question), answers(...many));
  await find(question.id);
  const { sources = [] } = turn(question.id);
  expect(sources.map(({ passage: id }) => id)).toEqual(['vs_1.1', 'vs_1.2', 'vs_1.3', 'vs_1.4']);
});

test('retrieve: a passage that alone is longer than its part of the context is cut between words', async () => {
  const question = asked('When is the lamp lit?', { collections: [manual] });
  const { page, find, turn } = await opened(chatWith(question), answers(passage(1, 'dusk '.repeat(5000))));
  await find(question.id);
  const [source] = turn(question.id).sources ?? [];
  expect(source?.text.length).toBeLessThan(4000);
  expect(source?.text).toMatch(/^(dusk )+dusk$/);
  expect(source?.span).toEqual({ start: 0, end: source?.text.length });
  expect(page.requestsTo('api/extra/documents/search')[0]?.body).toMatchObject({ limit: 4 });
});

test('retrieve: documents of the chat come before collections, and nothing is sent twice', async () => {
  const question = asked('Where does the keeper hide his key?', { attachments: [book], collections: [manual] });
  const { find, turn } = await opened(chatWith(question), answers(passage(1, fact), passage(2, 'The key is large.')));
  await find(question.id);
  const { sources = [] } = turn(question.id);
  expect(sources[0]).toMatchObject({ title: 'book.txt', found: { keywords: expect.any(Number) } });
  expect(sources.filter(({ text }) => text.includes(fact))).toHaveLength(1);
  expect(sources.at(-1)?.text).toBe('The key is large.');
});

test('retrieve: a collection that was deleted is named, and the others are searched', async () => {
  const log = { id: 'vs_2', name: 'Log' };
  const question = asked('When is the lamp lit?', { collections: [manual, log] });
  const { find, turn, notices } = await opened(chatWith(question), {
    'api/extra/documents/search': ({ collections }: { collections: string[] }) =>
      collections.includes('vs_2')
        ? Response.json({ detail: { msg: 'No collection vs_2.' } }, { status: 404 })
        : { results: [passage(1, 'At dusk.')], notes: [] },
    'api/extra/documents': () => ({ collections: [{ id: 'vs_1' }], can_add_folders: false }),
  });
  await find(question.id);
  expect(turn(question.id).sources?.[0]?.text).toBe('At dusk.');
  expect(notices.list[0]?.text).toContain('Log');
});

test('retrieve: a failed search of collections is shown, and the message is sent without passages', async () => {
  const question = asked('When is the lamp lit?', { collections: [manual] });
  const { find, turn, notices } = await opened(chatWith(question), {
    'api/extra/documents/search': () => Response.json({ detail: { msg: 'The disk is full.' } }, { status: 500 }),
  });
  await find(question.id);
  expect(turn(question.id).sources).toBeUndefined();
  expect(notices.list[0]).toMatchObject({ kind: 'bad', text: expect.stringContaining('The disk is full.') });
});

test('retrieve: a collection that the text names is searched', async () => {
  const question = asked('Look in #manual: when is the lamp lit?');
  const list = () => ({ collections: [manual, { id: 'vs_2', name: 'Log' }], can_add_folders: false });
  const responses = { ...answers(passage(1, 'At dusk.')), 'api/extra/documents': list };
  const { page, find, turn } = await opened(chatWith(question), responses, { documents: true });
  await find(question.id);
  expect(page.requestsTo('api/extra/documents/search')[0]?.body).toMatchObject({ collections: ['vs_1'] });
  expect(turn(question.id).sources).toHaveLength(1);
});
