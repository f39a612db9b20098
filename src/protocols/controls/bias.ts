import type { GenerationRequest } from '../../core/request.ts';
import { looseNumber } from '../fields/loose.ts';
import { clamp, described, isObject, type Read, readText, wrong } from '../fields/readers.ts';
import { textSchema } from '../fields/schemas.ts';

const limits = { entries: 512, bans: 10_000, bias: 100 };

type Bias = readonly [token: number, bias: number];

/** `logit_bias` and `custom_token_bans` say the same in two ways; a ban wins over a bias for the same token. */
export function joinBiases(...lists: readonly (readonly Bias[])[]): GenerationRequest['logitBias'] {
  return [...new Map(lists.flat())];
}

export const readBiases: Read<readonly Bias[]> = described(
  { type: 'object', additionalProperties: { type: 'number' } },
  (value, path) => {
    const refusal = () => wrong(path, 'an object from token numbers to numbers');
    if (!isObject(value)) throw refusal();
    const entries = Object.entries(value).slice(0, limits.entries);
    return entries.flatMap(([key, entry]): readonly Bias[] => {
      const token = tokenId(key);
      const bias = looseNumber(entry, path);
      if (token === undefined || Number.isNaN(bias)) throw refusal();
      return token >= 0 ? [[token, clamp(bias, -limits.bias, limits.bias)]] : [];
    });
  },
);

export const readBans: Read<readonly Bias[]> = described(textSchema, (value, path) => {
  const entries = readText(value, path).split(',', limits.bans + 1);
  if (entries.length > limits.bans) throw wrong(path, `at most ${limits.bans} token numbers`);
  return entries.flatMap((entry): readonly Bias[] => {
    if (entry.trim() === '') return [];
    const token = tokenId(entry);
    if (token === undefined) throw wrong(path, 'token numbers with commas between');
    return token >= 0 ? [[token, -limits.bias]] : [];
  });
});

function tokenId(text: string): number | undefined {
  return /^\s*[+-]?\d{1,9}\s*$/.test(text) ? Number(text) : undefined;
}
