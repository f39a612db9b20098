import { defaultSampling, type Sampling } from './sampling-fields.ts';

/** What happens at an end-of-generation token: it ends the text, it cannot be chosen, or it is passed over. */
export type EndTokens = 'stop' | 'ban' | 'ignore';

export interface Grammar {
  readonly gbnf: string;
  /** Go on from where the last request with the same grammar text stopped. */
  readonly retainState: boolean;
  /** Free text until one of these appears; the grammar holds from there on, what was found included. */
  readonly triggers?: readonly GrammarTrigger[];
}

/** A pattern begins where its first group does that is not empty, or else where its match does. */
export type GrammarTrigger =
  | { readonly type: 'word'; readonly text: string }
  | { readonly type: 'token'; readonly token: number }
  | { readonly type: 'pattern'; readonly source: string };

/** A picture or a sound that the prompt speaks of. */
export interface Medium {
  readonly kind: 'image' | 'audio';
  readonly base64: string;
  /** `image/png`, `wav`, … where the client said it. */
  readonly format?: string;
}

/** How much thinking is allowed: a share of the reply, or a number of tokens. */
export type ReasoningBudget =
  | { readonly type: 'share'; readonly share: number }
  | { readonly type: 'tokens'; readonly tokens: number };

/**
 * One text to be generated, in words that no protocol owns. A decoder makes it complete: every default is filled in, so
 * that nothing below asks what the client left out.
 */
export interface GenerationRequest {
  readonly prompt: string;
  /** The prompt as the tokens that the client sent: they are taken as they are, with nothing put in front of them. */
  readonly promptTokens?: readonly number[] | undefined;
  /** Put in front of the prompt, and kept when the prompt must be shortened. */
  readonly memory: string;
  /** Each stands where its placeholder does in the prompt, or in front of everything where there is none. */
  readonly media: readonly Medium[];
  /** With 0 the prompt is read, and nothing is written. */
  readonly maxTokens: number;
  /** The context that this request may use; the server's own size where the client asked for more or nothing. */
  readonly maxContext: number | undefined;
  /** A prompt that does not fit loses its beginning (native habit) or is refused (chat families). */
  readonly overflow: 'trim' | 'refuse';
  readonly sampling: Sampling;
  readonly logitBias: readonly (readonly [token: number, bias: number])[];
  readonly bannedTokens: readonly number[];
  /** Short single-token entries forbid tokens; longer ones are noticed in the text and taken back. */
  readonly bannedStrings: readonly string[];
  readonly grammar: Grammar | undefined;
  /** Asked for with or without a grammar; by itself it decides only whether the request may share the engine. */
  readonly retainsGrammar?: boolean;
  /** A scale of 1 leaves the text as it is. */
  readonly guidance: { readonly negativePrompt: string; readonly scale: number } | undefined;
  readonly stop: readonly string[];
  readonly trimStop: boolean;
  readonly endTokens: EndTokens;
  /** Special tokens show as text: none, all, or those inside the text but not the one that ends it. */
  readonly renderSpecial: boolean | 'inner';
  /** How many alternatives to report for each token; `undefined` reports nothing. */
  readonly logprobs: number | undefined;
  /** As many alternatives are reported for each token of the prompt, which is then computed anew and never shortened. */
  readonly promptLogprobs?: number | undefined;
  readonly reasoning: ReasoningBudget | undefined;
  /** Compute all of the prompt, whatever the cache holds of it. */
  readonly freshPrompt?: boolean;
}

/** How a text is generated, beside the text that is to be continued. */
export type GenerationControls = Omit<GenerationRequest, 'prompt' | 'promptTokens' | 'memory'>;

/** What decides whether a request can share the engine with others. */
export type SharingTraits = Pick<
  GenerationRequest,
  'sampling' | 'grammar' | 'retainsGrammar' | 'bannedStrings' | 'guidance' | 'reasoning' | 'media'
> & {
  /** It may become several generations, or a call that is forced upon the model. */
  readonly tools?: boolean;
};

/** A place among those who wait for their turn: 1 is next. */
export interface QueuePosition {
  readonly position: number;
  /** How long until its turn comes, as far as one can tell. */
  readonly estimateSeconds: number;
}

/** What somebody waits for: first for its turn, and then for the model, where that is not in memory. */
export type QueueStatus =
  | ({ readonly type: 'queued' } & QueuePosition)
  | {
      readonly type: 'loading';
      readonly model: string;
      /** From 0 to 1. */
      readonly progress: number;
    };

/** Who asks, beside what is asked: decides the place in the queue and who may look at or stop the request. */
export interface Ticket {
  readonly genkey: string;
  /** Whose turns it takes: nothing that a client can choose anew for each request. */
  readonly client: string;
  /** Which of those that share the client's turns: they take turns in them. The genkey unless told otherwise. */
  readonly part?: string;
  readonly signal: AbortSignal;
  /** Among the waiting requests of one client that have a rank, lower ones go first. */
  readonly rank?: number;
  /** Goes on when its client is gone: how it ended is told to whoever asks by its key. */
  readonly kept?: boolean;
  /** Called once, when the request has a place in the queue: by asking it may be known what it waits for, while it does. */
  readonly placed?: (standing: () => QueueStatus | undefined) => void;
}

/** A generation of which nobody asked anything special. */
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
