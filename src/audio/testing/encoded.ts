import encodeFlac from '@audio/encode-flac';
import encodeMp3 from '@audio/encode-mp3';
import encodeOpus from '@audio/encode-opus';
import {
  ALL_FORMATS,
  BufferSource,
  BufferTarget,
  EncodedAudioPacketSource,
  EncodedPacketSink,
  Input,
  Mp4OutputFormat,
  Output,
  type OutputFormat,
  WebMOutputFormat,
} from 'mediabunny';

interface Encoder {
  encode(channels: Float32Array[]): Uint8Array;
  flush(): Uint8Array;
  free(): void;
}

async function encoded(opening: Promise<Encoder>, channels: Float32Array[]): Promise<Buffer> {
  const encoder = await opening;
  const file = Buffer.concat([Uint8Array.from(encoder.encode(channels)), Uint8Array.from(encoder.flush())]);
  encoder.free();
  return file;
}

export function mp3File(channels: Float32Array[], sampleRate: number): Promise<Buffer> {
  return encoded(encodeMp3({ sampleRate, channels: channels.length, bitrate: 96 }), channels);
}

export function flacFile(channels: Float32Array[], sampleRate: number): Promise<Buffer> {
  return encoded(encodeFlac({ sampleRate, channels: channels.length }), channels);
}

export function opusFile(channels: Float32Array[], sampleRate: number): Promise<Buffer> {
  return encoded(encodeOpus({ sampleRate, channels: channels.length, bitrate: 48 }), channels);
}

export const webmOf = (file: Buffer): Promise<Buffer> => repacked(file, new WebMOutputFormat());
export const mp4Of = (file: Buffer): Promise<Buffer> => repacked(file, new Mp4OutputFormat());

/** The same packets in another container. */
async function repacked(file: Buffer, format: OutputFormat): Promise<Buffer> {
  const input = new Input({ source: new BufferSource(file), formats: ALL_FORMATS });
  const track = await input.getPrimaryAudioTrack();
  const decoderConfig = await track?.getDecoderConfig();
  if (!track?.codec || !decoderConfig) throw new Error('nothing to repack');
  const target = new BufferTarget();
  const output = new Output({ format, target });
  const source = new EncodedAudioPacketSource(track.codec);
  output.addAudioTrack(source);
  await output.start();
  for await (const packet of new EncodedPacketSink(track).packets()) await source.add(packet, { decoderConfig });
  await output.finalize();
  return Buffer.from(target.buffer ?? new ArrayBuffer(0));
}

/** An MP4 file that says that it holds AAC, of packets that are none. */
export async function mp4WithAac(packets: readonly Uint8Array[]): Promise<Buffer> {
  const { EncodedPacket } = await import('mediabunny');
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat(), target });
  const source = new EncodedAudioPacketSource('aac');
  output.addAudioTrack(source);
  await output.start();
  // LC, 44.1 kHz, two channels.
  const description = Uint8Array.of(0x12, 0x10);
  const decoderConfig = { codec: 'mp4a.40.2', sampleRate: 44_100, numberOfChannels: 2, description };
  for (const [index, packet] of packets.entries()) {
    const length = 1024 / 44_100;
    await source.add(new EncodedPacket(packet, 'key', index * length, length), { decoderConfig });
  }
  await output.finalize();
  return Buffer.from(target.buffer ?? new ArrayBuffer(0));
}

export interface QuietFlac {
  readonly frames: number;
  /** Samples of each frame, up to 65,535. */
  readonly block?: number;
  readonly rate?: 16_000 | 44_100;
  /** The length that the head tells, in samples; 0 for one that is not known. */
  readonly promised?: number;
  /** Between the head and the first frame. */
  readonly metadata?: Buffer;
}

/** Silence as FLAC, written by hand: some 13 bytes for each frame, however many samples it has. */
export function quietFlac({ frames, block = 65_535, rate = 16_000, promised, metadata }: QuietFlac): Buffer {
  const info = Buffer.alloc(42);
  info.write('fLaC', 0, 'latin1');
  info.writeUInt32BE((metadata ? 0 : 0x80000000) + 34, 4);
  info.writeUInt16BE(block, 8);
  info.writeUInt16BE(block, 10);
  // 20 bits of rate, 3 of channels (less 1), 5 of bits a sample (less 1), 36 of length.
  const length = promised ?? frames * block;
  info.writeUInt32BE(rate * 4096 + 15 * 16 + Math.floor(length / 2 ** 32), 18);
  info.writeUInt32BE(length % 2 ** 32, 22);
  return Buffer.concat([info, metadata ?? Buffer.alloc(0), ...Array.from({ length: frames }, (_, n) => frame(n))]);

  function frame(number: number): Buffer {
    const head = [0xff, 0xf8, 0x70 | (rate === 16_000 ? 5 : 9), 0x08, ...utf8Number(number), (block - 1) >> 8];
    head.push((block - 1) & 0xff);
    head.push(crc(head, 8, 0x07));
    // One channel, one value for all samples.
    const body = [...head, 0, 0, 0];
    const sum = crc(body, 16, 0x8005);
    return Buffer.from([...body, sum >> 8, sum & 0xff]);
  }
}

/** As characters are written. */
function utf8Number(value: number): readonly number[] {
  if (value < 0x80) return [value];
  if (value < 0x800) return [0xc0 | (value >> 6), 0x80 | (value & 0x3f)];
  return [0xe0 | (value >> 12), 0x80 | ((value >> 6) & 0x3f), 0x80 | (value & 0x3f)];
}

function crc(bytes: readonly number[], bits: 8 | 16, polynomial: number): number {
  const top = 1 << (bits - 1);
  let sum = 0;
  for (const byte of bytes) {
    sum ^= byte << (bits - 8);
    for (let bit = 0; bit < 8; bit++) sum = (sum & top ? (sum << 1) ^ polynomial : sum << 1) & (2 * top - 1);
  }
  return sum;
}
