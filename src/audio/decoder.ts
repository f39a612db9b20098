import { AppError } from '../core/errors.ts';

/** Part of a recording. All channels have the same number of samples, between -1 and 1. */
export interface AudioChunk {
  readonly channels: readonly Float32Array[];
  /** Sample rate in Hz. It may differ between chunks, because files may be concatenated. */
  readonly rate: number;
}

export type AudioChunks = AsyncIterable<AudioChunk> | Iterable<AudioChunk>;

export interface DecodeOptions {
  readonly signal: AbortSignal;
  /** Longer recordings are rejected. */
  readonly maxSeconds: number;
  /** Path of ffmpeg, which decodes AAC if it is installed. */
  readonly ffmpeg?: string | undefined;
  /** Time-out for the next output of ffmpeg. */
  readonly ffmpegTimeoutMs?: number;
}

/** Reads one character per byte. Stops at the end of the bytes. */
export function ascii(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1', start, end);
}

/** Formats that need no other program. */
const readableFormats = 'WAV, MP3, FLAC, Ogg (Opus, Vorbis, FLAC) or WebM (Opus)';

/** Error for invalid input. `found` says what was sent instead; it follows "and" in the message. */
export function unreadable(found: string, cause?: unknown): AppError {
  const expected = `a recording in ${readableFormats}, and ${found}`;
  return new AppError('invalid-field', { field: 'file', expected }, { cause });
}

/** Error for valid audio in a codec that has no decoder here. */
export function undecodable(feature: string, instead: string): AppError {
  const details = { feature, instead: `${instead}, or send ${readableFormats}`, field: 'file' };
  return new AppError('unsupported', details);
}

const sampleRates = { min: 1000, max: 768_000 };

/** Limits the duration: of what the file declares, before it is decoded, and of what was decoded. */
export class DurationLimit {
  #seconds = 0;

  constructor(private readonly maxSeconds: number) {}

  /** `samples` is 0 if the file declares no duration. */
  checkDeclared(samples: number, rate: number): void {
    if (samples === 0) return;
    checkRate(rate);
    const seconds = samples / rate;
    if (seconds > this.maxSeconds) throw this.#tooLong(seconds);
  }

  count(samples: number, rate: number): void {
    checkRate(rate);
    this.#seconds += samples / rate;
    if (this.#seconds > this.maxSeconds) throw this.#tooLong();
  }

  #tooLong(seconds?: number): AppError {
    const found = seconds === undefined ? '' : `, and this one is ${(seconds / 3600).toFixed(1)} hours long`;
    const expected = `a recording of at most ${this.maxSeconds / 3600} hours${found}; cut it into parts`;
    return new AppError('invalid-field', { field: 'file', expected });
  }
}

function checkRate(rate: number): void {
  if (Number.isInteger(rate) && rate >= sampleRates.min && rate <= sampleRates.max) return;
  throw unreadable(`this one says that it has ${rate} samples a second`);
}

/** Common interface of the WebAssembly decoders. */
interface StreamDecoder {
  decode(bytes: Uint8Array): Decoded;
  flush?(): Decoded;
  free(): void;
}

interface Decoded {
  readonly channelData: Float32Array[];
  readonly sampleRate: number;
}

/** Imports the package of a decoder. */
type LoadDecoder = () => Promise<{ decoder(): Promise<StreamDecoder> }>;

/** Decodes a format. */
export type Decoder = (bytes: Uint8Array, limit: DurationLimit, options: DecodeOptions) => AudioChunks;

/** A decoder cannot be interrupted within a slice, and 1 KB of silence in Opus or Vorbis holds many samples. */
const sliceBytes = 1024;

export function* slicesOf(bytes: Uint8Array, size = sliceBytes): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

export async function* decodeSlices(
  slices: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  load: LoadDecoder,
): AsyncGenerator<AudioChunk> {
  const decoder = await (await load()).decoder();
  try {
    for await (const slice of slices) yield chunkOf(decoder.decode(slice));
    if (decoder.flush) yield chunkOf(decoder.flush());
  } finally {
    decoder.free();
  }
}

/** Decodes in slices. `declared` is the duration in seconds that the file declares. */
export const streamed =
  (load: LoadDecoder, declared: (bytes: Uint8Array) => number): Decoder =>
  (bytes, limit) => {
    limit.checkDeclared(declared(bytes) * 1000, 1000);
    return decodeSlices(slicesOf(bytes), load);
  };

function chunkOf({ channelData, sampleRate }: Decoded): AudioChunk {
  return { channels: channelData ?? [], rate: sampleRate };
}
