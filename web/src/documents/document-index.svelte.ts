import { sentenceOf } from '../api/failure.ts';
import { server } from '../app/server.svelte.ts';
import type { Attachment } from '../chat/model/conversation.ts';
import { collection } from '../saved/database.ts';
import { embed } from './embed.ts';
import { type Passage, passagesOf } from './passages.ts';
import { inSlices } from './yielding.ts';

/** The passages of a document with their vectors, kept by attachment id: documents are embedded once. */
export interface DocumentIndex {
  readonly id: string;
  /** Time of the last change; old indexes without a chat are deleted. */
  readonly at: number;
  /** Length of the text: an index of another text is made again. */
  readonly characters: number;
  readonly passages: readonly Passage[];
  /** Embedding model; empty before the first vectors. */
  readonly model: string;
  /** The vectors of the first passages, one after another. */
  readonly vectors: Float32Array;
  readonly dimensions: number;
}

export interface IndexState {
  readonly step: 'cutting' | 'embedding' | 'ready' | 'keywords';
  readonly done: number;
  readonly total: number;
  /** Why there are no vectors. */
  readonly reason?: string;
}

const stored = collection<DocumentIndex>('documents');
let states = $state.raw<Readonly<Record<string, IndexState>>>({});
const running = new Map<string, Promise<DocumentIndex>>();
/** Documents are embedded one after another. */
let last: Promise<unknown> = Promise.resolve();

/** Passages in one request. */
const batch = 16;
/** Vectors are saved after so many passages, so that a reload loses little. */
const savedEvery = 512;

export function indexState(id: string): IndexState | undefined {
  return states[id];
}

export function forgetState(id: string): void {
  const { [id]: _, ...others } = states;
  states = others;
}

/** The index of a document; made in the background on first use. Never rejects: without vectors keywords are used. */
export function indexOf(document: Attachment): Promise<DocumentIndex> {
  const known = running.get(document.id);
  if (known) return known;
  const making = make(document);
  running.set(document.id, making);
  // Kept if it is complete; otherwise the next use tries again.
  void making.then(({ vectors, dimensions, passages }) => {
    if (vectors.length < passages.length * dimensions || dimensions === 0) running.delete(document.id);
  });
  return making;
}

async function make({ id, text = '' }: Attachment): Promise<DocumentIndex> {
  const found = await stored.get(id).catch(() => undefined);
  let index = found?.characters === text.length ? found : await cut(id, text);
  if (isComplete(index)) {
    show(id, { step: 'ready', done: index.passages.length, total: index.passages.length });
    return index;
  }
  const turn = last;
  let free = (): void => {};
  last = new Promise<void>((resolve) => {
    free = resolve;
  });
  await turn;
  try {
    if (!server.features.embeddings) throw new NoModel();
    index = await withVectors(index, text);
    show(id, { step: 'ready', done: index.passages.length, total: index.passages.length });
  } catch (thrown) {
    const reason = thrown instanceof NoModel ? {} : { reason: sentenceOf(thrown) };
    show(id, { step: 'keywords', done: 0, total: index.passages.length, ...reason });
  } finally {
    free();
  }
  return index;
}

/** The server has no embedding model. */
class NoModel extends Error {}

async function cut(id: string, text: string): Promise<DocumentIndex> {
  show(id, { step: 'cutting', done: 0, total: 0 });
  const passages = await inSlices(passagesOf(text));
  const none = { model: '', vectors: new Float32Array(), dimensions: 0 };
  const index: DocumentIndex = { id, at: Date.now(), characters: text.length, passages, ...none };
  await stored.put(index).catch(() => {});
  return index;
}

async function withVectors(begun: DocumentIndex, text: string): Promise<DocumentIndex> {
  const { id, passages } = begun;
  let index = begun;
  let all = index.vectors;
  for (let done = vectorCount(index); done < passages.length; done += batch) {
    show(id, { step: 'embedding', done, total: passages.length });
    const some = passages.slice(done, done + batch).map((passage) => embeddedText(passage, text));
    const { model, vectors } = await embed(some);
    const dimensions = vectors[0]?.length ?? 0;
    // Another model was loaded meanwhile.
    if (done > 0 && (model !== index.model || dimensions !== index.dimensions))
      return withVectors({ ...index, model: '', vectors: new Float32Array(), dimensions: 0 }, text);
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
    if (end === passages.length || end % savedEvery === 0)
      await stored.put({ ...index, vectors: index.vectors.slice() }).catch(() => {});
  }
  return index;
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
export function indexAgain(document: Attachment, { id, at, characters, passages }: DocumentIndex) {
  const bare: DocumentIndex = {
    ...{ id, at, characters, passages },
    model: '',
    vectors: new Float32Array(),
    dimensions: 0,
  };
  running.delete(document.id);
  return stored.put(bare).then(() => indexOf(document));
}

/** Age after which an index that no chat uses is deleted. */
const keptMs = 24 * 60 * 60 * 1000;
let cleaned = false;

/** Deletes indexes of documents that are in no chat any more; once per page. */
export async function deleteUnused(used: () => ReadonlySet<string>, now = Date.now()): Promise<void> {
  if (cleaned) return;
  cleaned = true;
  const ids = used();
  const all = await stored.all().catch(() => []);
  for (const { id, at } of all) if (!ids.has(id) && now - at > keptMs) await stored.remove(id).catch(() => {});
}

function show(id: string, state: IndexState): void {
  states = { ...states, [id]: state };
}
