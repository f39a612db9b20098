/** A line of a file, or that there is one that is too long to be read. */
export type Line =
  | { readonly number: number; readonly bytes: Buffer }
  | { readonly number: number; readonly tooLong: true };

const newline = 0x0a;

/** The lines of a file with their numbers, from 1, in memory one at a time. Empty ones are left out. */
export async function* linesOf(content: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Line> {
  let number = 1;
  let buffered: Buffer[] = [];
  let length = 0;
  const line = (): Line | undefined => {
    const bytes = Buffer.concat(buffered);
    const own: Line = length > maxBytes ? { number, tooLong: true } : { number, bytes };
    const isEmpty = length === 0 || (length <= maxBytes && bytes.toString('latin1').trim() === '');
    buffered = [];
    length = 0;
    number += 1;
    return isEmpty ? undefined : own;
  };
  const take = (piece: Uint8Array): void => {
    length += piece.length;
    // The bytes of a line that is too long are counted, not buffered.
    if (length <= maxBytes) buffered.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
    else buffered = [];
  };
  for await (const chunk of content) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      take(chunk.subarray(start, end));
      start = end + 1;
      const whole = line();
      if (whole) yield whole;
    }
    take(chunk.subarray(start));
  }
  const last = line();
  if (last) yield last;
}
