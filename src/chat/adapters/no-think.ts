import { thinkingTags } from '../thinking-tags.ts';
import { type ChatTags, chatAdapter, type Guess } from './adapter.ts';
import { guessList } from './guess-list.ts';

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

export interface KnownFormat {
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
