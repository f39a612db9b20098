import type { PromptToken } from '../../core/events.ts';
import { optional, wholeBetween } from '../fields/readers.ts';
import { unsupportedField } from './errors.ts';
import { finite } from './logprobs.ts';

/** How many alternatives a client wants to know for each token of its prompt; undefined where it does not ask. */
export const readPromptLogprobs = optional(wholeBetween(0, 20));

interface Asked {
  readonly prompt_logprobs: number | undefined;
  readonly stream: boolean;
}

export function decodePromptLogprobs({ prompt_logprobs: count, stream }: Asked): number | undefined {
  if (count === undefined || !stream) return count;
  throw unsupportedField('prompt_logprobs', 'a stream has no place for it; ask for a whole reply');
}

/** The field of a reply, where it was asked for. */
export function promptFigures(tokens: readonly PromptToken[] = [], count?: number): object {
  return count === undefined ? {} : { prompt_logprobs: tokens.map((token) => figuresOf(token, count)) };
}

/** By the number of the token; the one that stands in the prompt is always among them, and the very first has nothing. */
function figuresOf({ token, text, logprob, rank, top }: PromptToken, count: number): object | null {
  if (logprob === null) return null;
  const alternatives = top.slice(0, count).map((one, index) => [one.token, figure(one.text, one.logprob, index + 1)]);
  return Object.fromEntries([...alternatives, [token, figure(text, logprob, rank)]]);
}

function figure(text: string, logprob: number, rank: number | null): object {
  return { logprob: finite(logprob), rank, decoded_token: text };
}
