import { CallWriter, type ToolEvent, type ToolReader, type ToolReaderOptions } from './format.ts';
import { JsonBody, jsonCalls } from './json-body.ts';

/** By then a call has shown its name; a longer beginning is an answer that happens to be JSON. */
const longestHeader = 400;

/**
 * A reply that is nothing but calls in JSON, after one of some openings or none. Only names of real tools count, because
 * an answer may be JSON too.
 */
export class BareReader implements ToolReader {
  readonly #openings: readonly string[];
  readonly #writer: CallWriter;
  readonly #body: JsonBody;
  #state: 'start' | 'calls' | 'text' = 'start';
  #held = '';

  constructor(openings: readonly string[], { tools, newId }: ToolReaderOptions) {
    this.#openings = openings;
    this.#writer = new CallWriter(newId);
    const knownNames = new Set(tools.map(({ name }) => name));
    this.#body = new JsonBody(this.#writer, { ...jsonCalls, knownNames });
  }

  push(text: string): readonly ToolEvent[] {
    if (this.#state === 'text') this.#writer.text(text);
    else if (this.#state === 'calls') this.#body.push(text);
    else this.#begin(text);
    return this.#writer.take();
  }

  finish(cut: boolean): readonly ToolEvent[] {
    if (this.#state === 'start') this.#body.push(this.#withoutOpening(this.#held));
    if (this.#state !== 'text') {
      const { calls, leftover } = this.#body.end(cut);
      this.#writer.text(calls > 0 ? leftover : this.#held);
    }
    this.#writer.finish();
    return this.#writer.take();
  }

  #begin(text: string): void {
    this.#held += text;
    if (this.#mayBecomeOpening()) return;
    const decided = this.#held.length >= longestHeader;
    const beginning = this.#withoutOpening(this.#held.slice(0, longestHeader));
    if (this.#body.startsCall(beginning)) {
      this.#state = 'calls';
      this.#body.push(this.#withoutOpening(this.#held));
    } else if (decided || !/^\s*(?:[[{]|$)/.test(beginning)) {
      this.#state = 'text';
      this.#writer.text(this.#held);
    }
  }

  #mayBecomeOpening(): boolean {
    const content = this.#held.trimStart();
    return this.#openings.some((opening) => content.length < opening.length && opening.startsWith(content));
  }

  #withoutOpening(text: string): string {
    const content = text.trimStart();
    const opening = this.#openings.find((candidate) => content.startsWith(candidate)) ?? '';
    return content.slice(opening.length);
  }
}
