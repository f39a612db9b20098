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
