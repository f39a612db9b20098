import { AppError } from '../../../../core/errors.ts';
import type { Overflow } from '../../../../core/request.ts';

export interface MarkedTokens {
  readonly tokens: Int32Array;
  /** Images and audio: each stays whole or is dropped. */
  readonly media: readonly { readonly start: number; readonly end: number }[];
}

interface PromptTokens {
  /** Without a BOS token; `bos` is put in front. */
  readonly prompt: MarkedTokens;
  readonly memory: MarkedTokens;
  readonly negativeLength: number;
  readonly bos: number | undefined;
}

interface PromptLimits {
  readonly contextSize: number;
  readonly maxTokens: number;
  readonly overflow: Overflow;
}

export interface PromptPlan {
  readonly tokens: Int32Array;
  /** How many of them are before the prompt itself. */
  readonly front: number;
  readonly maxTokens: number;
  /** Tokens of prompt and memory that did not fit. */
  readonly dropped: number;
}

/** Fits prompt and reply into the context: `trim` drops the oldest text, all others throw. */
export function planPrompt(parts: PromptTokens, limits: PromptLimits): PromptPlan {
  return limits.overflow === 'trim' ? trimToFit(parts, limits) : refuseOverflow(parts, limits);
}

function trimToFit({ prompt, memory, negativeLength, bos }: PromptTokens, limits: PromptLimits): PromptPlan {
  const context = limits.contextSize;
  const start = bos === undefined ? 0 : 1;
  const [promptLength, memoryLength] = [prompt.tokens.length, memory.tokens.length];
  // With media a prompt never counts as short.
  const hasMedia = prompt.media.length + memory.media.length > 0;
  const promptTokens = hasMedia ? context : start + promptLength + memoryLength;
  const maxTokens = clampReply(limits.maxTokens, context, promptTokens);
  let trimmed = cutFront(prompt, start + promptLength + maxTokens - context);
  let trimmedMemory = memory.tokens;
  if (memoryLength > 0 || negativeLength > 0) {
    trimmedMemory = cutFront(memory, start + memoryLength + maxTokens + 4 - context);
    const excess = start + trimmedMemory.length + negativeLength + 1 + trimmed.length + maxTokens - context;
    if (excess > 0) trimmed = cutFront(prompt, promptLength - trimmed.length + excess);
  }
  const dropped = promptLength - trimmed.length + (memoryLength - trimmedMemory.length);
  return { tokens: join(bos, trimmedMemory, trimmed), front: start + trimmedMemory.length, maxTokens, dropped };
}

/** The tokens without the first `count`; a cut inside a picture moves to its end. */
function cutFront({ tokens, media }: MarkedTokens, count: number): Int32Array {
  const cut = Math.min(tokens.length, Math.max(0, count));
  const inside = media.find(({ start, end }) => start < cut && cut < end);
  return tokens.subarray(inside?.end ?? cut);
}

function refuseOverflow({ prompt, memory, negativeLength, bos }: PromptTokens, limits: PromptLimits): PromptPlan {
  const tokens = join(bos, memory.tokens, prompt.tokens);
  const room = limits.contextSize - tokens.length - negativeLength;
  if (room < Math.min(1, limits.maxTokens)) {
    throw new AppError('context-overflow', { promptTokens: tokens.length, contextSize: limits.contextSize });
  }
  const front = tokens.length - prompt.tokens.length;
  return { tokens, front, maxTokens: Math.min(limits.maxTokens, room), dropped: 0 };
}

/** A reply takes at most 65 % of the context, or 80 % when the prompt is short. */
export function clampReply(maxTokens: number, contextSize: number, promptTokens: number): number {
  const share = promptTokens < 0.25 * contextSize ? 0.2 : 0.35;
  const reserved = Math.max(Math.min(contextSize - 4, 16), Math.floor(contextSize * share));
  return Math.min(maxTokens, Math.max(1, contextSize - reserved));
}

function join(bos: number | undefined, memory: Int32Array, prompt: Int32Array): Int32Array {
  return joinTokens([bos === undefined ? [] : [bos], memory, prompt]);
}

export function joinTokens(lists: readonly ArrayLike<number>[]): Int32Array {
  const all = new Int32Array(lists.reduce((length, list) => length + list.length, 0));
  let length = 0;
  for (const list of lists) {
    all.set(list, length);
    length += list.length;
  }
  return all;
}
