import { thinkingTags } from '../reasoning.ts';

/** The texts around each turn of a conversation, for a model whose own template is not rendered. */
export interface ChatTags {
  readonly chatStart: string;
  readonly systemStart: string;
  readonly systemEnd: string;
  readonly userStart: string;
  readonly userEnd: string;
  readonly assistantStart: string;
  readonly assistantEnd: string;
  /** Opens the turn that is generated; `assistantStart` unless the format defines it. */
  readonly assistantGen: string;
  readonly toolsStart: string;
  readonly toolsEnd: string;
}

/** Values for fields that a request leaves out. */
export type ChatDefaults = Partial<Record<'maxTokens' | 'temperature' | 'topK' | 'topP' | 'minP', number>>;

export interface ChatAdapter {
  readonly tags: ChatTags;
  readonly defaults: Readonly<ChatDefaults>;
}

/** Alpaca: for tags that an adapter does not define, and for models of unknown format. */
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

export function chatAdapter(tags: Partial<ChatTags>, defaults: ChatDefaults = {}): ChatAdapter {
  const complete = { ...fallbackTags, ...tags };
  return { tags: { assistantGen: complete.assistantStart, ...complete }, defaults };
}

export const fallbackAdapter: ChatAdapter = chatAdapter({});

type TagPair = readonly [start: string, end: string];

/** Start and end of each turn. */
export function turns(system: TagPair, user: TagPair, assistant: TagPair, assistantGen?: string): ChatAdapter {
  const [systemStart, systemEnd] = system;
  const [userStart, userEnd] = user;
  const [assistantStart, assistantEnd] = assistant;
  const tags = { systemStart, systemEnd, userStart, userEnd, assistantStart, assistantEnd };
  return chatAdapter(assistantGen === undefined ? tags : { ...tags, assistantGen });
}

type RoleNames = readonly [system: string, user: string, assistant: string];

/** Turns that differ only in the name of the role, which is `{role}` in the tags. */
function byRole(start: string, end: string, roles: RoleNames = ['system', 'user', 'assistant'], gen?: string) {
  const pair = (role: string): TagPair => [start.replaceAll('{role}', role), end.replaceAll('{role}', role)];
  return turns(pair(roles[0]), pair(roles[1]), pair(roles[2]), gen);
}

const chatml = byRole('<|im_start|>{role}\n', '<|im_end|>\n');
const kimi = byRole('<|im_{role}|>{role}<|im_middle|>', '<|im_end|>');
const gemma = byRole('<start_of_turn>{role}\n', '<end_of_turn>\n', ['user', 'user', 'model']);
const gemmaTurn = ['<|turn>{role}\n', '<turn|>\n', ['system', 'user', 'model']] as const;
const openedHarmony =
  '<|start|>assistant<|channel|>analysis<|message|>We can answer immediately.<|end|><|start|>assistant<|channel|>final<|message|>';

/** One format of a guess list: used when the template of the model contains all of these strings. */
export interface Guess {
  readonly name: string;
  readonly search: readonly string[];
  readonly adapter: ChatAdapter;
}

const guess = (search: readonly string[], adapter: ChatAdapter) => ({ search, adapter });

/** Formats that are recognised by the chat template of a model. The first match counts, so specific ones come first. */
const guesses: Readonly<Record<string, Omit<Guess, 'name'>>> = {
  'ChatML (Phi 4)': guess(
    ['<|im_start|>assistant', '<|im_end|>', '<|im_sep|>'],
    byRole('<|im_start|>{role}<|im_sep|>', '<|im_end|>'),
  ),
  'ChatML (Qwen 2.5 based)': guess(
    ['<|im_start|>assistant', '<|im_end|>', 'You are provided with function signatures within <tools>'],
    chatml,
  ),
  'ChatML (Kimi)': guess(
    ['<|im_user|>{{role_name}}<|im_middle|>', '<|im_assistant|>{{role_name}}<|im_middle|>', '<|im_end|>'],
    kimi,
  ),
  'ChatML (Kimi Alternate)': guess(['<|im_user|>', '<|im_system|>system<|im_middle|>', '<|im_end|>'], kimi),
  'Google Gemma 2': guess(['System role not supported', '<start_of_turn>'], gemma),
  'Google Gemma 3': guess(['<start_of_image>', '<start_of_turn>', '<end_of_turn>'], gemma),
  'Google Gemma 3n': guess(['<image_soft_token>', '<start_of_turn>model', '<end_of_turn>'], gemma),
  'Google Gemma 4 (26B and 31B)': guess(
    ['<|turn>model', '<|think|>', '<|channel>thought\\n<channel|>'],
    byRole(...gemmaTurn, '<|turn>model\n<|channel>thought\n<channel|>'),
  ),
  'Google Gemma 4 (E2B and E4B)': guess(['<|turn>model', '<|think|>'], byRole(...gemmaTurn)),
  'Llama 3.x': guess(
    ['<|start_header_id|>assistant<|end_header_id|>'],
    byRole('<|start_header_id|>{role}<|end_header_id|>\n\n', '<|eot_id|>'),
  ),
  'Llama 4': guess(
    ['<|header_start|>assistant<|header_end|>'],
    byRole('<|header_start|>{role}<|header_end|>\n\n', '<|eot|>'),
  ),
  'Granite 4': guess(
    ['<|start_of_role|>system<|end_of_role|>'],
    byRole('<|start_of_role|>{role}<|end_of_role|>', '<|end_of_text|>\n'),
  ),
  'Mistral Tekken': guess(
    ['[/INST]', '[SYSTEM_PROMPT]'],
    turns(['[SYSTEM_PROMPT]', '[/SYSTEM_PROMPT]'], ['[INST]', ''], ['[/INST]', '</s>']),
  ),
  'Mistral Non-Tekken': guess(
    ['[/INST]', '"[INST] " + system_message'],
    turns(['[INST] ', '[/INST]'], ['[INST] ', ''], ['[/INST] ', '</s>'], '[/INST]'),
  ),
  'GLM-4.7': guess(
    ['[gMASK]<sop>', "content.split('</think>')"],
    turns(['<|system|>\n', ''], ['<|user|>\n', ''], ['<|assistant|>\n<think>', '']),
  ),
  'GLM-4': guess(['[gMASK]<sop>'], byRole('<|{role}|>\n', '')),
  'Phi 3.5': guess(['<|system|>', '<|user|>'], byRole('<|{role}|>\n', '<|end|>\n')),
  'Phi 4 (mini)': guess(["'<|' + message['role'] + '|>'"], byRole('<|{role}|>', '<|end|>')),
  Cohere: guess(
    ['<|START_OF_TURN_TOKEN|>'],
    byRole('<|START_OF_TURN_TOKEN|><|{role}_TOKEN|>', '<|END_OF_TURN_TOKEN|>', ['SYSTEM', 'USER', 'CHATBOT']),
  ),
  'Spark X2.5': guess(
    ['<｜start▁of▁sentence｜>', '<｜end▁of▁sentence｜>', '<|System|>', '<|User|>', '<|Bot|>', '</think>'],
    turns(
      ['<｜start▁of▁sentence｜><|System|>\n', '<｜end▁of▁sentence｜>'],
      ['<｜start▁of▁sentence｜><|User|>', '<｜end▁of▁sentence｜>'],
      ['<｜start▁of▁sentence｜><|Bot|></think>', '<｜end▁of▁sentence｜>'],
      '<｜start▁of▁sentence｜><|Bot|><think>',
    ),
  ),
  'DeepSeek V2.5': guess(
    ['<｜User｜>'],
    turns(['', ''], ['<｜User｜>', ''], ['<｜Assistant｜>', '<｜end▁of▁sentence｜>']),
  ),
  Jamba: guess(
    ['<|bom|>', 'is_last_checked_defined'],
    byRole('<|bom|><|{role}|> ', '<|eom|>', undefined, '<|bom|><|assistant|>'),
  ),
  Dots: guess(
    ['<|userprompt|>', '<|endofuserprompt|>', '<|response|>', '<|endofresponse|>'],
    byRole('<|{role}|>', '<|endof{role}|>', ['system', 'userprompt', 'response']),
  ),
  'OpenAI Harmony': guess(
    ['<|start|>user<|message|>', '<|channel|>', '<|end|>'],
    turns(
      ['<|start|>developer<|message|># Instructions\n\n', '\n\n<|end|>'],
      ['<|start|>user<|message|>', '<|end|>'],
      [openedHarmony, '<|end|>'],
    ),
  ),
  'Seed OSS': guess(['<seed:bos>', '<seed:eos>'], byRole('<seed:bos>{role}\n', '<seed:eos>')),
  'RWKV World': guess(
    ['rwkv_', "'User: '"],
    turns(['', '\n\n'], ['User: ', '\n\n'], ['Assistant: ', '\n\n'], 'Assistant:'),
  ),
  'Mistral (Generic)': guess(['[/INST]'], turns(['[INST]', '[/INST]'], ['[INST]', ''], ['[/INST]', '</s>'])),
  'ChatML (Generic)': guess(['<|im_start|>assistant', '<|im_end|>'], chatml),
  'Apriel 1.6': guess(
    ['[BEGIN FINAL RESPONSE]', '<|begin_user|>'],
    byRole('<|begin_{role}|>\n', '\n', undefined, '<|begin_assistant|>\nWe can respond now.\n[BEGIN FINAL RESPONSE]\n'),
  ),
  Apertus: guess(
    ['<|developer_end|>', '<|assistant_start|>', '<|system_start|>'],
    byRole('<|{role}_start|>', '<|{role}_end|>'),
  ),
  MiniMax: guess(
    ['[e~[', ']~b]user'],
    turns([']~!b[]~b]system\n', '[e~[\n'], [']~b]user\n', '[e~[\n'], [']~b]ai\n', '[e~[\n']),
  ),
  'Muse Glimmer': guess(
    ['<|start|>assistant to=', '<|start|>system<|message|>'],
    byRole('<|start|>{role}<|message|>', '<|eot|>', ['system', 'user', 'assistant to=user']),
  ),
  'Ling 3.0 Flash': guess(
    ['<role>SYSTEM</role>', '<|role_end|>'],
    byRole('<role>{role}</role>', '<|role_end|>', ['SYSTEM', 'HUMAN', 'ASSISTANT']),
  ),
};

export const guessList: readonly Guess[] = Object.entries(guesses).map(([name, entry]) => ({ name, ...entry }));

const closedThinking = '<|im_start|>assistant\n<think>\n\n</think>\n';
const closedKimiThinking = '<|im_assistant|>assistant<|im_middle|>\n<think></think>\n';
const closedSeedThinking =
  '<seed:bos>assistant\n<seed:think>\n<seed:cot_budget_reflect>The current thinking budget is 0, so I will directly ' +
  'start answering the question.</seed:cot_budget_reflect>\n</seed:think>';

/** Tags for a reply without thinking: mostly a turn that opens with closed thinking tags. */
const noThinkTags: Readonly<Record<string, Partial<ChatTags>>> = {
  'ChatML (Qwen 2.5 based)': { assistantStart: closedThinking },
  'ChatML (Kimi)': { assistantStart: closedKimiThinking },
  'ChatML (Kimi Alternate)': { assistantStart: closedKimiThinking },
  'GLM-4.7': { userEnd: '/nothink', assistantStart: '<|assistant|>\n</think>' },
  'GLM-4': { assistantStart: '<|assistant|>\n<think></think>' },
  'DeepSeek V2.5': { assistantStart: '<｜Assistant｜></think>' },
  'Seed OSS': { assistantStart: closedSeedThinking },
  'ChatML (Generic)': { assistantStart: closedThinking },
  MiniMax: { assistantStart: ']~b]ai\n<think>\nWe can answer immediately.\n</think>\n\n' },
};

export const guessListWithoutThinking: readonly Guess[] = guessList.map((entry) => {
  const change = noThinkTags[entry.name];
  if (change === undefined) return entry;
  // None of these formats defines `assistantGen`, so that the changed start opens every turn.
  const { assistantGen, ...tags } = entry.adapter.tags;
  return { ...entry, adapter: chatAdapter({ ...tags, ...change }) };
});

/** Formats that are selected by name only: no template leads to them. */
const namedAdapters: Readonly<Record<string, ChatAdapter>> = {
  Alpaca: turns(['', '\n\n'], ['### Instruction:\n', '\n\n'], ['### Response:\n', '</s>\n\n']),
  'ChatML-NoThink': chatAdapter({ ...chatml.tags, assistantStart: closedThinking, assistantGen: closedThinking }),
  'GLM-4-NoThink': turns(['<|system|>\n', ''], ['<|user|>\n', '/nothink'], ['<|assistant|>\n<think></think>', '']),
  'GLM-4.7-NoThink': turns(['<|system|>\n', ''], ['<|user|>\n', '/nothink'], ['<|assistant|></think>', '']),
  'Gemma-4-Thinking': byRole(...gemmaTurn, '<|turn>model\n<|think|><|channel>thought'),
  'Llama-2-Chat': turns(['', ''], ['<s>[INST] ', ''], [' [/INST] ', ' </s>\n']),
  Metharme: byRole('<|{role}|>', '', ['system', 'user', 'model']),
  'Mistral-NonTekken': turns(['[INST] ', ''], ['[INST] ', ''], ['[/INST] ', '</s>'], '[/INST]'),
  'OpenAI-Harmony': turns(
    ['<|start|>developer<|message|>', '<|end|>'],
    ['<|start|>user<|message|>', '<|end|>'],
    [openedHarmony, '<|end|>'],
  ),
  'Seed-OSS-NoThink': turns(
    ['<seed:bos>system\n', '<seed:eos>'],
    ['<seed:bos>user\n', '<seed:eos>'],
    [closedSeedThinking, '<seed:eos>'],
  ),
  Vicuna: turns(['', '\n\n'], ['USER: ', '\n'], ['ASSISTANT: ', '</s>\n']),
};

/** Names for entries of the guess list. */
const guessNames: Readonly<Record<string, string>> = {
  ChatML: 'ChatML (Generic)',
  'Command-R': 'Cohere',
  DeepSeek: 'DeepSeek V2.5',
  'GLM-4': 'GLM-4',
  'Gemma-3': 'Google Gemma 3n',
  Gemma: 'Google Gemma 3n',
  'Gemma-4-26B-31B': 'Google Gemma 4 (26B and 31B)',
  'Gemma-4-E2B-E4B': 'Google Gemma 4 (E2B and E4B)',
  'Granite-4': 'Granite 4',
  Jamba: 'Jamba',
  'Llama-3': 'Llama 3.x',
  'Llama-4': 'Llama 4',
  MiniMax: 'MiniMax',
  'Mistral-Tekken': 'Mistral Tekken',
  'Phi-3': 'Phi 3.5',
  'RWKV-World': 'RWKV World',
  'Seed-OSS': 'Seed OSS',
};

const guessNamed = (name: string): Guess | undefined => guessList.find((entry) => entry.name === name);

export const builtInAdapters: Readonly<Record<string, ChatAdapter>> = {
  ...namedAdapters,
  ...Object.fromEntries(
    Object.entries(guessNames).map(([name, guessName]) => [name, (guessNamed(guessName) as Guess).adapter]),
  ),
};

/**
 * The tags for a reply without thinking; undefined where the template has no thinking, or the format has no such tags. Only
 * the generated turn opens differently, so that the cached prefix of earlier turns stays valid.
 */
export function tagsWithoutThinking(
  tags: ChatTags,
  format: { readonly name: string | undefined; readonly template: string | undefined },
): ChatTags | undefined {
  const closesThinking = thinkingTags.some(({ ends }) => ends.some(({ text }) => tags.assistantGen.includes(text)));
  if (closesThinking) return tags;
  const thinks = thinkingTags.some(({ start, ends }) =>
    [start, ...ends.map(({ text }) => text)].some((tag) => format.template?.includes(tag)),
  );
  if (!thinks) return undefined;
  const alike = () => guessList.find(({ adapter, name }) => noThinkTags[name] && sameTags(adapter.tags, tags));
  const change = noThinkTags[(guessNamed(format.name ?? '') ?? alike())?.name ?? ''];
  if (change === undefined) return undefined;
  return { ...tags, userEnd: change.userEnd ?? tags.userEnd, assistantGen: change.assistantStart ?? tags.assistantGen };
}

function sameTags(one: ChatTags, other: ChatTags): boolean {
  return (Object.keys(one) as (keyof ChatTags)[]).every((name) => one[name] === other[name]);
}
