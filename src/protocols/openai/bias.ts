import type { GenerationControls } from '../../core/request.ts';
import type { TextService } from '../../core/text-service.ts';
import { clamp, isAbsent, isObject } from '../controls/fields.ts';
import { wrong } from './fields.ts';

const limits = { entries: 512, bias: 100 };

type Bias = readonly [key: string | number, bias: number];

/**
 * `{"15496": -100}`, or the list form of llama.cpp's clients, where a key may also be a text (each of its tokens gets
 * the bias) and `false` forbids.
 */
export async function decodeLogitBias(
  value: unknown,
  tokenize: TextService['tokenize'],
): Promise<GenerationControls['logitBias']> {
  const found = new Map<number, number>();
  for (const [key, bias] of entries(value).slice(0, limits.entries)) {
    const tokens = typeof key === 'number' ? [key] : await tokenize(key, { addSpecial: false });
    for (const token of tokens) if (token >= 0) found.set(token, clamp(bias, -limits.bias, limits.bias));
  }
  return [...found];
}

function entries(value: unknown): readonly Bias[] {
  if (isAbsent(value)) return [];
  if (isObject(value)) return Object.entries(value).map(([key, bias]) => [tokenOrText(key), readBias(bias)]);
  if (Array.isArray(value)) return value.map(pair);
  throw refusal();
}

function pair(entry: unknown): Bias {
  if (!Array.isArray(entry) || entry.length !== 2) throw refusal();
  const [key, bias] = entry as [unknown, unknown];
  if (typeof key === 'string') return [key, readBias(bias)];
  if (typeof key === 'number' && Number.isInteger(key)) return [key, readBias(bias)];
  throw refusal();
}

function readBias(bias: unknown): number {
  if (bias === false) return -limits.bias;
  if (typeof bias !== 'number') throw refusal();
  return bias;
}

/** Keys of an object are always texts: those that are whole numbers mean tokens. */
function tokenOrText(key: string): string | number {
  return /^-?\d{1,9}$/.test(key.trim()) ? Number(key) : key;
}

function refusal() {
  return wrong('logit_bias', 'an object from token numbers to numbers, or a list of such pairs');
}
