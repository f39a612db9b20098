import { spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type AudioChunk, type DecodeOptions, undecodable, unreadable } from './decoder.ts';

const rate = 16_000;
/** ffmpeg writes every few milliseconds while it decodes. */
const defaultTimeoutMs = 20_000;

/**
 * Decodes AAC with ffmpeg if it is installed, because there is no decoder that Parley may ship. ffmpeg reads the elementary
 * stream from a pipe: no file, no container, no URL that it could follow.
 */
export async function* decodeAac(
  frames: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  feature: string,
  { signal, ffmpeg = 'ffmpeg', ffmpegTimeoutMs = defaultTimeoutMs }: DecodeOptions,
): AsyncGenerator<AudioChunk> {
  signal.throwIfAborted();
  const form = ['-ac', '1', '-ar', String(rate), '-f', 'f32le', 'pipe:1'];
  const child = spawn(ffmpeg, ['-hide_banner', '-loglevel', 'error', '-f', 'aac', '-i', 'pipe:0', ...form], {
    stdio: ['pipe', 'pipe', 'ignore'],
    windowsHide: true,
  });
  const ended = new Promise<number | 'missing' | 'killed'>((resolve) => {
    child.on('error', ({ code }: NodeJS.ErrnoException) => {
      resolve(code === 'ENOENT' || code === 'EACCES' ? 'missing' : 'killed');
    });
    child.once('close', (code) => resolve(code ?? 'killed'));
  });
  const stop = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', stop, { once: true });
  let isStalled = false;
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
    if (end === 'missing') throw undecodable(feature, 'it takes the program ffmpeg, which is not installed here');
    if (end !== 0) throw unreadable('ffmpeg could not decode its AAC sound');
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
}

/**
 * Puts an ADTS header before each AAC packet. The result is an elementary stream that can be decoded without a container and
 * without seeking.
 */
export async function* adtsFrames(config: Uint8Array, packets: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
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
