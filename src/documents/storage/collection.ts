import type { DocumentHit, ExtractedDocument, Filter, Passage } from '../../core/documents.ts';
import type { Sliced } from '../../core/slices.ts';
import { embeddedText, passagesOf, passageText } from '../passages.ts';
import { matches } from '../search/filter.ts';
import { type Candidate, fused, type Weights } from '../search/fusion.ts';
import { commonFrom, highestScore, quoted, searchedTerms, termsOf } from '../search/keywords.ts';
import { byteVector, VectorIndex } from '../vectors/vector-index.ts';
import type { CollectionDatabase } from './collection-database.ts';
import type { FileRow, StoredPassage } from './rows.ts';

/** One question, and its vector where the collection has vectors of the same model. */
export interface Question {
  readonly query: string;
  readonly vector?: Float32Array | undefined;
}

export interface SearchRules {
  readonly filter?: Filter | undefined;
  readonly weights: Weights;
  /** How many candidates. */
  readonly limit: number;
}

export interface PassageCandidate extends Candidate {
  readonly passage: Passage;
  /** Its text with its headings, for a reranker. */
  readonly rankText: string;
}

/** The best of each way of searching that are compared with each other. */
const depth = 100;
/** Matches that are looked through for files that the filter accepts. */
const filteredDepth = 5000;
/** Cached counts of words. */
const maxCounts = 10_000;
/** Of a collection. At this limit the vectors take 400 MB, and a search takes a tenth of a second. */
export const maxPassages = 1_000_000;

/** An open collection: its database, and its vectors in memory while they are used. */
export class OpenCollection {
  #vectors: VectorIndex | undefined;
  /** How many more passages may be written before those that wait for their vectors are counted again. */
  #room = 0;
  /** How many more may be written before all of them are counted again. */
  #free = 0;
  /** Of all files; undefined when they have changed. */
  #passageCount: number | undefined;
  /** In how many passages words are, since the last change: counting a common one again takes longer than the rest of a search. */
  readonly #counts = new Map<string, number>();
  /** When its vectors were last used, in milliseconds. */
  usedAt = 0;

  constructor(
    readonly owner: string,
    readonly id: string,
    readonly database: CollectionDatabase,
  ) {}

  /** Of its vectors in memory. */
  get bytes(): number {
    return this.#vectors?.bytes ?? 0;
  }

  dropVectors(): void {
    this.#vectors = undefined;
  }

  close(): void {
    this.dropVectors();
    this.database.close();
  }

  /** The best passages of all questions, the best first. */
  search(questions: readonly Question[], { filter, weights, limit }: SearchRules): readonly PassageCandidate[] {
    const accepts = filter && this.#accepted(filter);
    const candidates = new Map<number, Candidate>();
    for (const question of questions) {
      for (const candidate of this.#candidates(question, weights, accepts)) {
        const before = candidates.get(candidate.id);
        if (!before || before.score < candidate.score) candidates.set(candidate.id, candidate);
      }
    }
    const best = [...candidates.values()]
      .sort((one, other) => other.score - one.score || one.id - other.id)
      .slice(0, limit);
    const passages = new Map(this.database.passages(best.map(({ id }) => id)).map((stored) => [stored.id, stored]));
    const files = this.#filesOf([...passages.values()]);
    return best.flatMap((candidate) => {
      const stored = passages.get(candidate.id);
      const file = stored && files.get(stored.file);
      if (!file) return [];
      const own = this.#ownText(stored);
      const passage = this.#passage(stored, file, own);
      return [{ ...candidate, passage, rankText: comparedText(stored, file, own) }];
    });
  }

  #candidates(
    { query, vector }: Question,
    weights: Weights,
    accepts?: (file: number) => boolean,
  ): readonly Candidate[] {
    this.#passageCount ??= this.database.counts().passages;
    const passages = this.#passageCount;
    const maxCount = Math.ceil(commonFrom(passages)) + 1;
    const counted = termsOf(query).map((term) => ({ term, count: this.#countWord(term, maxCount) }));
    const terms = searchedTerms(counted, passages);
    const highest = highestScore(
      counted.filter((term) => terms.includes(term) || term.count === 0),
      passages,
    );
    const matching =
      terms.length === 0 || weights.keywords === 0
        ? []
        : this.database
            .matching(terms.map(({ term }) => quoted(term)).join(' OR '), accepts ? filteredDepth : depth)
            .filter(({ file }) => accepts?.(file) ?? true)
            .slice(0, depth)
            .map(({ id, score }) => ({ id, score: Math.min(1, score / highest) }));
    const index = vector && weights.vector > 0 ? this.#loadedVectors(vector.length) : undefined;
    if (!index || !vector) return fused(matching, undefined, weights);
    const near = index.search(vector, depth, accepts);
    const similarities = index.similarities(
      vector,
      matching.map(({ id }) => id),
    );
    return fused(matching, { near, similarities }, weights);
  }

  #countWord(term: string, max: number): number {
    const count = this.#counts.get(term) ?? this.database.countWord(quoted(term), max);
    if (this.#counts.size >= maxCounts) this.#counts.clear();
    this.#counts.set(term, count);
    return count;
  }

  /** Undefined without vectors of this dimension. */
  #loadedVectors(dimensions: number): VectorIndex | undefined {
    if (this.database.facts().dimensions !== dimensions) return undefined;
    if (!this.#vectors) {
      const index = new VectorIndex(dimensions);
      for (const { id, file, vector } of this.database.vectors()) index.set(id, file, vector);
      this.#vectors = index;
    }
    return this.#vectors;
  }

  #accepted(filter: Filter): (file: number) => boolean {
    const accepted = new Set<number>();
    for (const [key, attributes] of this.database.attributes()) if (matches(filter, attributes)) accepted.add(key);
    return (file) => accepted.has(file);
  }

  /** Whether fewer passages than this wait for their vectors. */
  hasRoom(max: number): boolean {
    if (this.#room <= 0) this.#room = max - this.database.countToEmbed(max);
    return this.#room > 0;
  }

  /** Texts to embed. */
  toEmbed(limit: number): readonly { readonly id: number; readonly text: string }[] {
    const waiting = this.database.toEmbed(limit);
    const files = this.#filesOf(waiting);
    return waiting.map((stored) => ({
      id: stored.id,
      text: comparedText(stored, files.get(stored.file), this.#ownText(stored)),
    }));
  }

  setVectors(ids: readonly number[], vectors: readonly Float32Array[]): void {
    const dimensions = vectors[0]?.length ?? 0;
    if (this.database.facts().dimensions === 0) this.database.change((facts) => ({ ...facts, dimensions }));
    const stored = ids.map((id, index) => ({ id, vector: byteVector(vectors[index] ?? new Float32Array(dimensions)) }));
    const set = new Map(this.database.setVectors(stored).map(({ id, file }) => [id, file]));
    for (const { id, vector } of stored) {
      const file = set.get(id);
      if (file !== undefined) this.#vectors?.set(id, file, vector);
    }
  }

  /** Replaces what is stored of a file. Ends early when the file was changed or removed meanwhile. */
  *write(
    file: FileRow,
    document: ExtractedDocument,
    facts: Pick<FileRow, 'hash' | 'bytes' | 'modified'>,
    hasVectors: boolean,
  ): Sliced<'written' | 'overtaken' | 'full'> {
    const isCurrent = () => this.database.fileByKey(file.key)?.generation === file.generation;
    const { title } = document;
    // A lone half of a character becomes a replacement character, which has the same length.
    const content = Buffer.from(document.text).toString();
    const spans = yield* passagesOf({ ...document, text: content }, file.chunking);
    yield* this.clear(file.key);
    if (!isCurrent()) return 'overtaken';
    if (this.#free < spans.length) this.#free = maxPassages - this.database.counts().passages;
    if (this.#free < spans.length) return 'full';
    const steps = [
      this.database.writeText(file.key, content),
      this.database.writePassages(file.key, title || file.name, spans, (span) => passageText(content, span)),
    ];
    for (const step of steps) {
      for (const _ of step) {
        yield;
        if (!isCurrent()) return 'overtaken';
      }
    }
    this.#forgetCounts();
    this.#room -= spans.length;
    this.#free -= spans.length;
    this.database.finishText(file.key, { ...facts, title: title || file.name, passages: spans.length }, hasVectors);
    return 'written';
  }

  #forgetCounts(): void {
    this.#counts.clear();
    this.#passageCount = undefined;
  }

  *clear(key: number): Sliced<void> {
    this.#forgetCounts();
    this.#vectors?.deleteGroup(key);
    yield* this.database.clear(key);
  }

  passage(id: number): { readonly passage: Passage; readonly before: string; readonly after: string } | undefined {
    const stored = this.database.passage(id);
    const file = stored && this.database.fileByKey(stored.file);
    if (!stored || !file) return undefined;
    const { start, end } = stored;
    return {
      passage: this.#passage(stored, file, this.#ownText(stored)),
      before: this.database.text(file.key, Math.max(0, start - around), start),
      after: this.database.text(file.key, end, end + around),
    };
  }

  /** Passages of one file that touch each other become one, with the score of the best. */
  joined(hits: readonly DocumentHit[]): readonly DocumentHit[] {
    const taken = new Set<DocumentHit>();
    return hits.flatMap((hit) => {
      if (taken.has(hit)) return [];
      let { passage } = hit;
      for (let again = true; again; ) {
        again = false;
        for (const other of hits) {
          if (other === hit || taken.has(other) || other.passage.file !== passage.file) continue;
          const [first, last] =
            passage.start <= other.passage.start ? [passage, other.passage] : [other.passage, passage];
          if (last.start > first.end + maxGap || last.end - first.start > maxJoined) continue;
          taken.add(other);
          passage = this.#join(passage, first, last);
          again = true;
        }
      }
      return [{ ...hit, passage }];
    });
  }

  #join(best: Passage, first: Passage, last: Passage): Passage {
    const [start, end] = [first.start, Math.max(first.end, last.end)];
    const key = this.database.file(best.file)?.key ?? 0;
    const own = this.database.text(key, start, end);
    const header = first.text.slice(0, Math.max(0, first.text.length - (first.end - first.start)));
    const { page, line } = first;
    return {
      ...best,
      ...(page !== undefined && { page }),
      ...(line !== undefined && { line }),
      start,
      end,
      text: `${header}${own}`,
    };
  }

  #filesOf(passages: readonly StoredPassage[]): ReadonlyMap<number, FileRow> {
    return this.database.filesByKey([...new Set(passages.map(({ file }) => file))]);
  }

  #ownText({ file, start, end }: StoredPassage): string {
    return this.database.text(file, start, end);
  }

  #passage({ id, file: _, header, ...location }: StoredPassage, file: FileRow, own: string): Passage {
    return {
      id: `${this.id}.${id}`,
      collection: this.id,
      file: file.id,
      name: file.path ?? file.name,
      attributes: file.attributes,
      ...location,
      text: header === undefined ? own : `${header}\n${own}`,
    };
  }
}

/** What is embedded of a passage, and given to a reranker. */
function comparedText(stored: StoredPassage, file: FileRow | undefined, own: string): string {
  return embeddedText(file?.title ?? '', own, { ...stored, start: 0, end: own.length });
}

/** Of the text before and after a passage. */
const around = 1500;
/** Between passages that touch each other there is only white space. */
const maxGap = 8;
/** Joined passages stay short enough for several of them in a prompt. */
const maxJoined = 6000;
