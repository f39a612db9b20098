import type { GenerationEvent } from '../core/events.ts';
import { ReasoningSplitter } from './reasoning.ts';
import type { ToolReader } from './tools/format.ts';

export interface ReplyReaderOptions {
  readonly prompt: string;
  readonly separateReasoning: boolean;
  /** Undefined where the reply cannot hold calls. */
  readonly tools: ToolReader | undefined;
}

/**
 * From the text that a model writes to what it means: thinking, text and calls become events of their own, and the end
 * says whether calls were made. One pass, piece by piece, for streamed replies and others alike.
 */
export class ReplyReader {
  readonly #splitter: ReasoningSplitter;
  readonly #tools: ToolReader | undefined;
  #calls = 0;
  #thinkingPieces = 0;

  constructor({ prompt, separateReasoning, tools }: ReplyReaderOptions) {
    this.#splitter = new ReasoningSplitter({ prompt, encapsulate: separateReasoning, loneEnd: 'keep' });
    this.#tools = tools;
  }

  read(event: GenerationEvent): readonly GenerationEvent[] {
    switch (event.type) {
      case 'text-delta':
        return this.#withLogprobs(event, this.#text(event.text));
      case 'finish':
        return [...this.#end(event.reason !== 'stop'), this.#finish(event)];
      case 'error':
        return [...this.#end(true), event];
      default:
        return [event];
    }
  }

  #text(text: string): GenerationEvent[] {
    const parts = this.#splitter.push(text);
    if (parts.some(({ type }) => type === 'reasoning-delta')) this.#thinkingPieces += 1;
    return parts.flatMap((part) => this.#part(part));
  }

  #part(part: { readonly type: 'reasoning-delta' | 'text-delta'; readonly text: string }): GenerationEvent[] {
    if (part.type === 'reasoning-delta' || !this.#tools) return [part];
    return this.#counted(this.#tools.push(part.text));
  }

  #end(cut: boolean): GenerationEvent[] {
    const rest = this.#splitter.finish().flatMap((part) => this.#part(part));
    return [...rest, ...this.#counted(this.#tools?.finish(cut) ?? [])];
  }

  #counted(events: readonly GenerationEvent[]): GenerationEvent[] {
    this.#calls += events.filter(({ type }) => type === 'tool-start').length;
    return [...events];
  }

  /** A reply that was cut off at its limit stays cut off, whatever it was in the middle of. */
  #finish(event: GenerationEvent & { type: 'finish' }): GenerationEvent {
    const called = this.#calls > 0 && event.reason === 'stop';
    const usage = { ...event.usage, reasoningTokens: Math.min(this.#thinkingPieces, event.usage.completionTokens) };
    return { ...event, reason: called ? 'tool-calls' : event.reason, usage };
  }

  /** The figures of a token go with the first piece of text that it gave; with none they wait in an empty one. */
  #withLogprobs(event: GenerationEvent & { type: 'text-delta' }, made: GenerationEvent[]): GenerationEvent[] {
    const { logprobs } = event;
    if (!logprobs) return made;
    const place = made.findIndex(({ type }) => type === 'text-delta' || type === 'reasoning-delta');
    if (place === -1) return [...made, { type: 'text-delta', text: '', logprobs }];
    return made.map((one, index) => (index === place ? ({ ...one, logprobs } as GenerationEvent) : one));
  }
}
