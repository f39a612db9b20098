/** A file is given to the decoder in parts of whole frames with no more samples than this, unless one frame alone has more. */
const mostSamples = 2 ** 17;
/** What only looks like frames costs the decoder time for each of them. */
const mostFrames = 64;
/** Longer than any frame that is written in practice. */
const longestPart = 2 ** 18;

/**
 * The frames of a FLAC file in parts, since few bytes may hold much sound: silence takes some 13 bytes for up to 65,535
 * samples. Parts begin with a frame, because the decoder loses one whose header is cut in two.
 */
export function* flacParts(bytes: Uint8Array): Generator<Uint8Array> {
  let start = 0;
  let [samples, frames] = [0, 0];
  for (let place = 0; place < bytes.length; ) {
    const block = blockSize(bytes, place);
    if (block === undefined) {
      place = bytes.indexOf(0xff, place + 1);
      if (place === -1) place = bytes.length;
    } else {
      if (frames > 0 && (samples + block > mostSamples || frames === mostFrames)) {
        yield bytes.subarray(start, place);
        start = place;
        [samples, frames] = [0, 0];
      }
      samples += block;
      frames++;
      place += shortestHeader;
    }
    for (; place - start > longestPart; start += longestPart) yield bytes.subarray(start, start + longestPart);
  }
  if (start < bytes.length) yield bytes.subarray(start);
}

/** Two bytes of sync, two of codes, one of the frame's number and one of the sum. */
const shortestHeader = 6;

/** How many samples of each channel the frame has that begins here; undefined where none does. */
function blockSize(bytes: Uint8Array, start: number): number | undefined {
  const [first, second = 0, third = 0, fourth = 0, fifth = 0] = bytes.subarray(start, start + 5);
  if (first !== 0xff || (second & 0xfe) !== 0xf8 || (fourth & 1) !== 0) return undefined;
  const code = third >> 4;
  const rate = third & 15;
  if (code === 0 || rate === 15) return undefined;
  // The number of the frame is written like a character, in up to seven bytes.
  const numberBytes = fifth < 0x80 ? 1 : Math.clz32(~(fifth << 24));
  let place = start + 4 + numberBytes;
  const extra = (length: number): number => {
    let value = 0;
    for (const end = place + length; place < end; place++) value = value * 256 + (bytes[place] ?? 0);
    return value;
  };
  const block = code === 6 ? extra(1) + 1 : code === 7 ? extra(2) + 1 : usualBlock(code);
  extra(rate === 12 ? 1 : rate > 12 ? 2 : 0);
  return place < bytes.length && crc8(bytes, start, place) === bytes[place] ? block : undefined;
}

function usualBlock(code: number): number {
  if (code === 1) return 192;
  return code < 6 ? 576 * 2 ** (code - 2) : 256 * 2 ** (code - 8);
}

function crc8(bytes: Uint8Array, start: number, end: number): number {
  let sum = 0;
  for (let place = start; place < end; place++) {
    sum ^= bytes[place] ?? 0;
    for (let bit = 0; bit < 8; bit++) sum = sum & 0x80 ? ((sum << 1) ^ 0x07) & 0xff : sum << 1;
  }
  return sum;
}
