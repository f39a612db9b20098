/** What must be alike in two vocabularies for the guesses of one model to mean anything to the other. */
export interface TokenTexts {
  readonly size: number;
  bytes(token: number, renderSpecial: boolean): Uint8Array;
}

/** Sizes of one family differ by a little padding behind the last real token. */
const padding = 128;
const samples = 512;

/** Undefined where the two agree, and otherwise a sentence about where they part. */
export function disagreement(model: TokenTexts, draft: TokenTexts): string | undefined {
  if (Math.abs(model.size - draft.size) > padding) {
    return `it has ${draft.size} tokens and the model has ${model.size}`;
  }
  const common = Math.min(model.size, draft.size) - (model.size === draft.size ? 0 : padding);
  const step = Math.max(1, Math.floor(common / samples));
  for (let token = 0; token < common; token += step) {
    const [theirs, ours] = [draft, model].map((one) => Buffer.from(one.bytes(token, true)).toString());
    if (theirs !== ours) return `token ${token} is ${JSON.stringify(theirs)} there and ${JSON.stringify(ours)} here`;
  }
  return undefined;
}
