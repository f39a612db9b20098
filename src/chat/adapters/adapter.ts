/** The texts around each turn of a conversation, for a model whose own template is not rendered. */
export interface ChatTags {
  readonly chatStart: string;
  readonly systemStart: string;
  readonly systemEnd: string;
  readonly userStart: string;
  readonly userEnd: string;
  readonly assistantStart: string;
  readonly assistantEnd: string;
  /** Opens the turn that the model is to write; `assistantStart` unless the format knows better. */
  readonly assistantGen: string;
  readonly toolsStart: string;
  readonly toolsEnd: string;
}

/** Values for what a request leaves out. */
export interface ChatDefaults {
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly topK?: number;
  readonly topP?: number;
  readonly minP?: number;
}

/** What is added to image requests, and their limits. */
export interface ImageAdditions {
  readonly prompt?: string;
  readonly negativePrompt?: string;
  readonly stepLimit?: number;
  readonly guidanceLimit?: number;
  readonly removeLimits?: boolean;
  readonly circularX?: boolean;
  readonly circularY?: boolean;
}

export interface ChatAdapter {
  readonly tags: ChatTags;
  readonly defaults: ChatDefaults;
  readonly image: ImageAdditions;
}

/** What holds where an adapter says nothing, and for models whose format is unknown: the Alpaca manner. */
const fallbackTags: Omit<ChatTags, 'assistantGen'> = {
  chatStart: '',
  systemStart: '\n### Instruction:\n',
  systemEnd: '',
  userStart: '\n### Instruction:\n',
  userEnd: '',
  assistantStart: '\n### Response:\n',
  assistantEnd: '',
  toolsStart: '',
  toolsEnd: '',
};

export function chatAdapter(
  tags: Partial<ChatTags>,
  defaults: ChatDefaults = {},
  image: ImageAdditions = {},
): ChatAdapter {
  const complete = { ...fallbackTags, ...tags };
  return { tags: { assistantGen: complete.assistantStart, ...complete }, defaults, image };
}

export const fallbackAdapter: ChatAdapter = chatAdapter({});

/** One format of a guess list: taken when the model's template holds every one of these strings. */
export interface Guess {
  readonly name: string;
  readonly search: readonly string[];
  readonly adapter: ChatAdapter;
}

/** The short form of the built-in tables: start and end of each turn. */
export type TagPair = readonly [start: string, end: string];

export function turns(system: TagPair, user: TagPair, assistant: TagPair, gen?: string): ChatAdapter {
  return chatAdapter({
    systemStart: system[0],
    systemEnd: system[1],
    userStart: user[0],
    userEnd: user[1],
    assistantStart: assistant[0],
    assistantEnd: assistant[1],
    ...(gen === undefined ? {} : { assistantGen: gen }),
  });
}
