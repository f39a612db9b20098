import type { FinishReason, GenerationEvent, TokenChoice, TokenLogprob } from '../../core/events.ts';
import type { ToolCall } from '../../core/fold.ts';

export type Finish = GenerationEvent & { readonly type: 'finish' };

/** What both forms of a reply, streamed and whole, need to know beside the events. */
export interface ReplyFacts {
  /** As the client wrote it: apps compare it with what they asked for. */
  readonly model: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly startedAt: number;
  /** The token numbers that the next request may carry, where this endpoint gives them back. */
  readonly context?: (reply: { readonly reasoning: string; readonly text: string }) => Promise<readonly number[]>;
}

/** There is no word for calls here, and none for an abort: text that was cut short counts as cut by its limit. */
export const doneReasons: Record<FinishReason, string> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'stop',
  aborted: 'length',
};

export function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/**
 * Counts and times in nanoseconds. Whatever was neither prompt nor reply was spent before them: in the queue, on the
 * model's way into memory, on the look for what the cache holds.
 */
export function metrics({ usage, timings }: Pick<Finish, 'usage' | 'timings'>, elapsedMs: number): object {
  const busyMs = timings.promptMs + timings.generationMs;
  const totalMs = Math.max(elapsedMs, timings.initMs + busyMs);
  return {
    total_duration: nanoseconds(totalMs),
    load_duration: nanoseconds(totalMs - busyMs),
    prompt_eval_count: usage.promptTokens,
    prompt_eval_duration: nanoseconds(timings.promptMs),
    eval_count: usage.completionTokens,
    eval_duration: nanoseconds(timings.generationMs),
  };
}

/** A generation that ended without saying so was given up. */
export const unsaidFinish: Finish = {
  type: 'finish',
  reason: 'aborted',
  cause: 'aborted',
  usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
  timings: { initMs: 0, promptMs: 0, generationMs: 0, processedTokens: 0 },
};

/**
 * A call in the form of this dialect, or undefined when its arguments are not the object that clients rely on. No text at
 * all is a call without arguments, unless it may have been `cut` off before them.
 */
export function encodeCall(index: number, { id, name, json }: ToolCall, cut: boolean): object | undefined {
  const given = cut && json.trim() === '' ? undefined : parsedObject(json);
  return given && { id, function: { index, name, arguments: given } };
}

/** Calls are whole here or not there: of one that its limit has cut off there is nothing but the warning. */
export function cutOffWarning({ name }: ToolCall): string {
  return `A call of ${name} was cut off before its arguments were whole, so it is left out.`;
}

export function isCut(reason: FinishReason): boolean {
  return reason === 'length' || reason === 'aborted';
}

export function encodeLogprobs(tokens: readonly TokenLogprob[]): object[] {
  return tokens.map((token) => ({
    ...choice(token),
    ...(token.top.length > 0 ? { top_logprobs: token.top.map(choice) } : {}),
  }));
}

function choice({ text, logprob, bytes }: TokenChoice): object {
  return { token: text, logprob, bytes };
}

function parsedObject(json: string): object | undefined {
  if (json.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function nanoseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1e6);
}
