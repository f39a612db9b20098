import { spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { BufferSource, InputAudioTrack } from 'mediabunny';
import { AppError } from '../core/errors.ts';
import { type StartFailure, startFailure } from '../core/processes.ts';
import { type AudioChunk, type DecodeOptions, type Decoder, decodeSlices, undecodable, unreadable } from './decoder.ts';

/** Two seconds of typical packets. */
const packetsPerCall = 100;

/** Consecutive reads of the same bytes. */
const maxRepeats = 1000;

/** Decodes the first audio track of WebM, Matroska or MP4. */
export const decodeContainer: Decoder = async function* (bytes, limit, options) {
  const { BufferSource, Input, MATROSKA, MP4, QTFF, WEBM } = await import('mediabunny');
  const source = withReadLimit(new BufferSource(bytes), bytes.length);
  const input = new Input({ source, formats: [WEBM, MATROSKA, MP4, QTFF] });
  const track = await input.getPrimaryAudioTrack();
  if (!track) throw unreadable('this file holds no sound');
  limit.checkDeclared(((await track.getDurationFromMetadata()) ?? 0) * 1000, 1000);
  const { codec } = track;
  if (codec === 'opus') yield* decodeOpus(track);
  else if (codec === 'mp3') yield* decodeSlices(packets(track), () => import('@audio/decode-mp3'));
  else if (codec === 'aac') {
    const config = (await track.getDecoderConfig())?.description;
    yield* decodeAac(adtsFrames(bytesOf(config), packets(track)), 'An MP4 file with AAC sound', options);
  } else throw undecodable(`Sound in ${codec ? `the codec ${codec}` : 'an unknown codec'}`, 'convert it');
};

/** Throws when the parser reads too often: on some broken files mediabunny loops forever without yielding. */
function withReadLimit(source: BufferSource, length: number): BufferSource {
  const reads = source as unknown as { _read(start: number, end: number, ...rest: unknown[]): unknown };
  const read = reads._read.bind(source);
  const maxReads = 100_000 + 4 * length;
  let count = 0;
  let repeats = 0;
  let last = '';
  reads._read = (start, end, ...rest) => {
    const range = `${start} ${end}`;
    repeats = range === last ? repeats + 1 : 0;
    last = range;
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

/** Channel mapping of an Opus stream, from its OpusHead; the default mapping if that is missing. */
function opusLayout(head: Uint8Array, defaultChannels: number) {
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

const rate = 16_000;
/** ffmpeg writes every few milliseconds while it decodes. */
const defaultTimeoutMs = 20_000;

/** Decodes AAC with ffmpeg, because Parley may ship no decoder. It reads a pipe: no file, no URL to follow. */
export async function* decodeAac(
  frames: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  feature: string,
  { signal, ffmpeg = 'ffmpeg', ffmpegTimeoutMs = defaultTimeoutMs }: DecodeOptions,
  start: typeof spawn = spawn,
): AsyncGenerator<AudioChunk> {
  signal.throwIfAborted();
  const form = ['-ac', '1', '-ar', String(rate), '-f', 'f32le', 'pipe:1'];
  const child = start(ffmpeg, ['-hide_banner', '-loglevel', 'error', '-f', 'aac', '-i', 'pipe:0', ...form], {
    stdio: ['pipe', 'pipe', 'ignore'],
    windowsHide: true,
  });
  const ended = new Promise<number | 'missing' | 'killed' | StartFailure>((resolve) => {
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (child.pid === undefined && startFailure(error).isPassing) resolve(startFailure(error));
      else resolve(error.code === 'ENOENT' || error.code === 'EACCES' ? 'missing' : 'killed');
    });
    child.once('close', (code) => resolve(code ?? 'killed'));
  });
  const stop = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', stop, { once: true });
  let isStalled = false;
  // Without file descriptors it has no pipes.
  if (!(child.stdin && child.stdout)) throw unstarted(await ended);
  // Fails if ffmpeg exits early; its exit code is reported below.
  pipeline(Readable.from(frames), child.stdin).catch(() => undefined);
  try {
    let rest = Buffer.alloc(0);
    const chunks = child.stdout[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    for (;;) {
      // Runs only during the read: ffmpeg also pauses while its output is not consumed.
      const timeout = setTimeout(() => {
        isStalled = true;
        stop();
      }, ffmpegTimeoutMs);
      const next = await chunks.next().finally(() => clearTimeout(timeout));
      if (next.done) break;
      const bytes = Buffer.concat([rest, next.value]);
      const whole = bytes.length - (bytes.length % 4);
      rest = bytes.subarray(whole);
      const samples = Float32Array.from({ length: whole / 4 }, (_, index) => bytes.readFloatLE(index * 4));
      if (samples.length > 0) yield { channels: [samples], rate };
    }
    const end = await ended;
    signal.throwIfAborted();
    if (isStalled) throw unreadable(`ffmpeg gave no sound for ${ffmpegTimeoutMs / 1000} seconds and was ended`);
    if (typeof end === 'object') throw unstarted(end);
    if (end === 'missing') throw undecodable(feature, 'it takes the program ffmpeg, which is not installed here');
    if (end !== 0) throw unreadable('ffmpeg could not decode its AAC sound');
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
}

function unstarted(end: unknown): AppError {
  const { reason } = end as StartFailure;
  return new AppError('engine-down', { capability: 'audio', reason: `ffmpeg: ${reason}`, retryAfterSeconds: 5 });
}

/** Puts an ADTS header before each AAC packet, so that they can be decoded without a container and without seeking. */
async function* adtsFrames(config: Uint8Array, packets: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const [first = 0, second = 0] = config;
  const kind = first >> 3;
  const rateIndex = ((first & 7) << 1) | (second >> 7);
  const channels = (second >> 3) & 15;
  if (config.length < 2 || kind === 0 || rateIndex > 12)
    throw unreadable('its AAC sound tells nowhere how it is stored');
  // Decoders detect the extensions (SBR, PS) in the packets; ADTS has only the base profile.
  const profile = (kind <= 4 ? kind : 2) - 1;
  for await (const packet of packets) {
    const length = packet.length + 7;
    yield Uint8Array.of(
      0xff,
      0xf1,
      (profile << 6) | (rateIndex << 2) | (channels >> 2),
      ((channels & 3) << 6) | (length >> 11),
      (length >> 3) & 0xff,
      ((length & 7) << 5) | 0x1f,
      0xfc,
    );
    yield packet;
  }
}
