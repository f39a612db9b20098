import type { AdapterScale } from './lora.ts';
import { defaultSampling, type Sampling } from './sampling-fields.ts';

/** End-of-generation tokens end the text, are banned, or are ignored. */
export type EndTokens = 'stop' | 'ban' | 'ignore';

export interface Grammar {
  readonly gbnf: string;
  /** Continue where the last request with the same grammar stopped. */
  readonly retainState: boolean;
  /** The grammar applies from the first trigger on, the trigger included; the text before is free. */
  readonly triggers?: readonly GrammarTrigger[];
}

/** A pattern starts at its first group that is not empty, or else at its match. */
export type GrammarTrigger =
  | { readonly type: 'word'; readonly text: string }
  | { readonly type: 'token'; readonly token: number }
  | { readonly type: 'pattern'; readonly source: string };

export interface Medium {
  readonly kind: 'image' | 'audio';
  readonly base64: string;
  /** `image/png`, `wav`, …, if the client sent it. */
  readonly format?: string;
}

/** Limit of the reasoning: a share of the reply, or a number of tokens. */
export type ReasoningBudget =
  | { readonly type: 'share'; readonly share: number }
  | { readonly type: 'tokens'; readonly tokens: number };

/** What happens to a prompt that does not fit: trimmed at its start, rejected, or, in chats, summarised. */
export type Overflow = 'trim' | 'refuse' | 'compact';

/** A generation, independent of dialects. Decoders set all defaults. */
export interface GenerationRequest {
  readonly prompt: string;
  /** The prompt as tokens, used as they are, without a BOS token. */
  readonly promptTokens?: readonly number[] | undefined;
  /** Added before the prompt, and kept when the prompt is trimmed. */
  readonly memory: string;
  /** Each at its placeholder in the prompt, or else at the front. */
  readonly media: readonly Medium[];
  /** 0 only processes the prompt. */
  readonly maxTokens: number;
  /** Context limit of this request; by default that of the server, which is the maximum. */
  readonly maxContext: number | undefined;
  /** Engines reject what has to be compacted: the chat service has done it before. */
  readonly overflow: Overflow;
  readonly sampling: Sampling;
  readonly logitBias: readonly (readonly [token: number, bias: number])[];
  readonly bannedTokens: readonly number[];
  /** Single-token entries ban tokens; longer ones are detected in the text and rolled back. */
  readonly bannedStrings: readonly string[];
  readonly grammar: Grammar | undefined;
  /** Set with or without a grammar; by itself it only prevents batching. */
  readonly retainsGrammar?: boolean;
  /** A scale of 1 has no effect. */
  readonly guidance: { readonly negativePrompt: string; readonly scale: number } | undefined;
  readonly stop: readonly string[];
  readonly trimStop: boolean;
  readonly endTokens: EndTokens;
  /** Special tokens appear as text: none, all, or all but the one that ends the text. */
  readonly renderSpecial: boolean | 'inner';
  /** Alternatives to report per token; undefined for none. */
  readonly logprobs: number | undefined;
  /** Alternatives per prompt token. The prompt is then computed without cache, and never trimmed. */
  readonly promptLogprobs?: number | undefined;
  readonly reasoning: ReasoningBudget | undefined;
  readonly freshPrompt?: boolean;
  /** Its events tell how far the prompt is processed (`prompt-progress`). */
  readonly reportsProgress?: boolean;
  /** The LoRA adapters that apply to this request, and no others; undefined for those of the model. */
  readonly adapters?: readonly AdapterScale[] | undefined;
}

/** All of a request but the prompt. */
export type GenerationControls = Omit<GenerationRequest, 'prompt' | 'promptTokens' | 'memory'>;

/** What decides whether a request can be batched with others. */
export type SharingTraits = Pick<
  GenerationRequest,
  'sampling' | 'grammar' | 'retainsGrammar' | 'bannedStrings' | 'guidance' | 'reasoning' | 'media'
> & {
  /** It may become several generations, or a forced tool call. */
  readonly tools?: boolean;
};

export interface QueuePosition {
  /** 1 is next. */
  readonly position: number;
  readonly estimateSeconds: number;
}

/** What a request waits for: first its turn, then its model, if that is not loaded. */
export type QueueStatus =
  | ({ readonly type: 'queued' } & QueuePosition)
  | {
      readonly type: 'loading';
      readonly model: string;
      readonly progress: number;
    };

/** How many tokens of a prompt are processed; those from the cache do not count. */
export interface PromptProgress {
  readonly done: number;
  readonly total: number;
}

export const defaultControls: GenerationControls = {
  media: [],
  maxTokens: 2048,
  maxContext: undefined,
  overflow: 'trim',
  sampling: defaultSampling,
  logitBias: [],
  bannedTokens: [],
  bannedStrings: [],
  grammar: undefined,
  guidance: undefined,
  stop: [],
  trimStop: true,
  endTokens: 'stop',
  renderSpecial: false,
  logprobs: undefined,
  reasoning: undefined,
};
