/** Behind the vocabulary stand these, which are never spoken. */
const specialTokens = 768;

/** The vocabulary of Moonshine, which is that of Llama, in the form that the recogniser reads: bytes in base64, and a number. */
export function tokensText(pieces: readonly string[]): string {
  const special = Array.from({ length: specialTokens }, (_, index) => `<<ST_${index}>>`);
  return [...pieces.map(bytesOf), ...special.map((name) => Buffer.from(name))]
    .map((bytes, id) => `${bytes.toString('base64')} ${id}\n`)
    .join('');
}

function bytesOf(piece: string): Buffer {
  const byte = /^<0x([0-9A-F]{2})>$/.exec(piece)?.[1];
  return byte === undefined ? Buffer.from(piece.replaceAll('▁', ' ')) : Buffer.from(byte, 'hex');
}
