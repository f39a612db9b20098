import { type ChatAdapter, type Guess, turns } from './adapter.ts';
import { guessList } from './guess-list.ts';
import { closedSeedThinking, guessListWithoutThinking } from './no-think.ts';

/** Formats that a person can ask for by name and that no template leads to. */
const ownTags: Readonly<Record<string, ChatAdapter>> = {
  Alpaca: turns(['', '\n\n'], ['### Instruction:\n', '\n\n'], ['### Response:\n', '</s>\n\n']),
  'ChatML-NoThink': turns(
    ['<|im_start|>system\n', '<|im_end|>\n'],
    ['<|im_start|>user\n', '<|im_end|>\n'],
    ['<|im_start|>assistant\n<think>\n\n</think>\n', '<|im_end|>\n'],
  ),
  'GLM-4-NoThink': turns(['<|system|>\n', ''], ['<|user|>\n', '/nothink'], ['<|assistant|>\n<think></think>', '']),
  'GLM-4.7-NoThink': turns(['<|system|>\n', ''], ['<|user|>\n', '/nothink'], ['<|assistant|></think>', '']),
  'Gemma-4-Thinking': turns(
    ['<|turn>system\n', '<turn|>\n'],
    ['<|turn>user\n', '<turn|>\n'],
    ['<|turn>model\n', '<turn|>\n'],
    '<|turn>model\n<|think|><|channel>thought',
  ),
  'Llama-2-Chat': turns(['', ''], ['<s>[INST] ', ''], [' [/INST] ', ' </s>\n']),
  Metharme: turns(['<|system|>', ''], ['<|user|>', ''], ['<|model|>', '']),
  'Mistral-NonTekken': turns(['[INST] ', ''], ['[INST] ', ''], ['[/INST] ', '</s>'], '[/INST]'),
  'OpenAI-Harmony': turns(
    ['<|start|>developer<|message|>', '<|end|>'],
    ['<|start|>user<|message|>', '<|end|>'],
    [
      '<|start|>assistant<|channel|>analysis<|message|>We can answer immediately.<|end|><|start|>assistant<|channel|>final<|message|>',
      '<|end|>',
    ],
  ),
  'Seed-OSS-NoThink': turns(
    ['<seed:bos>system\n', '<seed:eos>'],
    ['<seed:bos>user\n', '<seed:eos>'],
    [closedSeedThinking, '<seed:eos>'],
  ),
  Vicuna: turns(['', '\n\n'], ['USER: ', '\n'], ['ASSISTANT: ', '</s>\n']),
};

/** Names whose tags are those of an entry of the guess list. */
const sameAsGuess: Readonly<Record<string, string>> = {
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

export const builtInAdapters: Readonly<Record<string, ChatAdapter>> = {
  ...ownTags,
  ...Object.fromEntries(
    Object.entries(sameAsGuess).flatMap(([name, guessName]) =>
      guessList.filter((guess) => guess.name === guessName).map((guess) => [name, guess.adapter]),
    ),
  ),
};

export const builtInGuessLists: Readonly<Record<string, readonly Guess[]>> = {
  AutoGuess: guessList,
  'AutoGuess-NoThink': guessListWithoutThinking,
};

export const builtInNames: readonly string[] = [
  ...Object.keys(builtInAdapters),
  ...Object.keys(builtInGuessLists),
].sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
