import { read } from '../api/call.ts';
import { sentenceOf } from '../api/failure.ts';
import { pause } from '../api/running-reply.ts';
import type { Attachment } from '../conversations/conversation.ts';
import { server } from '../models/server.svelte.ts';
import { collection } from '../saved/database.ts';
import { embed } from './embed.ts';
import { type Passage, passagesOf } from './passages.ts';
import { inSlices } from './yielding.ts';

/** The passages of a document with their vectors, kept by attachment id: documents are embedded once. */
export interface DocumentIndex {
  readonly id: string;
  /** Time of the last change; old indexes without a chat are deleted. */
  readonly at: number;
  /** An index of another text is made again. */
  readonly textHash: number;
  readonly passages: readonly Passage[];
  /** Embedding model; empty before the first vectors. */
  readonly model: string;
  /** The vectors of the first passages, one after another. */
  readonly vectors: Float32Array;
  readonly dimensions: number;
}

interface IndexState {
  readonly step: 'cutting' | 'embedding' | 'ready' | 'keywords';
  readonly done: number;
  readonly total: number;
  /** Why there are no vectors. */
  readonly reason?: string;
}

const stored = collection<DocumentIndex>('documents');
let states = $state.raw<Readonly<Record<string, IndexState>>>({});

/** An index that is being made, or was made. It is stopped when nobody waits for it any more. */
interface Making {
  readonly text: string | undefined;
  readonly index: Promise<DocumentIndex>;
  readonly controller: AbortController;
  waiting: number;
}
const running = new Map<string, Making>();
/** Documents are embedded one after another. */
let last: Promise<unknown> = Promise.resolve();

/** Passages in one request: few, so that the requests of others get their turn between them. */
const batch = 8;
/** Vectors are saved after so many passages, so that a reload loses little. */
const savedEvery = 512;
/** How often it is checked whether the server is still busy, and for how long the next passages wait at most. */
const lookMs = 500;
const maxLooks = 8;

export function indexState(id: string): IndexState | undefined {
  return states[id];
}

function forgetState(id: string): void {
  const { [id]: _, ...others } = states;
  states = others;
}

/**
 * The index of a document; made in the background on first use, and stopped when the signals of all callers are aborted. What is
 * done by then is kept. Rejects only if the signal is aborted: without vectors keywords are used.
 */
export function indexOf(document: Attachment, signal: AbortSignal): Promise<DocumentIndex> {
  if (signal.aborted) return Promise.reject(signal.reason);
  const entry = entryOf(document);
  entry.waiting += 1;
  return new Promise((resolve, reject) => {
    signal.addEventListener(
      'abort',
      () => {
        entry.waiting -= 1;
        if (entry.waiting === 0) stop(document.id, entry);
        reject(signal.reason);
      },
      { once: true },
    );
    entry.index.then(resolve, reject);
  });
}

function entryOf(document: Attachment): Making {
  const known = running.get(document.id);
  if (known && known.text === document.text) return known;
  if (known) stop(document.id, known);
  const controller = new AbortController();
  const index = make(document, controller.signal);
  const entry: Making = { text: document.text, index, controller, waiting: 0 };
  running.set(document.id, entry);
  // Kept if it is complete; otherwise the next use tries again.
  index.then(
    (made) => {
      if (!isComplete(made) && running.get(document.id) === entry) running.delete(document.id);
    },
    () => {},
  );
  return entry;
}

function stop(id: string, entry: Making): void {
  if (states[id]?.step === 'ready') return;
  entry.controller.abort();
  if (running.get(id) !== entry) return;
  running.delete(id);
  forgetState(id);
}

async function make({ id, text = '' }: Attachment, signal: AbortSignal): Promise<DocumentIndex> {
  const textHash = hashOf(text);
  const find = async () => {
    const known = await stored.get(id).catch(() => undefined);
    return known?.textHash === textHash ? known : undefined;
  };
  const known = await find();
  if (known && isComplete(known)) {
    show(known, 'ready');
    return known;
  }
  const turn = last;
  let free = (): void => {};
  last = new Promise<void>((resolve) => {
    free = resolve;
  });
  try {
    await turn;
    signal.throwIfAborted();
    // Another use of this document may have been stopped meanwhile, and has kept what it had.
    const index = (await find()) ?? (await cut(id, text, signal));
    return await embedded(index, text, signal);
  } finally {
    free();
  }
}

/** With vectors, if that is possible. */
async function embedded(index: DocumentIndex, text: string, signal: AbortSignal): Promise<DocumentIndex> {
  try {
    if (!server.features.embeddings) throw new NoModel();
    const whole = await withVectors(index, text, signal);
    show(whole, 'ready');
    return whole;
  } catch (thrown) {
    signal.throwIfAborted();
    const reason = thrown instanceof NoModel ? {} : { reason: sentenceOf(thrown) };
    states = { ...states, [index.id]: { step: 'keywords', done: 0, total: index.passages.length, ...reason } };
    return index;
  }
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/** The server has no embedding model. */
class NoModel extends Error {}

async function cut(id: string, text: string, signal: AbortSignal): Promise<DocumentIndex> {
  states = { ...states, [id]: { step: 'cutting', done: 0, total: 0 } };
  const passages = await inSlices(passagesOf(text), { signal });
  const none = { model: '', vectors: new Float32Array(), dimensions: 0 };
  const index: DocumentIndex = { id, at: Date.now(), textHash: hashOf(text), passages, ...none };
  await save(index);
  return index;
}

async function withVectors(begun: DocumentIndex, text: string, signal: AbortSignal): Promise<DocumentIndex> {
  const { passages } = begun;
  let index = begun;
  let all = index.vectors;
  try {
    for (let done = vectorCount(index); done < passages.length; done += batch) {
      show(index, 'embedding');
      await giveWay(signal);
      const some = passages.slice(done, done + batch).map((passage) => embeddedText(passage, text));
      const { model, vectors } = await embed(some, signal);
      const dimensions = vectors[0]?.length ?? 0;
      // Another model was loaded meanwhile.
      if (done > 0 && (model !== index.model || dimensions !== index.dimensions))
        return withVectors({ ...index, model: '', vectors: new Float32Array(), dimensions: 0 }, text, signal);
      if (all.length < passages.length * dimensions) {
        const whole = new Float32Array(passages.length * dimensions);
        whole.set(all);
        all = whole;
      }
      vectors.forEach((vector, at) => {
        all.set(vector, (done + at) * dimensions);
      });
      const end = Math.min(passages.length, done + batch);
      index = { ...index, at: Date.now(), model, dimensions, vectors: all.subarray(0, end * dimensions) };
      if (end === passages.length || end % savedEvery === 0) await save(index);
    }
  } catch (thrown) {
    if (index !== begun) await save(index);
    throw thrown;
  }
  return index;
}

/** A copy of the vectors: those of the index are a part of a larger buffer, which would be saved as a whole. */
async function save(index: DocumentIndex): Promise<void> {
  await stored.put({ ...index, vectors: index.vectors.slice() }).catch(() => {});
}

/** Lets the requests of people go first: waits while the server is busy, but not so long that a busy server never gets on. */
async function giveWay(signal: AbortSignal): Promise<void> {
  for (let look = 0; look < maxLooks; look += 1) {
    const answer = read<{ readonly idle: number }>('api/extra/perf', { background: true, signal });
    const { idle } = await answer.catch(() => ({ idle: 1 }));
    if (idle === 1) return;
    await pause(lookMs, signal);
    signal.throwIfAborted();
  }
}

/** With its heading, which often names the subject that the passage does not repeat. */
function embeddedText({ start, end, heading }: Passage, text: string): string {
  const own = text.slice(start, end);
  return heading === undefined || own.includes(heading) ? own : `${heading}\n${own}`;
}

function vectorCount({ vectors, dimensions }: DocumentIndex): number {
  return dimensions === 0 ? 0 : vectors.length / dimensions;
}

export function isComplete(index: DocumentIndex): boolean {
  return index.passages.length === 0 || vectorCount(index) === index.passages.length;
}

/** Makes the vectors again, after the embedding model has changed. */
export function indexAgain(
  document: Attachment,
  { id, at, textHash, passages }: DocumentIndex,
  signal: AbortSignal,
): Promise<DocumentIndex> {
  const bare: DocumentIndex = {
    id,
    at,
    textHash,
    passages,
    model: '',
    vectors: new Float32Array(),
    dimensions: 0,
  };
  running.delete(document.id);
  return stored.put(bare).then(() => indexOf(document, signal));
}

/** Age after which an index that no chat uses is deleted. */
const keptMs = 24 * 60 * 60 * 1000;
let cleaned = false;

/** Deletes indexes of documents that are in no chat any more; once per page. */
export async function deleteUnused(used: () => ReadonlySet<string>): Promise<void> {
  if (cleaned) return;
  cleaned = true;
  const ids = used();
  const all = await stored.all().catch(() => []);
  for (const { id, at } of all) if (!ids.has(id) && Date.now() - at > keptMs) await stored.remove(id).catch(() => {});
}

function show(index: DocumentIndex, step: 'embedding' | 'ready'): void {
  states = { ...states, [index.id]: { step, done: vectorCount(index), total: index.passages.length } };
}
