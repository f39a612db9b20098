/** All bytes of a body. Throws what `tooLarge` returns as soon as there are more than the limit. */
export async function boundedBytes(
  body: AsyncIterable<Uint8Array | string>,
  limit: number,
  tooLarge: () => Error,
): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body) {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
    length += bytes.length;
    if (length > limit) throw tooLarge();
    pieces.push(bytes);
  }
  return Buffer.concat(pieces);
}
