import type { GenerationControls } from '../../core/request.ts';
import type { TextService } from '../../core/text-service.ts';
import { clamp, described, isObject, type Read, wrong } from '../fields/readers.ts';
import { biasSchema } from '../fields/schemas.ts';

const limits = { entries: 512, bias: 100 };

type Bias = readonly [key: string | number, bias: number];

/**
 * `{"15496": -100}`, or the list form of llama.cpp's clients, where a key may also be a text (each of its tokens gets
 * the bias) and `false` forbids.
 */
export const readLogitBias: Read<readonly Bias[]> = described(biasSchema, (value, path) => {
  const pairs = isObject(value) ? Object.entries(value).map(([key, bias]) => [tokenOrText(key), bias]) : value;
  if (!Array.isArray(pairs)) throw refusal(path);
  return pairs.map((entry): Bias => {
    if (!Array.isArray(entry) || entry.length !== 2) throw refusal(path);
    const [key, bias] = entry as [unknown, unknown];
    const known = typeof key === 'string' || (typeof key === 'number' && Number.isInteger(key));
    if (!known || (typeof bias !== 'number' && bias !== false)) throw refusal(path);
    return [key, bias === false ? -limits.bias : bias];
  });
});

export async function tokenBiases(
  biases: readonly Bias[],
  tokenize: TextService['tokenize'],
): Promise<GenerationControls['logitBias']> {
  const found = new Map<number, number>();
  for (const [key, bias] of biases.slice(0, limits.entries)) {
    const tokens = typeof key === 'number' ? [key] : await tokenize(key, { addSpecial: false });
    for (const token of tokens) if (token >= 0) found.set(token, clamp(bias, -limits.bias, limits.bias));
  }
  return [...found];
}

/** Keys of an object are always texts: those that are whole numbers mean tokens. */
function tokenOrText(key: string): string | number {
  return /^-?\d{1,9}$/.test(key.trim()) ? Number(key) : key;
}

function refusal(path: string) {
  return wrong(path, 'an object from token numbers to numbers, or a list of such pairs');
}
