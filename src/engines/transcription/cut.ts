/** From one sample to another, the last not included. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Audio that is recognised in one call, with its spans of speech. */
export interface Chunk extends Span {
  readonly spans: readonly Span[];
}

export interface CutOptions {
  /** No chunk is longer. */
  readonly longest: number;
  /** Speech on both sides of a longer pause is not recognised together. */
  readonly widestPause: number;
  /** What is heard before and behind the speech, where there is room: voices rise and fade. */
  readonly margin: number;
  /** Where to cut speech that does not pause: a quiet place from one sample to another, both included. */
  readonly quietest: (from: number, to: number) => number;
}

/**
 * Puts spans of speech, which come in order, together to chunks: as few as possible, because a recogniser hears better with
 * what stands around. All speech is in a chunk, and no two chunks overlap.
 */
export class ChunkCutter {
  #open: Span[] = [];
  /** Where the speech before the open chunk ended. */
  #before = Number.NEGATIVE_INFINITY;

  constructor(private readonly options: CutOptions) {}

  add(span: Span): readonly Chunk[] {
    const done: Chunk[] = [];
    for (const part of this.#parts(span)) {
      if (!this.#fits(part)) done.push(...this.#close(part.start));
      this.#open.push(part);
    }
    return done;
  }

  /** No span that comes later begins before this sample: what none of them can join any more is done. */
  settle(position: number): readonly Chunk[] {
    const last = this.#open.at(-1);
    return last && position - last.end > this.options.widestPause ? this.#close(position) : [];
  }

  /** Nothing before this sample will be in a chunk, where all that comes later begins at `position` or behind it. */
  neededFrom(position: number): number {
    return Math.max(0, Math.min(this.#open[0]?.start ?? position, position) - this.options.margin);
  }

  /** Returns the last chunk. */
  end(length: number): readonly Chunk[] {
    return this.#close(length, true);
  }

  /** A chunk must have room for its margins. */
  get #room(): number {
    return this.options.longest - 2 * this.options.margin;
  }

  /** Does not overlap the previous span. */
  *#parts({ start, end }: Span): Generator<Span> {
    let from = Math.max(start, this.#open.at(-1)?.end ?? this.#before);
    while (end - from > this.#room) {
      const cut = this.options.quietest(from + Math.ceil(this.#room / 2), from + this.#room);
      yield { start: from, end: cut };
      from = cut;
    }
    if (end > from) yield { start: from, end };
  }

  #fits({ start, end }: Span): boolean {
    const [first] = this.#open;
    const last = this.#open.at(-1);
    if (!first || !last) return true;
    return end - first.start <= this.#room && start - last.end <= this.options.widestPause;
  }

  #close(next: number, isEnd = false): readonly Chunk[] {
    const spans = this.#open;
    const [first] = spans;
    const last = spans.at(-1);
    if (!first || !last) return [];
    const { margin } = this.options;
    // Of a pause between two chunks each may have half; before the first and behind the last is nobody else.
    const before = Math.min(margin, Math.floor((first.start - this.#before) / 2), first.start);
    const behind = Math.min(margin, Math.floor((next - last.end) / (isEnd ? 1 : 2)));
    this.#before = last.end;
    this.#open = [];
    return [{ start: first.start - before, end: last.end + behind, spans }];
  }
}
