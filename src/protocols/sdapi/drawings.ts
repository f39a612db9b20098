import type { ImageEvent } from '../../core/image.ts';

/** Whose picture is drawn, and the last that was: by the key of the request, which nobody else knows. */
export class Drawings {
  #running: string | undefined;
  #last: { readonly genkey: string; readonly answer: object } | undefined;
  #stopped = false;

  /** A new request has been taken in: what the last one left is gone. */
  begin(): void {
    this.#last = undefined;
    this.#stopped = false;
  }

  /** The same events; from the first one until the last the key is that of what is drawn now. */
  async *watch(events: AsyncIterable<ImageEvent>, genkey: string): AsyncGenerator<ImageEvent> {
    try {
      for await (const event of events) {
        this.#running = genkey;
        yield event;
      }
    } finally {
      if (this.#running === genkey) this.#running = undefined;
    }
  }

  keep(genkey: string, answer: object): void {
    this.#last = genkey === '' ? undefined : { genkey, answer };
  }

  isRunning(genkey: string): boolean {
    return genkey !== '' && this.#running === genkey;
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
