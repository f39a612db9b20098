import { call } from '../api/call.ts';
import { sentenceOf } from '../api/failure.ts';
import type { Attachment, Chat, Source, Turn } from '../conversations/conversation.ts';
import { change, library } from '../conversations/library.svelte.ts';
import { pathTo, withChange } from '../conversations/tree.ts';
import { server } from '../models/server.svelte.ts';
import { notify } from '../ui/notices.svelte.ts';
import {
  type DocumentIndex,
  deleteUnused,
  indexAgain,
  indexOf,
  indexState,
  isComplete,
} from './document-index.svelte.ts';
import { embed } from './embed.ts';
import { mergedPassages, type Passage } from './passages.ts';
import { bestWithin, cosineScores, fusedScores, keywordScores } from './ranking.ts';
import { takeSearchOfNewChat } from './search.svelte.ts';
import { passageBudget, sendModes } from './send-modes.ts';
import { texts } from './texts.ts';
import { inSlices } from './yielding.ts';

export interface RetrieveOptions {
  readonly signal: AbortSignal;
  /** What happens, for people. */
  readonly onStatus: (status: string) => void;
}

/**
 * Finds what goes with a message: passages of the documents of the chat and results of a web search. They are kept in
 * `turn.sources`; a message that has sources keeps them. A failure is shown, and the message is sent without sources.
 */
export async function retrieve(chatId: string, turnId: string | null, options: RetrieveOptions): Promise<void> {
  const chat = library.get(chatId);
  const turn = turnId === null ? undefined : chat?.turns[turnId];
  if (!chat || !turn || turn.role !== 'user' || turn.sources) return;
  const webSearch = searches(chat, turn);
  const path = pathTo(fixModes(chat, turn), turn.id);
  const documents = path.flatMap(({ attachments = [] }) => attachments.filter(({ send }) => send === 'passages'));
  if (documents.length === 0 && !webSearch) return;
  const found = await Promise.all([
    documents.length === 0 ? [] : fromDocuments(documents, path, options).catch(failed(options, String)),
    webSearch ? fromWeb(searchQuery(path), options).catch(failed(options, texts.search.failed)) : [],
  ]);
  options.signal.throwIfAborted();
  options.onStatus('');
  const sources = found.flat();
  if (sources.length > 0) change(chatId, (now) => withChange(now, turn.id, { sources }));
  void deleteUnused(usedDocuments);
}

/** A failed search does not keep the message from being sent. */
function failed({ signal }: RetrieveOptions, sentence: (reason: string) => string) {
  return (thrown: unknown): readonly Source[] => {
    if (!signal.aborted) notify(sentence(sentenceOf(thrown)), { kind: 'bad' });
    return [];
  };
}

/** The switch of a chat that did not exist yet belongs to the chat of its first message. */
function searches(chat: Chat, turn: Turn): boolean {
  if (chat.webSearch === undefined && turn.parent === null && takeSearchOfNewChat())
    change(chat.id, (now) => ({ ...now, webSearch: true }));
  return (library.get(chat.id)?.webSearch ?? false) && server.features.websearch === true && turn.text.trim() !== '';
}

/** Decides how the documents of the message are sent, and keeps it: later messages must not change the prompt before them. */
function fixModes(chat: Chat, { id, attachments = [] }: Turn): Chat {
  const modes = sendModes(attachments, server.context);
  const isOpen = attachments.some((one) => one.send === undefined && modes.get(one.id) === 'passages');
  if (!isOpen) return library.get(chat.id) ?? chat;
  const fixed = attachments.map((one) => {
    const send = modes.get(one.id);
    return send === undefined ? one : { ...one, send };
  });
  change(chat.id, (now) => withChange(now, id, { attachments: fixed }));
  return library.get(chat.id) ?? chat;
}

async function fromDocuments(
  documents: readonly Attachment[],
  path: readonly Turn[],
  { signal, onStatus }: RetrieveOptions,
): Promise<readonly Source[]> {
  const named = [...new Map(documents.map((document) => [document.id, document])).values()];
  const indexes: DocumentIndex[] = [];
  for (const document of named) indexes.push(await prepared(document, { signal, onStatus }));
  onStatus(texts.retrieval.searching);
  const budget = passageBudget(server.context);
  return bestSources(named, indexes, path, budget, signal);
}

/** Waits for the index of a document and reports how far it is. */
async function prepared(document: Attachment, { signal, onStatus }: RetrieveOptions): Promise<DocumentIndex> {
  const timer = setInterval(() => {
    const state = indexState(document.id);
    if (!state || state.step === 'ready' || state.step === 'keywords') return;
    onStatus(texts.retrieval.preparing(document.name, state.done, state.total));
  }, 200);
  try {
    return await indexOf(document, signal);
  } finally {
    clearInterval(timer);
  }
}

interface Candidate {
  readonly document: Attachment;
  readonly passage: Passage;
}

async function bestSources(
  documents: readonly Attachment[],
  indexes: readonly DocumentIndex[],
  path: readonly Turn[],
  budget: number,
  signal: AbortSignal,
): Promise<readonly Source[]> {
  const candidates = documents.flatMap((document, at) =>
    (indexes[at]?.passages ?? []).map((passage): Candidate => ({ document, passage })),
  );
  const candidateTexts = candidates.map(({ document, passage }) => textOf(document, passage));
  const { question, recent } = questionOf(path);
  const rankings = [
    { scores: await inSlices(keywordScores(question, candidateTexts), { signal }), weight: 1 },
    ...(await vectorRankings(documents, indexes, [question, recent], signal)),
  ];
  const scores = fusedScores(rankings);
  // Without a word in common the beginning says best what a document is about.
  const chosen = bestWithin(
    scores.some((score) => score > 0) ? scores : scores.fill(1),
    candidateTexts.map(lengthOf),
    budget,
  );
  return documents.flatMap((document) => {
    const own = chosen.flatMap((index) => {
      const candidate = candidates[index];
      return candidate?.document === document ? [candidate.passage] : [];
    });
    return mergedPassages(own).map((passage) => sourceOf(document, passage));
  });
}

const lengthOf = (text: string): number => text.length;

function textOf({ text = '' }: Attachment, { start, end }: Passage): string {
  return text.slice(start, end);
}

function sourceOf(document: Attachment, passage: Passage): Source {
  const { name, url } = document;
  const title = passage.heading === undefined ? name : `${name}, ${passage.heading}`;
  return { title, ...(url === undefined ? {} : { url }), text: textOf(document, passage) };
}

/** Weights of the question alone, and with the messages before it, which a short question may refer to. */
const questionWeights = [1.5, 0.5];

/** Empty if a document has no vectors, or those of another model than the question. */
async function vectorRankings(
  documents: readonly Attachment[],
  indexes: readonly DocumentIndex[],
  questions: readonly string[],
  signal: AbortSignal,
): Promise<{ scores: Float32Array; weight: number }[]> {
  if (!indexes.every(isComplete) || indexes.every(({ passages }) => passages.length === 0)) return [];
  const asked = questions.filter((question) => question !== '');
  const { model, vectors } = await embed(asked, signal).catch((thrown) => {
    signal.throwIfAborted();
    if (!(thrown instanceof Error)) throw thrown;
    return { model: '', vectors: [] };
  });
  if (vectors.length === 0) return [];
  const current = await Promise.all(
    indexes.map((index, at) => {
      const document = documents[at];
      return index.model === model || !document ? index : indexAgain(document, index, signal);
    }),
  );
  if (current.some((index) => !isComplete(index) || index.model !== model)) return [];
  return vectors.map((vector, which) => {
    const scores = current.map((index) => cosineScores(vector, index.vectors));
    return { scores: joined(scores), weight: questionWeights[which] ?? 0 };
  });
}

function joined(lists: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(lists.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const list of lists) {
    all.set(list, at);
    at += list.length;
  }
  return all;
}

/** Characters of the messages before the question. */
const recentLength = 600;

function questionOf(path: readonly Turn[]): { question: string; recent: string } {
  const question = path.at(-1)?.text.trim() || (path.at(-1)?.attachments?.[0]?.name ?? '');
  const before = path.slice(-3, -1).map(({ text }) => text.slice(-recentLength / 2));
  return { question, recent: before.length === 0 ? '' : [...before, question].join('\n') };
}

/** A short question is searched with the one before it ("and in winter?"). */
export function searchQuery(path: readonly Turn[]): string {
  const asked = path.filter(({ role }) => role === 'user').map(({ text }) => text.trim());
  const question = asked.at(-1) ?? '';
  const before = asked.at(-2) ?? '';
  return question.split(/\s+/).length < 4 && before !== '' ? `${before} ${question}` : question;
}

interface Found {
  readonly title?: string;
  readonly url?: string;
  readonly desc?: string;
  readonly content?: string;
}

async function fromWeb(query: string, { signal, onStatus }: RetrieveOptions): Promise<readonly Source[]> {
  onStatus(texts.search.running);
  const response = await call('api/extra/websearch', { body: { q: query }, signal });
  const pages = (await response.json()) as readonly Found[];
  const problem = response.headers.get('x-parley-notes');
  if (pages.length === 0 && problem) throw new Error(problem);
  if (pages.length === 0) notify(texts.search.nothing, { kind: 'bad' });
  return pages.map(({ title = '', url = '', desc = '', content = '' }) => ({
    title: title || url,
    ...(url === '' ? {} : { url }),
    text: content || desc,
  }));
}

function usedDocuments(): ReadonlySet<string> {
  const turns = library.chats.flatMap((chat) => Object.values(chat.turns));
  return new Set(turns.flatMap(({ attachments = [] }) => attachments.map(({ id }) => id)));
}
