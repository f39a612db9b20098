import type { TextService } from '../../../core/text-service.ts';
import { described, type Read, wrong } from '../../fields/readers.ts';
import { promptsSchema } from '../../fields/schemas.ts';

type Tokens = readonly number[];
type Words = Pick<TextService, 'detokenize' | 'state'>;

const mostPrompts = 128;
const expected = 'a string, an array of strings, an array of token numbers, or an array of such arrays';

export interface SentPrompt {
  readonly text: string;
  /** As they were sent; undefined for a prompt that was sent as text. */
  readonly tokens: Tokens | undefined;
}

/** Each prompt gets a group of replies of its own. Only an explicit null asks for text out of nothing. */
export const readPrompts: Read<readonly (string | Tokens)[]> = described(promptsSchema, (value, path) => {
  if (value === null) return [''];
  if (typeof value === 'string') return [value];
  if (!Array.isArray(value) || value.length === 0) throw wrong(path, expected);
  const tokens = asTokens(value);
  if (tokens) return [tokens];
  if (value.length > mostPrompts) throw wrong(path, `an array of at most ${mostPrompts} prompts`);
  return value.map((one) => {
    const words = typeof one === 'string' ? one : Array.isArray(one) ? asTokens(one) : undefined;
    if (words === undefined) throw wrong(path, expected);
    return words;
  });
});

export function spellPrompts(prompts: readonly (string | Tokens)[], text: Words): Promise<readonly SentPrompt[]> {
  return Promise.all(
    prompts.map((prompt) => (typeof prompt === 'string' ? { text: prompt, tokens: undefined } : spelled(prompt, text))),
  );
}

function asTokens(prompt: readonly unknown[]): Tokens | undefined {
  return prompt.length > 0 && prompt.every((token) => typeof token === 'number') ? (prompt as Tokens) : undefined;
}

async function spelled(tokens: Tokens, text: Words): Promise<SentPrompt> {
  const state = text.state();
  const size = state.type === 'ready' ? state.model.vocabularySize : Number.POSITIVE_INFINITY;
  if (!tokens.every((token) => Number.isInteger(token) && token >= 0 && token < size)) {
    throw wrong('prompt', `made of token numbers of this model, which are whole and below ${size}`);
  }
  return { text: await text.detokenize(tokens, { renderSpecial: true }), tokens };
}
