interface Kept {
  readonly answer: object;
  readonly bytes: number;
}

const mostKept = 16;
const mostBytes = 64 * 2 ** 20;

/** The last answer of each key, which only its client knows, and whether somebody interrupted a drawing. One for the whole server. */
export class LastDrawings {
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;
  #stopped = false;

  /** A new request has been taken in: the last answer of its own key is gone, and so is the mark of an interruption. */
  begin(genkey: string): void {
    this.#remove(genkey);
    this.#stopped = false;
  }

  /** The oldest go where there are too many. */
  keep(genkey: string, answer: object, images: readonly string[]): void {
    if (genkey === '') return;
    this.#remove(genkey);
    const bytes = images.reduce((sum, image) => sum + image.length, 0);
    this.#kept.set(genkey, { answer, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#kept.keys()) {
      if (oldest === genkey || (this.#kept.size <= mostKept && this.#bytes <= mostBytes)) return;
      this.#remove(oldest);
    }
  }

  lastOf(genkey: string): object | undefined {
    return this.#kept.get(genkey)?.answer;
  }

  /** What is drawn now was stopped by somebody who asked for it. */
  stop(): void {
    this.#stopped = true;
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  #remove(genkey: string): void {
    this.#bytes -= this.#kept.get(genkey)?.bytes ?? 0;
    this.#kept.delete(genkey);
  }
}
