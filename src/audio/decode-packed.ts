import type { BufferSource, InputAudioTrack } from 'mediabunny';
import type { DecodeTools } from './decode.ts';
import { readAac } from './decode-aac.ts';
import { adtsFrames } from './decode-adts.ts';
import { opusLayout } from './decode-opus-layout.ts';
import { inSlices } from './decode-slices.ts';
import type { LengthLimit } from './length.ts';
import type { SoundPiece } from './sound.ts';
import { undecodable, unreadable } from './unreadable.ts';

/** Two seconds of the usual packets. */
const packetsAtOnce = 100;

/** How often the same bytes are read in a row at most. */
const mostRepeats = 1000;

/** Sound in a container that may hold pictures too: WebM, Matroska, MP4. */
export async function* readPacked(
  bytes: Uint8Array,
  limit: LengthLimit,
  tools: DecodeTools,
): AsyncGenerator<SoundPiece> {
  const { BufferSource, Input, MATROSKA, MP4, QTFF, WEBM } = await import('mediabunny');
  const source = guarded(new BufferSource(bytes), bytes.length);
  const input = new Input({ source, formats: [WEBM, MATROSKA, MP4, QTFF] });
  const track = await input.getPrimaryAudioTrack();
  if (!track) throw unreadable('this file holds no sound');
  limit.promised(((await track.getDurationFromMetadata()) ?? 0) * 1000, 1000);
  const { codec } = track;
  if (codec === 'opus') yield* readOpus(track);
  else if (codec === 'mp3') yield* readMp3(track);
  else if (codec === 'aac') {
    const config = (await track.getDecoderConfig())?.description;
    yield* readAac(adtsFrames(bytesOf(config), packets(track)), 'An MP4 file with AAC sound', tools);
  } else throw undecodable(`Sound in the codec ${codec ?? 'that nobody knows'}`, 'convert it');
}

/**
 * The library looks for the next element of a broken file in a loop that never ends where none follows, reading the same
 * bytes again and again. Nothing outside of the loop runs meanwhile, so that it is ended from within: by its reads.
 */
function guarded(source: BufferSource, length: number): BufferSource {
  const reads = source as unknown as { _read(start: number, end: number, ...rest: unknown[]): unknown };
  const read = reads._read.bind(source);
  const most = 100_000 + 4 * length;
  let count = 0;
  let again = 0;
  let last = '';
  reads._read = (start, end, ...rest) => {
    const place = `${start} ${end}`;
    again = place === last ? again + 1 : 0;
    last = place;
    if (++count > most || again > mostRepeats) throw new Error('the file is read in circles');
    return read(start, end, ...rest);
  };
  return source;
}

async function* readOpus(track: InputAudioTrack): AsyncGenerator<SoundPiece> {
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

function readMp3(track: InputAudioTrack): AsyncGenerator<SoundPiece> {
  return inSlices(packets(track), async () => (await import('@audio/decode-mp3')).decoder());
}

async function* packets(track: InputAudioTrack): AsyncGenerator<Uint8Array> {
  const { EncodedPacketSink } = await import('mediabunny');
  for await (const { data } of new EncodedPacketSink(track).packets()) yield data;
}

async function* bundles(all: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array[]> {
  let bundle: Uint8Array[] = [];
  for await (const packet of all) {
    bundle.push(packet);
    if (bundle.length < packetsAtOnce) continue;
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
