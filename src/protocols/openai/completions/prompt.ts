import type { TextService } from '../../../core/text-service.ts';
import type { JsonObject } from '../../../http/body.ts';
import { wrong } from '../fields.ts';

type Tokens = readonly number[];
type Words = Pick<TextService, 'tokenize' | 'detokenize' | 'state'>;

const mostPrompts = 128;
const expected = 'a string, an array of strings, an array of token numbers, or an array of such arrays';

/** Each prompt gets a group of replies of its own. Only an explicit null asks for text out of nothing. */
export async function decodePrompts(body: JsonObject, text: Words): Promise<readonly string[]> {
  const { prompt } = body;
  if (prompt === null) return [''];
  if (typeof prompt === 'string') return [prompt];
  if (!Array.isArray(prompt) || prompt.length === 0) throw wrong('prompt', expected);
  const tokens = asTokens(prompt);
  if (tokens) return [await tokenText(tokens, text)];
  if (prompt.length > mostPrompts) throw wrong('prompt', `an array of at most ${mostPrompts} prompts`);
  return Promise.all(prompt.map((one) => readOne(one, text)));
}

async function readOne(prompt: unknown, text: Words): Promise<string> {
  if (typeof prompt === 'string') return prompt;
  const tokens = Array.isArray(prompt) ? asTokens(prompt) : undefined;
  if (!tokens) throw wrong('prompt', expected);
  return tokenText(tokens, text);
}

function asTokens(prompt: readonly unknown[]): Tokens | undefined {
  return prompt.length > 0 && prompt.every((token) => typeof token === 'number') ? (prompt as Tokens) : undefined;
}

/**
 * Engines take text, which they turn back into the same tokens, special ones included. They put the token that begins a
 * text themselves, so that one in front is taken off.
 */
async function tokenText(tokens: Tokens, text: Words): Promise<string> {
  const state = text.state();
  const size = state.type === 'ready' ? state.model.vocabularySize : Number.POSITIVE_INFINITY;
  if (!tokens.every((token) => Number.isInteger(token) && token >= 0 && token < size)) {
    throw wrong('prompt', `made of token numbers of this model, which are whole and below ${size}`);
  }
  const beginning = (await text.tokenize('', { addSpecial: true }))[0];
  const rest = tokens[0] === beginning ? tokens.slice(1) : tokens;
  return text.detokenize(rest, { renderSpecial: true });
}
