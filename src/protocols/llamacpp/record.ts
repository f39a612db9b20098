import { type GenerationEvent, type TokenLogprob, unreachable } from '../../core/events.ts';

export type FinishEvent = GenerationEvent & { readonly type: 'finish' };

/** What is known of a reply so far; the last object of a stream and the whole reply are both made from it. */
export class CompletionRecord {
  text = '';
  readonly probabilities: TokenLogprob[] = [];
  readonly warnings: string[] = [];
  promptTokens = 0;
  cachedTokens = 0;
  droppedTokens = 0;
  unheeded: readonly string[] = [];
  seed = -1;
  /** Counted while it runs, where a piece of text may be more than one token; the end tells the true number. */
  predicted = 0;
  newLine = false;
  finish: FinishEvent | undefined;

  /** `keep` is for the reply that is told as a whole: a stream has told its text already. */
  constructor(private readonly keep: boolean) {}

  add(event: GenerationEvent): void {
    switch (event.type) {
      case 'start':
        this.promptTokens = event.promptTokens;
        this.cachedTokens = event.cachedTokens;
        this.droppedTokens = event.droppedTokens ?? 0;
        this.unheeded = event.unheeded ?? [];
        this.seed = event.seed;
        return;
      case 'text-delta':
      case 'reasoning-delta':
        this.predicted += event.logprobs?.length ?? 1;
        this.newLine ||= event.text.includes('\n');
        if (!this.keep) return;
        this.text += event.text;
        if (event.logprobs) this.probabilities.push(...event.logprobs);
        return;
      case 'warning':
        this.warnings.push(event.text);
        return;
      case 'finish':
        this.finish = event;
        this.promptTokens = event.usage.promptTokens;
        this.cachedTokens = event.usage.cachedTokens;
        this.predicted = event.usage.completionTokens;
        return;
      case 'error':
        throw event.error;
      // Tools are never offered to the model here, so it has none to call.
      case 'tool-start':
      case 'tool-delta':
      case 'tool-end':
      case 'prompt-logprobs':
        return;
      default:
        unreachable(event);
    }
  }
}

/** The whole reply is the sum of its events. */
export async function recordOf(events: AsyncIterable<GenerationEvent>): Promise<CompletionRecord> {
  const record = new CompletionRecord(true);
  for await (const event of events) record.add(event);
  return record;
}
