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
