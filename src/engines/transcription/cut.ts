/** Samples from `start` to before `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Audio that is recognised in one call, with its spans of speech. */
export interface Chunk extends Span {
  readonly spans: readonly Span[];
}

export interface CutOptions {
  /** Maximum length of a chunk. */
  readonly maxLength: number;
  /** A longer pause ends a chunk. */
  readonly maxPause: number;
  /** Audio before and after the speech, if possible: voices rise and fade. */
  readonly margin: number;
  /** Where to cut speech without pauses: the quietest position within this range. */
  readonly quietest: (from: number, to: number) => number;
}

/** Joins spans of speech to as few chunks as possible, because context improves recognition. Chunks do not overlap. */
export class ChunkCutter {
  #open: Span[] = [];
  /** End of the speech before the open chunk. */
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

  /** Later spans start at this sample or after it: returns the open chunk if none can join it. */
  settle(position: number): readonly Chunk[] {
    const last = this.#open.at(-1);
    return last && position - last.end > this.options.maxPause ? this.#close(position) : [];
  }

  /** First sample that a later chunk may need, if later spans start at `position` or after it. */
  neededFrom(position: number): number {
    return Math.max(0, Math.min(this.#open[0]?.start ?? position, position) - this.options.margin);
  }

  end(length: number): readonly Chunk[] {
    return this.#close(length, true);
  }

  /** A chunk must have room for its margins. */
  get #room(): number {
    return this.options.maxLength - 2 * this.options.margin;
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
    return end - first.start <= this.#room && start - last.end <= this.options.maxPause;
  }

  #close(next: number, isEnd = false): readonly Chunk[] {
    const spans = this.#open;
    const [first] = spans;
    const last = spans.at(-1);
    if (!first || !last) return [];
    const { margin } = this.options;
    // A pause between two chunks is shared; before the first and after the last chunk it is not.
    const before = Math.min(margin, Math.floor((first.start - this.#before) / 2), first.start);
    const behind = Math.min(margin, Math.floor((next - last.end) / (isEnd ? 1 : 2)));
    this.#before = last.end;
    this.#open = [];
    return [{ start: first.start - before, end: last.end + behind, spans }];
  }
}
