import type { AppError } from '../../core/errors.ts';
import type { GenerationControls } from '../../core/request.ts';
import type { TextService } from '../../core/text-service.ts';
import { limitedTexts } from '../fields/loose.ts';
import { described, isObject, type Read, wrong } from '../fields/readers.ts';
import { biasSchema } from '../fields/schemas.ts';

const limits = { entries: 10_000, texts: 512 };

/** A token by its number or a text, all of whose tokens are meant; `false` forbids. */
interface Bias {
  readonly target: number | string;
  readonly value: number | false;
}

type BiasControls = Pick<GenerationControls, 'logitBias' | 'bannedTokens'>;

/** `logit_bias` of this dialect: an array of pairs, or an object whose keys are numbers or texts. */
export const readLogitBias: Read<readonly Bias[]> = described(biasSchema, (value, path) => {
  const pairs = isObject(value) ? Object.entries(value).map(([key, entry]) => [targetOf(key), entry]) : value;
  if (!Array.isArray(pairs)) throw refusal(path);
  return limited(
    path,
    pairs.map((pair) => {
      if (!Array.isArray(pair) || pair.length !== 2) throw refusal(path);
      return bias(pair[0], pair[1], path);
    }),
  );
});

/** Each is added at every token of the reply, and each text is a question to the tokenizer. */
function limited(path: string, biases: readonly Bias[]): readonly Bias[] {
  const texts = biases.flatMap(({ target }) => (typeof target === 'string' ? [target] : []));
  if (biases.length > limits.entries || texts.length > limits.texts) {
    throw wrong(path, `at most ${limits.entries} pairs, ${limits.texts} of them with a text`);
  }
  limitedTexts(path, texts);
  return biases;
}

export async function resolveBias(entries: readonly Bias[], text: TextService): Promise<BiasControls> {
  const logitBias = new Map<number, number>();
  const bannedTokens = new Set<number>();
  const found = await Promise.all(
    entries.map(async ({ target, value }) => ({
      tokens: typeof target === 'number' ? [target] : await text.tokenize(target, { addSpecial: false }),
      value,
    })),
  );
  for (const { tokens, value } of found) {
    for (const token of tokens) {
      if (value === false) bannedTokens.add(token);
      else logitBias.set(token, value);
    }
  }
  return { logitBias: [...logitBias], bannedTokens: [...bannedTokens] };
}

function targetOf(key: string): number | string {
  return /^\d{1,9}$/.test(key) ? Number(key) : key;
}

function bias(target: unknown, value: unknown, path: string): Bias {
  const named = typeof target === 'string' || (typeof target === 'number' && Number.isInteger(target));
  if (!named || !(value === false || typeof value === 'number')) throw refusal(path);
  return { target, value };
}

function refusal(path: string): AppError {
  return wrong(path, 'pairs of a token number or a text with a number or false');
}
