import { thinkingTags } from '../thinking-tags.ts';
import { type ChatTags, chatAdapter, type Guess, turns } from './adapter.ts';

/**
 * The formats that are recognised by a model's chat template, most particular first: the first entry whose every
 * search string occurs in the template is taken, so the order is part of the data.
 */
export const guessList: readonly Guess[] = [
  {
    name: 'ChatML (Phi 4)',
    search: ['<|im_start|>assistant', '<|im_end|>', '<|im_sep|>'],
    adapter: turns(
      ['<|im_start|>system<|im_sep|>', '<|im_end|>'],
      ['<|im_start|>user<|im_sep|>', '<|im_end|>'],
      ['<|im_start|>assistant<|im_sep|>', '<|im_end|>'],
    ),
  },
  {
    name: 'ChatML (Qwen 2.5 based)',
    search: ['<|im_start|>assistant', '<|im_end|>', 'You are provided with function signatures within <tools>'],
    adapter: turns(
      ['<|im_start|>system\n', '<|im_end|>\n'],
      ['<|im_start|>user\n', '<|im_end|>\n'],
      ['<|im_start|>assistant\n', '<|im_end|>\n'],
    ),
  },
  {
    name: 'ChatML (Kimi)',
    search: ['<|im_user|>{{role_name}}<|im_middle|>', '<|im_assistant|>{{role_name}}<|im_middle|>', '<|im_end|>'],
    adapter: turns(
      ['<|im_system|>system<|im_middle|>', '<|im_end|>'],
      ['<|im_user|>user<|im_middle|>', '<|im_end|>'],
      ['<|im_assistant|>assistant<|im_middle|>', '<|im_end|>'],
    ),
  },
  {
    name: 'ChatML (Kimi Alternate)',
    search: ['<|im_user|>', '<|im_system|>system<|im_middle|>', '<|im_end|>'],
    adapter: turns(
      ['<|im_system|>system<|im_middle|>', '<|im_end|>'],
      ['<|im_user|>user<|im_middle|>', '<|im_end|>'],
      ['<|im_assistant|>assistant<|im_middle|>', '<|im_end|>'],
    ),
  },
  {
    name: 'Google Gemma 2',
    search: ['System role not supported', '<start_of_turn>'],
    adapter: turns(
      ['<start_of_turn>user\n', '<end_of_turn>\n'],
      ['<start_of_turn>user\n', '<end_of_turn>\n'],
      ['<start_of_turn>model\n', '<end_of_turn>\n'],
    ),
  },
  {
    name: 'Google Gemma 3',
    search: ['<start_of_image>', '<start_of_turn>', '<end_of_turn>'],
    adapter: turns(
      ['<start_of_turn>user\n', '<end_of_turn>\n'],
      ['<start_of_turn>user\n', '<end_of_turn>\n'],
      ['<start_of_turn>model\n', '<end_of_turn>\n'],
    ),
  },
  {
    name: 'Google Gemma 3n',
    search: ['<image_soft_token>', '<start_of_turn>model', '<end_of_turn>'],
    adapter: turns(
      ['<start_of_turn>user\n', '<end_of_turn>\n'],
      ['<start_of_turn>user\n', '<end_of_turn>\n'],
      ['<start_of_turn>model\n', '<end_of_turn>\n'],
    ),
  },
  {
    name: 'Google Gemma 4 (26B and 31B)',
    search: ['<|turn>model', '<|think|>', '<|channel>thought\\n<channel|>'],
    adapter: turns(
      ['<|turn>system\n', '<turn|>\n'],
      ['<|turn>user\n', '<turn|>\n'],
      ['<|turn>model\n', '<turn|>\n'],
      '<|turn>model\n<|channel>thought\n<channel|>',
    ),
  },
  {
    name: 'Google Gemma 4 (E2B and E4B)',
    search: ['<|turn>model', '<|think|>'],
    adapter: turns(['<|turn>system\n', '<turn|>\n'], ['<|turn>user\n', '<turn|>\n'], ['<|turn>model\n', '<turn|>\n']),
  },
  {
    name: 'Llama 3.x',
    search: ['<|start_header_id|>assistant<|end_header_id|>'],
    adapter: turns(
      ['<|start_header_id|>system<|end_header_id|>\n\n', '<|eot_id|>'],
      ['<|start_header_id|>user<|end_header_id|>\n\n', '<|eot_id|>'],
      ['<|start_header_id|>assistant<|end_header_id|>\n\n', '<|eot_id|>'],
    ),
  },
  {
    name: 'Llama 4',
    search: ['<|header_start|>assistant<|header_end|>'],
    adapter: turns(
      ['<|header_start|>system<|header_end|>\n\n', '<|eot|>'],
      ['<|header_start|>user<|header_end|>\n\n', '<|eot|>'],
      ['<|header_start|>assistant<|header_end|>\n\n', '<|eot|>'],
    ),
  },
  {
    name: 'Granite 4',
    search: ['<|start_of_role|>system<|end_of_role|>'],
    adapter: turns(
      ['<|start_of_role|>system<|end_of_role|>', '<|end_of_text|>\n'],
      ['<|start_of_role|>user<|end_of_role|>', '<|end_of_text|>\n'],
      ['<|start_of_role|>assistant<|end_of_role|>', '<|end_of_text|>\n'],
    ),
  },
  {
    name: 'Mistral Tekken',
    search: ['[/INST]', '[SYSTEM_PROMPT]'],
    adapter: turns(['[SYSTEM_PROMPT]', '[/SYSTEM_PROMPT]'], ['[INST]', ''], ['[/INST]', '</s>']),
  },
  {
    name: 'Mistral Non-Tekken',
    search: ['[/INST]', '"[INST] " + system_message'],
    adapter: turns(['[INST] ', '[/INST]'], ['[INST] ', ''], ['[/INST] ', '</s>'], '[/INST]'),
  },
  {
    name: 'GLM-4.7',
    search: ['[gMASK]<sop>', "content.split('</think>')"],
    adapter: turns(['<|system|>\n', ''], ['<|user|>\n', ''], ['<|assistant|>\n<think>', '']),
  },
  {
    name: 'GLM-4',
    search: ['[gMASK]<sop>'],
    adapter: turns(['<|system|>\n', ''], ['<|user|>\n', ''], ['<|assistant|>\n', '']),
  },
  {
    name: 'Phi 3.5',
    search: ['<|system|>', '<|user|>'],
    adapter: turns(['<|system|>\n', '<|end|>\n'], ['<|user|>\n', '<|end|>\n'], ['<|assistant|>\n', '<|end|>\n']),
  },
  {
    name: 'Phi 4 (mini)',
    search: ["'<|' + message['role'] + '|>'"],
    adapter: turns(['<|system|>', '<|end|>'], ['<|user|>', '<|end|>'], ['<|assistant|>', '<|end|>']),
  },
  {
    name: 'Cohere',
    search: ['<|START_OF_TURN_TOKEN|>'],
    adapter: turns(
      ['<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>', '<|END_OF_TURN_TOKEN|>'],
      ['<|START_OF_TURN_TOKEN|><|USER_TOKEN|>', '<|END_OF_TURN_TOKEN|>'],
      ['<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>', '<|END_OF_TURN_TOKEN|>'],
    ),
  },
  {
    name: 'Spark X2.5',
    search: ['<｜start▁of▁sentence｜>', '<｜end▁of▁sentence｜>', '<|System|>', '<|User|>', '<|Bot|>', '</think>'],
    adapter: turns(
      ['<｜start▁of▁sentence｜><|System|>\n', '<｜end▁of▁sentence｜>'],
      ['<｜start▁of▁sentence｜><|User|>', '<｜end▁of▁sentence｜>'],
      ['<｜start▁of▁sentence｜><|Bot|></think>', '<｜end▁of▁sentence｜>'],
      '<｜start▁of▁sentence｜><|Bot|><think>',
    ),
  },
  {
    name: 'DeepSeek V2.5',
    search: ['<｜User｜>'],
    adapter: turns(['', ''], ['<｜User｜>', ''], ['<｜Assistant｜>', '<｜end▁of▁sentence｜>']),
  },
  {
    name: 'Jamba',
    search: ['<|bom|>', 'is_last_checked_defined'],
    adapter: turns(
      ['<|bom|><|system|> ', '<|eom|>'],
      ['<|bom|><|user|> ', '<|eom|>'],
      ['<|bom|><|assistant|> ', '<|eom|>'],
      '<|bom|><|assistant|>',
    ),
  },
  {
    name: 'Dots',
    search: ['<|userprompt|>', '<|endofuserprompt|>', '<|response|>', '<|endofresponse|>'],
    adapter: turns(
      ['<|system|>', '<|endofsystem|>'],
      ['<|userprompt|>', '<|endofuserprompt|>'],
      ['<|response|>', '<|endofresponse|>'],
    ),
  },
  {
    name: 'OpenAI Harmony',
    search: ['<|start|>user<|message|>', '<|channel|>', '<|end|>'],
    adapter: turns(
      ['<|start|>developer<|message|># Instructions\n\n', '\n\n<|end|>'],
      ['<|start|>user<|message|>', '<|end|>'],
      [
        '<|start|>assistant<|channel|>analysis<|message|>We can answer immediately.<|end|><|start|>assistant<|channel|>final<|message|>',
        '<|end|>',
      ],
    ),
  },
  {
    name: 'Seed OSS',
    search: ['<seed:bos>', '<seed:eos>'],
    adapter: turns(
      ['<seed:bos>system\n', '<seed:eos>'],
      ['<seed:bos>user\n', '<seed:eos>'],
      ['<seed:bos>assistant\n', '<seed:eos>'],
    ),
  },
  {
    name: 'RWKV World',
    search: ['rwkv_', "'User: '"],
    adapter: turns(['', '\n\n'], ['User: ', '\n\n'], ['Assistant: ', '\n\n'], 'Assistant:'),
  },
  {
    name: 'Mistral (Generic)',
    search: ['[/INST]'],
    adapter: turns(['[INST]', '[/INST]'], ['[INST]', ''], ['[/INST]', '</s>']),
  },
  {
    name: 'ChatML (Generic)',
    search: ['<|im_start|>assistant', '<|im_end|>'],
    adapter: turns(
      ['<|im_start|>system\n', '<|im_end|>\n'],
      ['<|im_start|>user\n', '<|im_end|>\n'],
      ['<|im_start|>assistant\n', '<|im_end|>\n'],
    ),
  },
  {
    name: 'Apriel 1.6',
    search: ['[BEGIN FINAL RESPONSE]', '<|begin_user|>'],
    adapter: turns(
      ['<|begin_system|>\n', '\n'],
      ['<|begin_user|>\n', '\n'],
      ['<|begin_assistant|>\n', '\n'],
      '<|begin_assistant|>\nWe can respond now.\n[BEGIN FINAL RESPONSE]\n',
    ),
  },
  {
    name: 'Apertus',
    search: ['<|developer_end|>', '<|assistant_start|>', '<|system_start|>'],
    adapter: turns(
      ['<|system_start|>', '<|system_end|>'],
      ['<|user_start|>', '<|user_end|>'],
      ['<|assistant_start|>', '<|assistant_end|>'],
    ),
  },
  {
    name: 'MiniMax',
    search: ['[e~[', ']~b]user'],
    adapter: turns([']~!b[]~b]system\n', '[e~[\n'], [']~b]user\n', '[e~[\n'], [']~b]ai\n', '[e~[\n']),
  },
  {
    name: 'Muse Glimmer',
    search: ['<|start|>assistant to=', '<|start|>system<|message|>'],
    adapter: turns(
      ['<|start|>system<|message|>', '<|eot|>'],
      ['<|start|>user<|message|>', '<|eot|>'],
      ['<|start|>assistant to=user<|message|>', '<|eot|>'],
    ),
  },
  {
    name: 'Ling 3.0 Flash',
    search: ['<role>SYSTEM</role>', '<|role_end|>'],
    adapter: turns(
      ['<role>SYSTEM</role>', '<|role_end|>'],
      ['<role>HUMAN</role>', '<|role_end|>'],
      ['<role>ASSISTANT</role>', '<|role_end|>'],
    ),
  },
];

const closedThinking = '<|im_start|>assistant\n<think>\n\n</think>\n';
const closedKimiThinking = '<|im_assistant|>assistant<|im_middle|>\n<think></think>\n';

export const closedSeedThinking =
  '<seed:bos>assistant\n<seed:think>\n<seed:cot_budget_reflect>The current thinking budget is 0, so I will directly ' +
  'start answering the question.</seed:cot_budget_reflect>\n</seed:think>';

/** What differs where the model is to answer without thinking: mostly a turn that opens with thoughts already closed. */
const changes: Readonly<Record<string, Partial<ChatTags>>> = {
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

export const guessListWithoutThinking: readonly Guess[] = guessList.map((guess) => {
  const change = changes[guess.name];
  if (change === undefined) return guess;
  const { assistantGen, ...kept } = guess.adapter.tags;
  // None of the changed entries opens its last turn in a way of its own, so the changed start is that of all turns.
  return { ...guess, adapter: chatAdapter({ ...kept, ...change }) };
});

interface KnownFormat {
  /** The name of the format, where it was recognised. */
  readonly name: string | undefined;
  /** The model's own template: where it does not speak of thinking the model was never taught closed thoughts. */
  readonly template: string | undefined;
}

/**
 * The tags for a reply without thinking, where the model thinks and the format knows a way. Only the turn that is to be
 * written opens in another way: earlier ones are as they were, so that what the cache holds of them stays good.
 */
export function tagsWithoutThinking(tags: ChatTags, { name: formatName, template }: KnownFormat): ChatTags | undefined {
  if (closesThinking(tags.assistantGen)) return tags;
  if (!speaksOfThinking(template ?? '')) return undefined;
  const named = guessList.find(({ name }) => name === formatName);
  const alike = guessList.find(({ adapter, name }) => changes[name] && sameTags(adapter.tags, tags));
  const change = changes[(named ?? alike)?.name ?? ''];
  if (change === undefined) return undefined;
  return { ...tags, userEnd: change.userEnd ?? tags.userEnd, assistantGen: change.assistantStart ?? tags.assistantGen };
}

function speaksOfThinking(template: string): boolean {
  return thinkingTags.some(({ start, ends }) =>
    [start, ...ends.map(({ text }) => text)].some((tag) => template.includes(tag)),
  );
}

function closesThinking(opening: string): boolean {
  return thinkingTags.some(({ ends }) => ends.some(({ text }) => opening.includes(text)));
}

function sameTags(one: ChatTags, other: ChatTags): boolean {
  return (Object.keys(one) as (keyof ChatTags)[]).every((name) => one[name] === other[name]);
}
