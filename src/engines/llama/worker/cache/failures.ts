/** Failures that cost time and no answer: they are counted, and each kind is told once. */
export class Failures {
  readonly #told = new Set<string>();
  #count = 0;
  #last: string | null = null;

  constructor(private readonly tell: (sentence: string) => void) {}

  get count(): number {
    return this.#count;
  }

  get last(): string | null {
    return this.#last;
  }

  add(kind: string, reason: string): void {
    this.#count += 1;
    this.#last = reason;
    if (this.#told.has(kind)) return;
    this.#told.add(kind);
    this.tell(reason);
  }

  /** `what` is the beginning of the sentence, such as "A snapshot could not be written". */
  addError(what: string, error: unknown): void {
    const { code, message } = error as NodeJS.ErrnoException;
    this.add(`${what} ${code}`, `${what}: ${message}`);
  }
}
