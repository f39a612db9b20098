import { type NativeEvent, type ReplyFormat, withNativeEvent } from '../api/running-reply.ts';
import { texts } from '../api/texts.ts';
import type { Statistics, TokenChance, ToolCall } from '../conversations/conversation.ts';

/** A chat reply as far as it has arrived. */
export interface Reply {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ToolCall[];
  readonly chances: readonly TokenChance[];
  readonly finish: string | undefined;
  readonly failed: string | undefined;
  readonly model: string | undefined;
  readonly promptTokens: number;
  readonly tokens: number;
  readonly perSecond: number;
}

export const noReply: Reply = {
  text: '',
  reasoning: '',
  calls: [],
  chances: [],
  finish: undefined,
  failed: undefined,
  model: undefined,
  promptTokens: 0,
  tokens: 0,
  perSecond: 0,
};

interface WireCall {
  readonly index?: number;
  readonly id?: string;
  readonly function?: { readonly name?: string; readonly arguments?: string };
}
interface WireLogprob {
  readonly token: string;
  readonly logprob: number;
}
/** A chunk of a stream. */
export interface WireReply {
  readonly model?: string;
  readonly error?: { readonly message?: string } | string;
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: string | null;
      readonly reasoning_content?: string | null;
      readonly tool_calls?: readonly WireCall[] | null;
    };
    readonly finish_reason?: string | null;
    readonly logprobs?: {
      readonly content?: readonly (WireLogprob & { readonly top_logprobs?: readonly WireLogprob[] })[] | null;
    } | null;
  }[];
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number } | null;
  readonly timings?: { readonly predicted_per_second?: number } | null;
}

/** Adds a chunk to the reply. */
export function withPiece(reply: Reply, piece: WireReply): Reply {
  if (piece.error !== undefined) {
    const message = typeof piece.error === 'string' ? piece.error : piece.error.message;
    return { ...reply, finish: 'error', failed: message ?? texts.reply.unfinished };
  }
  const choice = piece.choices?.[0];
  const delta = choice?.delta ?? {};
  const chances = choice?.logprobs?.content ?? [];
  return {
    ...reply,
    text: reply.text + (delta.content ?? ''),
    reasoning: reply.reasoning + (delta.reasoning_content ?? ''),
    calls: delta.tool_calls ? delta.tool_calls.reduce(withCall, reply.calls) : reply.calls,
    chances: chances.length > 0 ? [...reply.chances, ...chances.map(chanceOf)] : reply.chances,
    finish: choice?.finish_reason ?? reply.finish,
    model: piece.model ?? reply.model,
    promptTokens: piece.usage?.prompt_tokens ?? reply.promptTokens,
    tokens: piece.usage?.completion_tokens ?? reply.tokens,
    perSecond: piece.timings?.predicted_per_second ?? reply.perSecond,
  };
}

function withCall(calls: readonly ToolCall[], { index = 0, id, function: part }: WireCall): readonly ToolCall[] {
  const known = calls[index];
  const next: ToolCall = {
    id: known?.id ?? id ?? `call-${index}`,
    name: (known?.name ?? '') + (part?.name ?? ''),
    arguments: (known?.arguments ?? '') + (part?.arguments ?? ''),
  };
  return known ? calls.with(index, next) : [...calls, next];
}

function chanceOf({
  token,
  logprob,
  top_logprobs = [],
}: WireLogprob & { top_logprobs?: readonly WireLogprob[] }): TokenChance {
  return {
    token,
    probability: Math.exp(logprob),
    others: top_logprobs.map((other) => ({ token: other.token, probability: Math.exp(other.logprob) })),
  };
}

/** Replies of the chat API. */
export const chatReplies: ReplyFormat<Reply> = {
  path: 'v1/chat/completions',
  empty: noReply,
  withEvent: (reply, data) => withPiece(reply, JSON.parse(data) as WireReply),
  gone: texts.reply.gone,
};

/** Replies of the native API, to prompts without a chat template. */
export const namesReplies: ReplyFormat<Reply> = {
  path: 'api/extra/generate/stream',
  empty: noReply,
  withEvent: (reply, data) => {
    const event = JSON.parse(data) as NativeEvent;
    return { ...withNativeEvent(reply, event), tokens: reply.tokens + (event.token === undefined ? 0 : 1) };
  },
  gone: texts.reply.gone,
};

export interface Clock {
  readonly startedAt: number;
  readonly firstAt: number | undefined;
  readonly endedAt: number;
}

/** Statistics of the server; values that it does not report are measured by the page. */
export function statisticsOf(reply: Reply, { startedAt, firstAt, endedAt }: Clock): Statistics {
  // A tool call arrives at once: its time is that of the whole request.
  const streamedAt = reply.text === '' && reply.reasoning === '' ? undefined : firstAt;
  const seconds = Math.max(0.001, (endedAt - (streamedAt ?? startedAt)) / 1000);
  return {
    tokens: reply.tokens,
    promptTokens: reply.promptTokens,
    perSecond: reply.perSecond > 0 ? reply.perSecond : reply.tokens / seconds,
    firstTokenMs: Math.max(0, (streamedAt ?? startedAt) - startedAt),
  };
}
