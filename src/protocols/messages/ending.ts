import type { FinishReason, GenerationEvent, Usage } from '../../core/events.ts';

/** What stays the same in all events of one reply. */
export interface ReplyFacts {
  readonly id: string;
  readonly model: string;
  /** The stop texts that the request asked for: the server may add others of its own. */
  readonly stop: readonly string[];
  /** The length that the request was granted before the context was looked at. */
  readonly maxTokens: number;
  /** A prompt that is only read: its reply has no content at all. Every other reply has some, be it an empty text. */
  readonly warmUp?: boolean;
}

export type Start = Extract<GenerationEvent, { type: 'start' }>;
export type Finish = Extract<GenerationEvent, { type: 'finish' }>;

export interface Ending {
  readonly stop_reason: string;
  readonly stop_sequence: string | null;
}

/** Text that somebody stopped is handed out as cut off: there is no other word that says it is not complete. */
const reasons: Record<FinishReason, string> = {
  stop: 'end_turn',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
  aborted: 'max_tokens',
};

export function ending(finish: Finish, start: Start | undefined, { stop, maxTokens }: ReplyFacts): Ending {
  const { reason, cause, stopText } = finish;
  if (reason === 'stop' && cause === 'stop-text' && stopText !== undefined && stop.includes(stopText)) {
    return { stop_reason: 'stop_sequence', stop_sequence: stopText };
  }
  const contextFull = reason === 'length' && start !== undefined && start.maxTokens < maxTokens;
  return { stop_reason: contextFull ? 'model_context_window_exceeded' : reasons[reason], stop_sequence: null };
}

/** The prompt is counted in two parts here: what was found in the cache is not part of `input_tokens`. */
export function usageOf({ promptTokens, cachedTokens, completionTokens, reasoningTokens }: Usage): object {
  return {
    input_tokens: promptTokens - cachedTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
    output_tokens: completionTokens,
    ...(reasoningTokens === undefined ? {} : { output_tokens_details: { thinking_tokens: reasoningTokens } }),
  };
}
