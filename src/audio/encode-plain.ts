import type { EncodeOptions, SoundEncoder } from './encode.ts';
import { ResampledStream } from './encode-rate.ts';

const headBytes = 44;
const bytesPerSample = 2;
const unknownLength = 0xffffffff;

/** The rate that clients take for granted where no head tells it. */
const plainRate = 24_000;

/** Where the length cannot be told beforehand, the whole file is the last piece unless it is streamed. */
export function wavEncoder({ rate, streamed }: EncodeOptions): SoundEncoder {
  const pieces: Uint8Array[] = [];
  let begun = false;
  return {
    encode: (samples) => {
      const bytes = int16Bytes(samples);
      if (!streamed) {
        pieces.push(bytes);
        return nothing;
      }
      const head = begun ? nothing : wavHead(rate, unknownLength);
      begun = true;
      return Buffer.concat([head, bytes]);
    },
    finish: () => {
      if (streamed) return begun ? nothing : wavHead(rate, unknownLength);
      const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
      return Buffer.concat([wavHead(rate, length), ...pieces]);
    },
    close: () => {
      pieces.length = 0;
    },
  };
}

/** Bare samples: 16 bits, little end first. */
export function pcmEncoder(rate: number): SoundEncoder {
  const resampled = new ResampledStream(rate, plainRate);
  return {
    encode: (samples) => int16Bytes(resampled.take(samples)),
    finish: () => int16Bytes(resampled.rest()),
    close: () => {},
  };
}

/** The head of a WAV file; a length that is not known is said to be the largest there is, which players take for "to the end". */
function wavHead(rate: number, dataBytes: number): Uint8Array {
  const head = Buffer.alloc(headBytes);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(dataBytes === unknownLength ? unknownLength : dataBytes + headBytes - 8, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate * bytesPerSample, 28);
  head.writeUInt16LE(bytesPerSample, 32);
  head.writeUInt16LE(8 * bytesPerSample, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(dataBytes, 40);
  return head;
}

function int16Bytes(samples: Float32Array): Uint8Array {
  const bytes = new Uint8Array(samples.length * bytesPerSample);
  const view = new DataView(bytes.buffer);
  for (let index = 0; index < samples.length; index++) {
    const sample = Math.max(-1, Math.min(1, samples[index] || 0));
    view.setInt16(index * bytesPerSample, Math.round(sample * 32_767), true);
  }
  return bytes;
}

const nothing = new Uint8Array(0);
