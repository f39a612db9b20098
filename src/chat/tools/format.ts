import type { GenerationEvent } from '../../core/events.ts';
import type { Tool } from '../messages.ts';

/** What a reply turns into: text, and calls whose pieces lie between their start and end. */
export type ToolEvent = Extract<GenerationEvent, { type: 'text-delta' | 'tool-start' | 'tool-delta' | 'tool-end' }>;

export interface ToolReader {
  push(text: string): readonly ToolEvent[];
  /** At the end of the reply. What was `cut` off by a limit and had become a call by then ends in the middle of it. */
  finish(cut: boolean): readonly ToolEvent[];
}

export interface ToolReaderOptions {
  readonly tools: readonly Tool[];
  readonly newId: () => string;
}

/**
 * One manner of writing tool calls. Readers never throw. A call is reported as soon as its name and the beginning of its
 * arguments are certain, and its arguments as they come; what looks like a call and never becomes one is text.
 */
export interface ToolFormat {
  readonly name: string;
  /** Whether a model with this chat template writes its calls like this. */
  detect(template: string): boolean;
  create(options: ToolReaderOptions): ToolReader;
}

/** Numbers the calls and collects the events of one step. */
export class CallWriter {
  readonly #newId: () => string;
  #events: ToolEvent[] = [];
  #calls = 0;
  /** White space that is dropped when a call follows: it only set the call apart from the text. */
  #space = '';

  constructor(newId: () => string) {
    this.#newId = newId;
  }

  get calls(): number {
    return this.#calls;
  }

  text(text: string): void {
    const whole = this.#space + text;
    const shown = whole.trimEnd();
    this.#space = whole.slice(shown.length);
    if (shown !== '') this.#events.push({ type: 'text-delta', text: shown });
  }

  start(name: string): void {
    this.#space = '';
    this.#events.push({ type: 'tool-start', index: this.#calls, id: this.#newId(), name });
    this.#calls += 1;
  }

  json(json: string): void {
    if (json !== '') this.#events.push({ type: 'tool-delta', index: this.#calls - 1, json });
  }

  end(): void {
    this.#events.push({ type: 'tool-end', index: this.#calls - 1 });
  }

  whole(name: string, json: string): void {
    this.start(name);
    this.json(json);
    this.end();
  }

  /** White space after the last call belongs to nothing. */
  finish(): void {
    if (this.#calls === 0 && this.#space !== '') this.#events.push({ type: 'text-delta', text: this.#space });
    this.#space = '';
  }

  take(): readonly ToolEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }
}

/** Reads what stands inside one block of calls, and reports to a writer. */
export interface Body {
  /** In the middle of arguments, where the end tag of the block would be part of a text. */
  readonly insideArguments: boolean;
  push(text: string): void;
  /** For text inside arguments: gives back what comes after them. */
  pushArguments(text: string): string;
  /** The block is over, or `cut` off in its middle; gives back what did not become a call. */
  end(cut: boolean): { readonly calls: number; readonly leftover: string };
}
