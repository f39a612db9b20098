import { AppError } from '../../core/errors.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { JsonObject } from '../../http/body.ts';
import { clamp, isAbsent, isObject, readNumber, readText } from './fields.ts';

const limits = { entries: 512, bans: 10_000, bias: 100 };

/** `logit_bias` and `custom_token_bans` say the same in two ways; a ban wins over a bias for the same token. */
export function decodeBias(body: JsonObject): GenerationRequest['logitBias'] {
  return [...new Map([...biases(body.logit_bias), ...bans(readText(body, 'custom_token_bans'))])];
}

function* biases(value: unknown): Generator<[number, number]> {
  if (isAbsent(value)) return;
  if (!isObject(value)) throw refusal();
  for (const [key, entry] of Object.entries(value).slice(0, limits.entries)) {
    const token = tokenId(key);
    const bias = readNumber(entry, Number.NaN);
    if (token === undefined || Number.isNaN(bias)) throw refusal();
    if (token >= 0) yield [token, clamp(bias, -limits.bias, limits.bias)];
  }
}

function* bans(list: string): Generator<[number, number]> {
  const entries = list.split(',', limits.bans + 1);
  if (entries.length > limits.bans) {
    const expected = `at most ${limits.bans} token numbers`;
    throw new AppError('invalid-field', { field: 'custom_token_bans', expected });
  }
  for (const entry of entries) {
    if (entry.trim() === '') continue;
    const token = tokenId(entry);
    if (token === undefined) {
      throw new AppError('invalid-field', {
        field: 'custom_token_bans',
        expected: 'token numbers with commas between',
      });
    }
    if (token >= 0) yield [token, -limits.bias];
  }
}

function tokenId(text: string): number | undefined {
  return /^\s*[+-]?\d{1,9}\s*$/.test(text) ? Number(text) : undefined;
}

function refusal(): AppError {
  return new AppError('invalid-field', { field: 'logit_bias', expected: 'an object from token numbers to numbers' });
}
