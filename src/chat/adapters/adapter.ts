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

/** Keys of adapter files, said once. */
const tagNames: Readonly<Record<string, keyof ChatTags>> = {
  chat_start: 'chatStart',
  system_start: 'systemStart',
  system_end: 'systemEnd',
  user_start: 'userStart',
  user_end: 'userEnd',
  assistant_start: 'assistantStart',
  assistant_end: 'assistantEnd',
  assistant_gen: 'assistantGen',
  tools_start: 'toolsStart',
  tools_end: 'toolsEnd',
};

const defaultNames: Readonly<Record<string, keyof ChatDefaults>> = {
  max_length: 'maxTokens',
  temperature: 'temperature',
  top_k: 'topK',
  top_p: 'topP',
  min_p: 'minP',
};

const imageNames: Readonly<Record<string, keyof ImageAdditions>> = {
  add_sd_prompt: 'prompt',
  add_sd_negative_prompt: 'negativePrompt',
  add_sd_step_limit: 'stepLimit',
  add_sd_cfg_limit: 'guidanceLimit',
  remove_limits: 'removeLimits',
  circular_x: 'circularX',
  circular_y: 'circularY',
};

const imageTypes: Readonly<Record<keyof ImageAdditions, 'string' | 'number' | 'boolean'>> = {
  prompt: 'string',
  negativePrompt: 'string',
  stepLimit: 'number',
  guidanceLimit: 'number',
  removeLimits: 'boolean',
  circularX: 'boolean',
  circularY: 'boolean',
};

export class AdapterError extends Error {
  override readonly name = 'AdapterError';
}

export type DecodedAdapter =
  | { readonly type: 'adapter'; readonly adapter: ChatAdapter; readonly unknownKeys: readonly string[] }
  | { readonly type: 'guess-list'; readonly list: readonly Guess[]; readonly unknownKeys: readonly string[] };

/** An object is an adapter, a list is a guess list; anything else, and any key of the wrong type, is refused. */
export function decodeAdapter(value: unknown): DecodedAdapter {
  if (Array.isArray(value)) {
    const decoded = value.map(decodeGuess);
    return {
      type: 'guess-list',
      list: decoded.map(({ guess }) => guess),
      unknownKeys: decoded.flatMap(({ unknownKeys }) => unknownKeys),
    };
  }
  if (!isObject(value)) throw new AdapterError('a chat adapter must be a JSON object or a list of guesses');
  return { type: 'adapter', ...decodeObject(value) };
}

function decodeObject(value: Readonly<Record<string, unknown>>): {
  adapter: ChatAdapter;
  unknownKeys: readonly string[];
} {
  const tags: Record<string, unknown> = {};
  const defaults: Record<string, unknown> = {};
  const image: Record<string, unknown> = {};
  const unknownKeys: string[] = [];
  for (const [key, entry] of Object.entries(value)) {
    const imageName = imageNames[key];
    if (tagNames[key] !== undefined) tags[tagNames[key]] = expectType(key, entry, 'string');
    else if (defaultNames[key] !== undefined) defaults[defaultNames[key]] = expectType(key, entry, 'number');
    else if (imageName !== undefined) image[imageName] = expectImageType(key, entry, imageTypes[imageName]);
    else unknownKeys.push(key);
  }
  return { adapter: chatAdapter(tags, defaults, image), unknownKeys };
}

function decodeGuess(value: unknown, index: number): { guess: Guess; unknownKeys: readonly string[] } {
  const place = `entry ${index + 1} of the guess list`;
  if (!isObject(value)) throw new AdapterError(`${place} must be an object with search, name and adapter`);
  const { search, name, adapter } = value;
  if (!Array.isArray(search) || search.length === 0 || !search.every((text) => typeof text === 'string')) {
    throw new AdapterError(`search in ${place} must be a list of strings that is not empty`);
  }
  if (typeof name !== 'string') throw new AdapterError(`name in ${place} must be a string`);
  if (!isObject(adapter)) throw new AdapterError(`adapter in ${place} must be an object`);
  const decoded = decodeObject(adapter);
  return { guess: { search, name, adapter: decoded.adapter }, unknownKeys: decoded.unknownKeys };
}

function expectType(key: string, value: unknown, type: 'string' | 'number' | 'boolean'): unknown {
  if (typeof value !== type) throw new AdapterError(`${key} in the chat adapter must be a ${type}`);
  return value;
}

/** Adapter files write switches as true or as 1. */
function expectImageType(key: string, value: unknown, type: 'string' | 'number' | 'boolean'): unknown {
  return type === 'boolean' && typeof value === 'number' ? value !== 0 : expectType(key, value, type);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
