/** The last picture that was drawn, by the key of its request, which nobody else knows; and whether somebody stopped one. */
export class Drawings {
  #last: { readonly genkey: string; readonly answer: object } | undefined;
  #stopped = false;

  /** A new request has been taken in: what the last one left is gone. */
  begin(): void {
    this.#last = undefined;
    this.#stopped = false;
  }

  keep(genkey: string, answer: object): void {
    this.#last = genkey === '' ? undefined : { genkey, answer };
  }

  lastOf(genkey: string): object | undefined {
    return genkey !== '' && this.#last?.genkey === genkey ? this.#last.answer : undefined;
  }

  /** What is drawn now was stopped by somebody who asked for it. */
  stop(): void {
    this.#stopped = true;
  }

  get stopped(): boolean {
    return this.#stopped;
  }
}
