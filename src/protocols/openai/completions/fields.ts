import { asControls } from '../../controls/table.ts';
import * as f from '../../fields.ts';
import { readNativeMedia } from '../../media.ts';
import { afterSampling, generationFields, projector, promptLogprobs, readReplies } from '../fields.ts';

type Tokens = readonly number[];
export type Prompt = string | Tokens;

const maxPrompts = 128;

/** Each prompt gets its own group of replies. Only an explicit null means an empty prompt. */
const readPrompts: f.Read<readonly Prompt[]> = f.described(f.promptsSchema, (value, path) => {
  const expected = 'a string, an array of strings, an array of token numbers, or an array of such arrays';
  if (value === null) return [''];
  if (typeof value === 'string') return [value];
  if (!Array.isArray(value) || value.length === 0) throw f.wrong(path, expected);
  const prompts: readonly unknown[] = value;
  if (isTokens(prompts)) return [prompts];
  if (prompts.length > maxPrompts) throw f.wrong(path, `an array of at most ${maxPrompts} prompts`);
  return prompts.map((one) => {
    if (typeof one === 'string' || isTokens(one)) return one;
    throw f.wrong(path, expected);
  });
});

function isTokens(prompt: unknown): prompt is Tokens {
  return Array.isArray(prompt) && prompt.length > 0 && prompt.every((token) => typeof token === 'number');
}

const readAlternatives: f.Read<number | undefined> = f.described({ type: ['integer', 'boolean'] }, (value, path) => {
  if (f.isAbsent(value) || value === false) return undefined;
  if (value === true) return 5;
  const count = f.readWhole(value, path);
  if (count < 0) throw f.wrong(path, 'a whole number that is not negative');
  return Math.min(count, 20);
});

export const completionFields = {
  prompt: f.honoured(readPrompts, 'Up to 128 texts or lists of tokens. Nothing is added in front of tokens.'),
  memory: f.honoured(f.orElse(f.readText, ''), 'Put in front of the prompt, as in the native API.'),
  replace_instruct_placeholders: f.honoured(f.orElse(f.looseFlag, true), 'As in the native API.'),
  images: f.honoured(readNativeMedia, `Base64, as in the native API, for every prompt. ${projector}`),
  audio: f.honoured(readNativeMedia, `As images. ${projector}`),
  ...generationFields,
  max_tokens: f.honoured(f.optionalWhole, '0 generates nothing, less is the default of the server. Cut to what fits.'),
  n: f.honoured(readReplies, 'Up to 128, in parallel if possible; each next reply has the next seed.'),
  best_of: f.honoured(readReplies, 'Up to 128. Not in streams.'),
  echo: f.honoured(f.orElse(f.readFlag, false), 'With logprobs also those of the prompt; null for its first token.'),
  prompt_logprobs: promptLogprobs(),
  suffix: f.honoured(f.optionalText, 'If the model has infill tokens. Not with tokens, or echo and logprobs.'),
  logprobs: f.approximated(readAlternatives, `Up to 20; true means 5. ${afterSampling}`),
  ...asControls({ reasoning_effort: 'A limit; reasoning stays in the text.', thinking_budget_tokens: '' }),
  response_format: f.ignored('Use grammar.'),
  ...f.each(['service_tier', 'metadata', 'store'], f.ignored()),
};

export type CompletionFields = f.Fields<typeof completionFields>;
