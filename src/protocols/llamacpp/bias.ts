import type { GenerationControls } from '../../core/request.ts';
import type { TextService } from '../../core/text-service.ts';
import { biasSchema, described, isObject, limitedTexts, type Read, wrong } from '../fields.ts';

const limits = { entries: 10_000, texts: 512 };

/** For a token by its number, or for all tokens of a text; `false` bans. */
interface Bias {
  readonly target: number | string;
  readonly value: number | false;
}

/** `logit_bias` of this dialect: an array of pairs, or an object whose keys are numbers or texts. */
export const readLogitBias: Read<readonly Bias[]> = described(biasSchema, (value, path) => {
  const targetOf = (key: string) => (/^\d{1,9}$/.test(key) ? Number(key) : key);
  const pairs = isObject(value) ? Object.entries(value).map(([key, entry]) => [targetOf(key), entry]) : value;
  const refusal = () => wrong(path, 'pairs of a token number or a text with a number or false');
  if (!Array.isArray(pairs)) throw refusal();
  const biases = pairs.map((pair): Bias => {
    if (!Array.isArray(pair) || pair.length !== 2) throw refusal();
    const [target, bias] = pair;
    if ((typeof target !== 'string' && !Number.isInteger(target)) || !(bias === false || typeof bias === 'number')) {
      throw refusal();
    }
    return { target, value: bias };
  });
  // Each is added at every token of the reply, and each text needs the tokenizer.
  const texts = biases.flatMap(({ target }) => (typeof target === 'string' ? [target] : []));
  if (biases.length > limits.entries || texts.length > limits.texts) {
    throw wrong(path, `at most ${limits.entries} pairs, ${limits.texts} of them with a text`);
  }
  limitedTexts(path, texts);
  return biases;
});

export async function resolveBias(
  entries: readonly Bias[],
  text: TextService,
): Promise<Pick<GenerationControls, 'logitBias' | 'bannedTokens'>> {
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
