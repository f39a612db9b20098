import { spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { DecodeTools } from './decode.ts';
import type { SoundPiece } from './sound.ts';
import { undecodable, unreadable } from './unreadable.ts';

const rate = 16_000;
/** It gives a piece every few milliseconds; one that is silent for this long will not go on. */
const usualSilenceMs = 20_000;

/**
 * AAC has no decoder that we may bring along; where ffmpeg is installed it does this. It is given the sound alone, by a
 * pipe: no file, no container, no address that it could follow.
 */
export async function* readAac(
  frames: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  feature: string,
  { signal, ffmpeg = 'ffmpeg', ffmpegSilenceMs = usualSilenceMs }: DecodeTools,
): AsyncGenerator<SoundPiece> {
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
  let isSilent = false;
  // One that ends early no longer reads; how it ended tells the rest.
  pipeline(Readable.from(frames), child.stdin).catch(() => undefined);
  try {
    let rest = Buffer.alloc(0);
    const chunks = child.stdout[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    for (;;) {
      // Only while it is waited for: one whose sound is not taken yet is silent, too.
      const silence = setTimeout(() => {
        isSilent = true;
        stop();
      }, ffmpegSilenceMs);
      const next = await chunks.next().finally(() => clearTimeout(silence));
      if (next.done) break;
      const bytes = Buffer.concat([rest, next.value]);
      const whole = bytes.length - (bytes.length % 4);
      rest = bytes.subarray(whole);
      const samples = Float32Array.from({ length: whole / 4 }, (_, index) => bytes.readFloatLE(index * 4));
      if (samples.length > 0) yield { channels: [samples], rate };
    }
    const end = await ended;
    signal.throwIfAborted();
    if (isSilent) throw unreadable(`ffmpeg gave no sound for ${ffmpegSilenceMs / 1000} seconds and was ended`);
    if (end === 'missing') throw undecodable(feature, 'it takes the program ffmpeg, which is not installed here');
    if (end !== 0) throw unreadable('ffmpeg could not decode its AAC sound');
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
}
