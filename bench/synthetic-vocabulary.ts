/** The kinds of tokens, as the tokenizer numbers them. */
const kind = { normal: 1, unknown: 2, control: 3, byte: 6 };
const space = '▁';
const letters = [...'etaoinshrdlucmfwygpbvkxqjz'];

/**
 * A vocabulary in the manner of SentencePiece: three special tokens, every byte, then pieces of up to three letters with
 * and without a space before them, then of four. Any text can be written with it, English at about three characters a token.
 */
export function syntheticVocabulary(
  size: number,
  byteTokens: 'bytes' | 'text' = 'bytes',
): { tokens: string[]; scores: number[]; types: number[] } {
  const tokens = ['<unk>', '<s>', '</s>'];
  const types = [kind.unknown, kind.control, kind.control];
  for (let byte = 0; byte < 256; byte += 1) {
    tokens.push(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
    types.push(byteTokens === 'bytes' ? kind.byte : kind.normal);
  }
  const special = tokens.length;
  for (const piece of pieces()) {
    if (tokens.length >= size) break;
    tokens.push(piece);
    types.push(kind.normal);
  }
  if (tokens.length < size) throw new RangeError(`vocabulary must be ${tokens.length} at most`);
  // Joins are made by score, so earlier (shorter, commoner) pieces are joined first.
  const scores = tokens.map((_, index) => (index < special ? 0 : special - index - 1));
  return { tokens, scores, types };
}

function* pieces(): Generator<string> {
  const marks = [...'.,;:!?\'"()[]{}<>-_+*/=#$%&@\\^`|~'];
  const digits = [...'0123456789'];
  const capitals = letters.map((letter) => letter.toUpperCase());
  yield* [space, ...letters, ...capitals, ...digits, ...marks];
  const spaced = [space, ''];
  for (const start of spaced) for (const a of letters) for (const b of letters) yield `${start}${a}${b}`;
  for (const a of [...letters, ...capitals]) yield `${space}${a}`;
  for (const start of spaced) {
    for (const a of letters) for (const b of letters) for (const c of letters) yield `${start}${a}${b}${c}`;
  }
  for (const a of letters) {
    for (const b of letters) for (const c of letters) for (const d of letters) yield `${a}${b}${c}${d}`;
  }
}
