import type { BufferSource, InputAudioTrack } from 'mediabunny';
import { adtsFrames, decodeAac } from './decode-aac.ts';
import {
  type AudioChunk,
  type DecodeOptions,
  type DurationLimit,
  decodeSlices,
  undecodable,
  unreadable,
} from './decoder.ts';

/** Two seconds of typical packets. */
const packetsPerCall = 100;

/** Consecutive reads of the same bytes. */
const maxRepeats = 1000;

/** Decodes the first audio track of WebM, Matroska or MP4. */
export async function* decodeContainer(
  bytes: Uint8Array,
  limit: DurationLimit,
  options: DecodeOptions,
): AsyncGenerator<AudioChunk> {
  const { BufferSource, Input, MATROSKA, MP4, QTFF, WEBM } = await import('mediabunny');
  const source = withReadLimit(new BufferSource(bytes), bytes.length);
  const input = new Input({ source, formats: [WEBM, MATROSKA, MP4, QTFF] });
  const track = await input.getPrimaryAudioTrack();
  if (!track) throw unreadable('this file holds no sound');
  limit.checkDeclared(((await track.getDurationFromMetadata()) ?? 0) * 1000, 1000);
  const { codec } = track;
  if (codec === 'opus') yield* decodeOpus(track);
  else if (codec === 'mp3') yield* decodeMp3(track);
  else if (codec === 'aac') {
    const config = (await track.getDecoderConfig())?.description;
    yield* decodeAac(adtsFrames(bytesOf(config), packets(track)), 'An MP4 file with AAC sound', options);
  } else throw undecodable(`Sound in the codec ${codec ?? 'that nobody knows'}`, 'convert it');
}

/**
 * Throws when the parser reads too often. On some broken files mediabunny searches for the next element in an endless loop without
 * yielding, so that neither a timer nor an abort signal could end it.
 */
function withReadLimit(source: BufferSource, length: number): BufferSource {
  const reads = source as unknown as { _read(start: number, end: number, ...rest: unknown[]): unknown };
  const read = reads._read.bind(source);
  const maxReads = 100_000 + 4 * length;
  let count = 0;
  let repeats = 0;
  let last = '';
  reads._read = (start, end, ...rest) => {
    const place = `${start} ${end}`;
    repeats = place === last ? repeats + 1 : 0;
    last = place;
    if (++count > maxReads || repeats > maxRepeats) throw new Error('the file is read in circles');
    return read(start, end, ...rest);
  };
  return source;
}

async function* decodeOpus(track: InputAudioTrack): AsyncGenerator<AudioChunk> {
  const { OpusDecoder } = await import('opus-decoder');
  const head = bytesOf((await track.getDecoderConfig())?.description);
  const decoder = new OpusDecoder(opusLayout(head, track.numberOfChannels));
  await decoder.ready;
  try {
    for await (const frames of bundles(packets(track))) {
      const { channelData, sampleRate } = decoder.decodeFrames(frames);
      yield { channels: channelData, rate: sampleRate };
    }
  } finally {
    decoder.free();
  }
}

function decodeMp3(track: InputAudioTrack): AsyncGenerator<AudioChunk> {
  return decodeSlices(packets(track), async () => (await import('@audio/decode-mp3')).decoder());
}

async function* packets(track: InputAudioTrack): AsyncGenerator<Uint8Array> {
  const { EncodedPacketSink } = await import('mediabunny');
  for await (const { data } of new EncodedPacketSink(track).packets()) yield data;
}

async function* bundles(all: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array[]> {
  let bundle: Uint8Array[] = [];
  for await (const packet of all) {
    bundle.push(packet);
    if (bundle.length < packetsPerCall) continue;
    yield bundle;
    bundle = [];
  }
  if (bundle.length > 0) yield bundle;
}

function bytesOf(source: ArrayBufferView | ArrayBufferLike | undefined): Uint8Array {
  if (source === undefined) return new Uint8Array(0);
  return ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
    : new Uint8Array(source);
}

/** Bounds the memory that the decoder allocates. */
const maxChannels = 8;

interface OpusLayout {
  readonly channels: number;
  readonly streamCount: number;
  readonly coupledStreamCount: number;
  readonly channelMappingTable: number[];
  readonly preSkip: number;
}

/** Channel mapping of an Opus stream, from its OpusHead; the default mapping if that is missing. */
function opusLayout(head: Uint8Array, defaultChannels: number): OpusLayout {
  const channels = head[9] || defaultChannels;
  if (channels > maxChannels) throw unreadable(`this file says that it has ${channels} channels`);
  const preSkip = (head[10] ?? 0) | ((head[11] ?? 0) << 8);
  const [family = 0, streamCount = 1, coupledStreamCount = 0] = head.subarray(18, 21);
  if (family !== 0 && head.length >= 21 + channels) {
    const channelMappingTable = [...head.subarray(21, 21 + channels)];
    return { channels, streamCount, coupledStreamCount, channelMappingTable, preSkip };
  }
  const isStereo = channels >= 2;
  return {
    channels: isStereo ? 2 : 1,
    streamCount: 1,
    coupledStreamCount: isStereo ? 1 : 0,
    channelMappingTable: isStereo ? [0, 1] : [0],
    preSkip,
  };
}
