import type { TextService } from '../../../core/text-service.ts';
import type { JsonObject } from '../../../http/body.ts';
import { wrong } from '../fields.ts';

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
export async function decodePrompts(body: JsonObject, text: Words): Promise<readonly SentPrompt[]> {
  const { prompt } = body;
  if (prompt === null) return [words('')];
  if (typeof prompt === 'string') return [words(prompt)];
  if (!Array.isArray(prompt) || prompt.length === 0) throw wrong('prompt', expected);
  const tokens = asTokens(prompt);
  if (tokens) return [await spelled(tokens, text)];
  if (prompt.length > mostPrompts) throw wrong('prompt', `an array of at most ${mostPrompts} prompts`);
  return Promise.all(prompt.map((one) => readOne(one, text)));
}

const words = (text: string): SentPrompt => ({ text, tokens: undefined });

async function readOne(prompt: unknown, text: Words): Promise<SentPrompt> {
  if (typeof prompt === 'string') return words(prompt);
  const tokens = Array.isArray(prompt) ? asTokens(prompt) : undefined;
  if (!tokens) throw wrong('prompt', expected);
  return spelled(tokens, text);
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
