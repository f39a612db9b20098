import { ReasoningSplitter } from '../../chat/reasoning.ts';
import type { GenerationEvent, TokenLogprob } from '../../core/events.ts';

export interface ThinkingOptions {
  /** Whether the client wants thinking apart from the text. */
  readonly separate: boolean;
  /** Whether the other side parts it in any case. */
  readonly parted: boolean;
}

type Figures = readonly TokenLogprob[] | undefined;

/**
 * Thinking where the client wants it, wherever the other side puts it: tags in the text become events of their own, or events
 * of their own become tags in the text.
 */
export class Thinking {
  readonly #splitter: ReasoningSplitter | undefined;
  #tagOpen = false;

  constructor(private readonly options: ThinkingOptions) {
    const { separate, parted } = options;
    if (separate && !parted) {
      this.#splitter = new ReasoningSplitter({ prompt: '', encapsulate: true, loneEnd: 'keep' });
    }
  }

  text(text: string, logprobs: Figures): GenerationEvent[] {
    const said = this.#closed() + text;
    if (!this.#splitter) return [textDelta(said, logprobs)];
    return withFigures(this.#splitter.push(said), logprobs);
  }

  reasoning(text: string, logprobs: Figures): GenerationEvent[] {
    if (this.options.separate) return [{ type: 'reasoning-delta', text, ...(logprobs ? { logprobs } : {}) }];
    const said = this.#tagOpen ? text : `<think>\n${text}`;
    this.#tagOpen = true;
    return [textDelta(said, logprobs)];
  }

  /** What was held back. */
  end(): GenerationEvent[] {
    const open = this.#closed();
    return [...(open === '' ? [] : [textDelta(open, undefined)]), ...(this.#splitter?.finish() ?? [])];
  }

  #closed(): string {
    if (!this.#tagOpen) return '';
    this.#tagOpen = false;
    return '\n</think>\n\n';
  }
}

function textDelta(text: string, logprobs: Figures): GenerationEvent {
  return logprobs ? { type: 'text-delta', text, logprobs } : { type: 'text-delta', text };
}

/** The figures go with the first piece; with none they wait in an empty one. */
function withFigures(pieces: readonly GenerationEvent[], logprobs: Figures): GenerationEvent[] {
  if (!logprobs) return [...pieces];
  const [first, ...rest] = pieces;
  return first ? [{ ...first, logprobs } as GenerationEvent, ...rest] : [textDelta('', logprobs)];
}
