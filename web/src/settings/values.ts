import type { AuthorsNote } from '../story/story.ts';

/** A change of the logit of a token. `token` is a text, or `#` with the number of a token. */
export interface TokenBias {
  readonly token: string;
  readonly bias: number;
}

export type EndToken = 'stop' | 'ban' | 'ignore';

/** How text is generated: what the Samplers and Output tabs set. */
export interface SamplerValues {
  /** Empty leaves it to the server. */
  readonly replyLength: number | null;
  /** By the field names of the native API. Fields that are not set have the defaults of the server. */
  readonly sampling: Readonly<Record<string, number>>;
  /** Numbers of sampler stages; empty for the default order. */
  readonly samplerOrder: readonly number[];
  readonly dryBreakers: readonly string[];
  /** GBNF. */
  readonly grammar: string;
  /** JSON text. A grammar takes precedence. */
  readonly jsonSchema: string;
  readonly bannedPhrases: readonly string[];
  readonly logitBias: readonly TokenBias[];
  /** Whether the model may end its reply: `ban` makes the end impossible, `ignore` continues after it. */
  readonly endToken: EndToken;
}

/** Texts around the messages. */
export interface PromptValues {
  readonly systemPrompt: string;
  readonly stopSequences: readonly string[];
  /** Of new stories. */
  readonly authorsNote: Pick<AuthorsNote, 'text' | 'depth'>;
  /** Names in new stories; empty for the usual ones. */
  readonly userName: string;
  readonly modelName: string;
}

export const defaultSamplerValues: SamplerValues = {
  replyLength: 512,
  sampling: {},
  samplerOrder: [],
  dryBreakers: ['\n', ':', '"', '*'],
  grammar: '',
  jsonSchema: '',
  bannedPhrases: [],
  logitBias: [],
  endToken: 'stop',
};

export const defaultPromptValues: PromptValues = {
  systemPrompt: '',
  stopSequences: [],
  authorsNote: { text: '', depth: 320 },
  userName: '',
  modelName: '',
};
