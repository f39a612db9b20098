import type { AudioChunks } from '../decoder.ts';
import { concat, MonoMixer } from '../resample.ts';

/** A tone, beginning with 0. */
export function sine(hertz: number, rate: number, seconds: number, loudness = 0.5): Float32Array {
  const length = Math.round(rate * seconds);
  return Float32Array.from({ length }, (_, index) => loudness * Math.sin((2 * Math.PI * hertz * index) / rate));
}

/** How much of a tone is in there: the loudness that it has, without the ends. */
export function loudnessOf(hertz: number, rate: number, samples: Float32Array): number {
  const inner = samples.subarray(Math.floor(samples.length * 0.1), Math.ceil(samples.length * 0.9));
  let [real, imaginary] = [0, 0];
  inner.forEach((sample, index) => {
    const angle = (2 * Math.PI * hertz * index) / rate;
    const window = 1 - Math.cos((2 * Math.PI * index) / inner.length);
    real += sample * window * Math.cos(angle);
    imaginary += sample * window * Math.sin(angle);
  });
  return (2 * Math.hypot(real, imaginary)) / inner.length;
}

/** Comparing them entry by entry takes a second for a few of sound. */
export function sameSamples(one: Float32Array, other: Float32Array): boolean {
  const bytes = ({ buffer, byteOffset, byteLength }: Float32Array) => Buffer.from(buffer, byteOffset, byteLength);
  return bytes(one).equals(bytes(other));
}

export function rms(samples: Float32Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, samples.length));
}

export interface WavShape {
  readonly kind?: number;
  readonly bits?: number;
  readonly isBig?: boolean;
  /** Written over what is true. */
  readonly dataSize?: number;
  readonly magic?: string;
  readonly extensible?: boolean;
  /** Chunks between the format and the sound. */
  readonly between?: Buffer;
}

/** A WAV file of 16-bit samples, or of whatever the shape says. */
export function wavFile(channels: readonly Float32Array[], rate: number, shape: WavShape = {}): Buffer {
  const { kind = 1, bits = 16, isBig = false, extensible = false, between = Buffer.alloc(0) } = shape;
  const bytes = Math.ceil(bits / 8);
  const frames = channels[0]?.length ?? 0;
  const data = Buffer.alloc(frames * channels.length * bytes);
  channels.forEach((samples, channel) => {
    samples.forEach((sample, index) => {
      writeSample(data, (index * channels.length + channel) * bytes, sample, kind, bits, isBig);
    });
  });
  const short = (value: number) => number(value, 2, isBig);
  const long = (value: number) => number(value, 4, isBig);
  const extension = extensible ? [short(22), short(bits), long(0), short(kind), Buffer.alloc(14)] : [];
  const format = Buffer.concat([
    short(extensible ? 0xfffe : kind),
    short(channels.length),
    long(rate),
    long(rate * channels.length * bytes),
    short(channels.length * bytes),
    short(bits),
    ...extension,
  ]);
  const chunks = [
    Buffer.from('WAVEfmt '),
    long(format.length),
    format,
    between,
    Buffer.from('data'),
    long(shape.dataSize ?? data.length),
    data,
  ];
  const rest = Buffer.concat(chunks);
  return Buffer.concat([Buffer.from(shape.magic ?? (isBig ? 'RIFX' : 'RIFF')), long(rest.length), rest]);
}

export function wavChunk(name: string, content: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(name),
    number(content.length, 4, false),
    content,
    Buffer.alloc(content.length % 2),
  ]);
}

function number(value: number, bytes: 2 | 4, isBig: boolean): Buffer {
  const buffer = Buffer.alloc(bytes);
  if (isBig) buffer.writeUIntBE(value, 0, bytes);
  else buffer.writeUIntLE(value, 0, bytes);
  return buffer;
}

function writeSample(data: Buffer, place: number, sample: number, kind: number, bits: number, isBig: boolean): void {
  if (kind === 3 && bits === 64) isBig ? data.writeDoubleBE(sample, place) : data.writeDoubleLE(sample, place);
  else if (kind === 3) isBig ? data.writeFloatBE(sample, place) : data.writeFloatLE(sample, place);
  else if (kind !== 1) data[place] = sample;
  else if (bits === 8) data[place] = Math.round(sample * 127) + 128;
  else {
    const bytes = bits / 8;
    const value = Math.round(sample * (2 ** (bits - 1) - 1));
    if (isBig) data.writeIntBE(value, place, bytes);
    else data.writeIntLE(value, place, bytes);
  }
}

/** Mixes a short recording to one array. */
export async function monoSamples(chunks: AudioChunks, rate: number): Promise<Float32Array> {
  const mixer = new MonoMixer(rate);
  const parts: Float32Array[] = [];
  for await (const chunk of chunks) parts.push(mixer.push(chunk));
  return concat(...parts, mixer.end());
}
