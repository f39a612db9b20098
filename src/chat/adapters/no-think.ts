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
