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

export interface FoundPassage extends Candidate {
  readonly passage: Passage;
  /** Its text with its headings, for a reranker. */
  readonly rankText: string;
}

/** The best of each way of searching that are compared with each other. */
const depth = 100;
/** Matches that are looked through for files that the filter accepts. */
const filteredDepth = 5000;
/** More are not stored: the vectors of so many have 400 MB, and a search takes a tenth of a second. */
export const maxPassages = 1_000_000;

/** An open collection: its database, and its vectors in memory while they are used. */
export class OpenCollection {
  #vectors: VectorIndex | undefined;
  /** Words that were found to be common since the last change: counting them again takes longer than the rest of a search. */
  readonly #common = new Set<string>();
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
  search(questions: readonly Question[], { filter, weights, limit }: SearchRules): readonly FoundPassage[] {
    const accepts = filter && this.#accepted(filter);
    const found = new Map<number, Candidate>();
    for (const question of questions) {
      for (const candidate of this.#candidates(question, weights, accepts)) {
        const before = found.get(candidate.id);
        if (!before || before.score < candidate.score) found.set(candidate.id, candidate);
      }
    }
    const best = [...found.values()].sort((one, other) => other.score - one.score || one.id - other.id).slice(0, limit);
    const files = new Map<number, FileRow | undefined>();
    return best.flatMap((candidate) => {
      const stored = this.database.passage(candidate.id);
      if (!stored) return [];
      const file = files.get(stored.file) ?? this.database.fileByKey(stored.file);
      files.set(stored.file, file);
      if (!file) return [];
      const passage = this.#passage(stored, file);
      return [{ ...candidate, passage, rankText: this.#comparedText(stored, file) }];
    });
  }

  #candidates(
    { query, vector }: Question,
    weights: Weights,
    accepts?: (file: number) => boolean,
  ): readonly Candidate[] {
    const { passages } = this.database.counts();
    const most = Math.ceil(commonFrom(passages)) + 1;
    const counted = termsOf(query).map((term) => {
      const count = this.#common.has(term) ? most : this.database.countWord(quoted(term), most);
      if (count === most) this.#common.add(term);
      return { term, count };
    });
    const words = searchedTerms(counted, passages);
    const highest = highestScore(
      counted.filter((term) => words.includes(term) || term.count === 0),
      passages,
    );
    const matching =
      words.length === 0 || weights.keywords === 0
        ? []
        : this.database
            .matching(words.map(({ term }) => quoted(term)).join(' OR '), accepts ? filteredDepth : depth)
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

  /** Undefined without vectors of so many dimensions. */
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

  /** Texts to embed. */
  toEmbed(limit: number): readonly { readonly id: number; readonly text: string }[] {
    const files = new Map<number, FileRow | undefined>();
    return this.database.toEmbed(limit).map((stored) => {
      const file = files.get(stored.file) ?? this.database.fileByKey(stored.file);
      files.set(stored.file, file);
      return { id: stored.id, text: this.#comparedText(stored, file) };
    });
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
    if (this.database.counts().passages + spans.length > maxPassages) return 'full';
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
    this.database.finishText(file.key, { ...facts, title: title || file.name, passages: spans.length }, hasVectors);
    return 'written';
  }

  *clear(key: number): Sliced<void> {
    this.#common.clear();
    this.#vectors?.deleteGroup(key);
    yield* this.database.clear(key);
  }

  passage(id: number): { readonly passage: Passage; readonly before: string; readonly after: string } | undefined {
    const stored = this.database.passage(id);
    const file = stored && this.database.fileByKey(stored.file);
    if (!stored || !file) return undefined;
    const { start, end } = stored;
    return {
      passage: this.#passage(stored, file),
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
      ...{ start, end, text: `${header}${own}` },
    };
  }

  /** What is embedded of a passage, and given to a reranker. */
  #comparedText(stored: StoredPassage, file: FileRow | undefined): string {
    const own = this.database.text(stored.file, stored.start, stored.end);
    return embeddedText(file?.title ?? '', own, { ...stored, start: 0, end: own.length });
  }

  #passage({ id, file: key, header, ...place }: StoredPassage, file: FileRow): Passage {
    const own = this.database.text(key, place.start, place.end);
    return {
      id: `${this.id}.${id}`,
      collection: this.id,
      file: file.id,
      name: file.path ?? file.name,
      attributes: file.attributes,
      ...place,
      text: header === undefined ? own : `${header}\n${own}`,
    };
  }
}

/** Of the text before and after a passage. */
const around = 1500;
/** Between passages that touch each other there is only white space. */
const maxGap = 8;
/** Joined passages stay short enough for several of them in a prompt. */
const maxJoined = 6000;
