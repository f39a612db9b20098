import { call } from '../api/call.ts';
import { Failure, sentenceOf } from '../api/failure.ts';
import type { Attachment, Chat, FoundBy, Source, TakenCollection, Turn } from '../conversations/conversation.ts';
import { change, chatRecords } from '../conversations/library.svelte.ts';
import { pathTo, withChange } from '../conversations/tree.ts';
import { server } from '../models/server.svelte.ts';
import { notify } from '../ui/notices.svelte.ts';
import { texts as collectionTexts } from './collection-texts.ts';
import { type FoundPassage, fetchCollections, type SearchAnswer, searchPassages } from './collections.ts';
import {
  type DocumentIndex,
  deleteUnused,
  indexAgain,
  indexOf,
  indexState,
  isComplete,
} from './document-index.svelte.ts';
import { embed } from './embed.ts';
import { mentioned } from './mention.ts';
import { englishTitleOf } from './passage-title.ts';
import { mergedPassages, type Passage } from './passages.ts';
import { bestWithin, cosineScores, fusedScores, keywordScores, ranksOf } from './ranking.ts';
import { takeSearchOfNewChat } from './search.svelte.ts';
import { passageBudget, sendModes } from './send-modes.ts';
import { collectionsOf, uniqueById } from './taken.ts';
import { texts } from './texts.ts';
import { inSlices } from './yielding.ts';

interface RetrieveOptions {
  readonly signal: AbortSignal;
  /** What happens, for people. */
  readonly onStatus: (status: string) => void;
}

/**
 * Finds what goes with a message: passages of the documents of the chat and results of a web search. They are kept in
 * `turn.sources`; a message that has sources keeps them. A failure is shown, and the message is sent without sources.
 */
export async function retrieve(chatId: string, turnId: string | null, options: RetrieveOptions): Promise<void> {
  const chat = chatRecords.find(chatId);
  const turn = turnId === null ? undefined : chat?.turns[turnId];
  if (!chat || !turn || turn.role !== 'user' || turn.sources) return;
  const webSearch = searches(chat, turn);
  const path = pathTo(fixModes(chat, turn), turn.id);
  const documents = path.flatMap(({ attachments = [] }) => attachments.filter(({ send }) => send === 'passages'));
  const collections = uniqueById<TakenCollection>([
    ...(turn.collections ?? []),
    ...(await namedIn(turn)),
    ...collectionsOf(chat, chatRecords.all),
  ]);
  if (documents.length === 0 && collections.length === 0 && !webSearch) return;
  // They share what the context has left for passages.
  const budget = passageBudget(server.context) / (documents.length > 0 && collections.length > 0 ? 2 : 1);
  const names = collections.map(({ name }) => name);
  const results = await Promise.all([
    documents.length === 0 ? [] : fromDocuments(documents, path, budget, options).catch(failed(options, String)),
    collections.length === 0
      ? []
      : fromCollections(collections, path, budget, options).catch(
          failed(options, (reason) => collectionTexts.retrieval.failed(names, reason)),
        ),
    webSearch ? fromWeb(searchQuery(path), options).catch(failed(options, texts.search.failed)) : [],
  ]);
  options.signal.throwIfAborted();
  options.onStatus('');
  const sources = withoutRepeated(results.flat());
  if (sources.length > 0) change(chatId, (now) => withChange(now, turn.id, { sources }));
  void deleteUnused(usedDocuments);
}

/** Those that the text names as `#name`, without a choice from the list. */
async function namedIn({ text }: Turn): Promise<readonly TakenCollection[]> {
  if (!server.features.documents || !/#[^\s#]/.test(text)) return [];
  const { collections } = await fetchCollections().catch(() => ({ collections: [] }));
  return mentioned(text, collections).map(({ id, name }) => ({ id, name }));
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
  const isOn = turn.webSearch ?? chatRecords.find(chat.id)?.webSearch ?? false;
  return isOn && server.features.websearch === true && turn.text.trim() !== '';
}

/** Decides how the documents of the message are sent, and keeps it: later messages must not change the prompt before them. */
function fixModes(chat: Chat, { id, attachments = [] }: Turn): Chat {
  const modes = sendModes(attachments, server.context);
  const isOpen = attachments.some((one) => one.send === undefined && modes.get(one.id) === 'passages');
  if (!isOpen) return chatRecords.find(chat.id) ?? chat;
  const fixed = attachments.map((one) => {
    const send = modes.get(one.id);
    return send === undefined ? one : { ...one, send };
  });
  change(chat.id, (now) => withChange(now, id, { attachments: fixed }));
  return chatRecords.find(chat.id) ?? chat;
}

async function fromDocuments(
  documents: readonly Attachment[],
  path: readonly Turn[],
  budget: number,
  { signal, onStatus }: RetrieveOptions,
): Promise<readonly Source[]> {
  const named = [...new Map(documents.map((document) => [document.id, document])).values()];
  const indexes: DocumentIndex[] = [];
  for (const document of named) indexes.push(await prepared(document, { signal, onStatus }));
  onStatus(texts.retrieval.searching);
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

/** The server joins neighbours: more passages than fit would become texts that do not. */
const passageLength = 1000;
const [minPassages, maxPassages] = [2, 20];
/** Of the messages before the question, in messages and in characters of each. */
const conversationTurns = 6;
const conversationLength = 1000;

/** The server searches them, and completes a question that follows up on earlier messages. */
async function fromCollections(
  collections: readonly TakenCollection[],
  path: readonly Turn[],
  budget: number,
  { signal, onStatus }: RetrieveOptions,
): Promise<readonly Source[]> {
  onStatus(collectionTexts.retrieval.collections(collections.map(({ name }) => name)));
  const { question } = questionOf(path);
  const conversation = path
    .slice(-1 - conversationTurns, -1)
    .map(({ text }) => text.slice(-conversationLength).trim())
    .filter((text) => text !== '');
  const limit = Math.min(maxPassages, Math.max(minPassages, Math.round(budget / passageLength)));
  const search = (among: readonly TakenCollection[]): Promise<SearchAnswer> =>
    searchPassages(
      { query: question.slice(0, 4000), collections: among.map(({ id }) => id), limit, conversation },
      signal,
    );
  const { results, notes = [] } = await search(collections).catch(async (thrown) => {
    if (!(thrown instanceof Failure) || thrown.status !== 404) throw thrown;
    const { collections: known } = await fetchCollections();
    const [here, gone] = [true, false].map((is) =>
      collections.filter((one) => known.some(({ id }) => id === one.id) === is),
    ) as [TakenCollection[], TakenCollection[]];
    // Anything else was not found.
    if (gone.length === 0) throw thrown;
    notify(collectionTexts.retrieval.gone(gone.map(({ name }) => name)), { kind: 'bad' });
    return here.length === 0 ? { results: [], notes: [] } : search(here);
  });
  for (const note of notes) notify(note);
  const lengths = results.map(({ text }) => text.length);
  // Equal scores keep the order of the server.
  const chosen = bestWithin(new Float32Array(lengths.length).fill(1), lengths, budget);
  return chosen.flatMap((index) => results[index] ?? []).map((result) => sourceOfPassage(cutTo(budget, result)));
}

/** Neighbours that were joined may be longer than all that fits. */
function cutTo(budget: number, result: FoundPassage): FoundPassage {
  if (result.text.length <= budget) return result;
  const part = result.text.slice(0, budget);
  const text = part.slice(0, Math.max(part.lastIndexOf('\n'), part.lastIndexOf(' '), budget / 2)).trimEnd();
  return { ...result, text, end: result.start + text.length };
}

function sourceOfPassage(result: FoundPassage): Source {
  const { name, page, headings, line } = result;
  const { url } = result.attributes ?? {};
  const location = { name, ...(page && { page }), ...(headings?.length && { headings }), ...(line && { line }) };
  return {
    title: englishTitleOf(result),
    location,
    ...(typeof url === 'string' && URL.canParse(url) ? { url } : {}),
    text: result.text,
    passage: result.passage,
    span: { start: result.start, end: result.end },
    ...(result.found ? { found: result.found } : {}),
  };
}

/** A document of the chat may be in a collection, too. */
function withoutRepeated(sources: readonly Source[]): readonly Source[] {
  return sources.filter(
    ({ text }, at) => !sources.slice(0, at).some((before) => before.text.includes(text) || text === before.text),
  );
}

async function bestSources(
  documents: readonly Attachment[],
  indexes: readonly DocumentIndex[],
  path: readonly Turn[],
  budget: number,
  signal: AbortSignal,
): Promise<readonly Source[]> {
  const candidates = documents.flatMap((document, at) =>
    (indexes[at]?.passages ?? []).map((passage): { readonly document: Attachment; readonly passage: Passage } => ({
      document,
      passage,
    })),
  );
  const candidateTexts = candidates.map(({ document, passage }) => textOf(document, passage));
  const { question, recent } = questionOf(path);
  const keywords = { scores: await inSlices(keywordScores(question, candidateTexts), { signal }), weight: 1 };
  const vectors = await vectorRankings(documents, indexes, [question, recent], signal);
  const scores = fusedScores([keywords, ...vectors]);
  const ranks = { keywords: ranksOf(keywords.scores), vector: vectors[0] ? ranksOf(vectors[0].scores) : undefined };
  const at = new Map(candidates.map(({ passage }, index) => [passage, index]));
  /** The best rank of the passages that became one. */
  const foundBy = (parts: readonly Passage[]): FoundBy => {
    const best = (of: ReadonlyMap<number, number> | undefined): number =>
      Math.min(...parts.map((part) => of?.get(at.get(part) ?? -1) ?? Number.POSITIVE_INFINITY));
    const [vector, words] = [best(ranks.vector), best(ranks.keywords)];
    return { ...(Number.isFinite(vector) && { vector }), ...(Number.isFinite(words) && { keywords: words }) };
  };
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
    return mergedPassages(own).map((passage) => {
      const parts = own.filter(({ start, end }) => start >= passage.start && end <= passage.end);
      return { ...sourceOf(document, passage), found: foundBy(parts) };
    });
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
  const filled = questions.filter((question) => question !== '');
  const { model, vectors } = await embed(filled, signal).catch((thrown) => {
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
  const questions = path.filter(({ role }) => role === 'user').map(({ text }) => text.trim());
  const question = questions.at(-1) ?? '';
  const before = questions.at(-2) ?? '';
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
  const turns = chatRecords.all.flatMap((chat) => Object.values(chat.turns));
  return new Set(turns.flatMap(({ attachments = [] }) => attachments.map(({ id }) => id)));
}
