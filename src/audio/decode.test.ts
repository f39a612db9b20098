import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { decodeAudio } from './decode.ts';
import type { DecodeOptions } from './decoder.ts';
import { flacFile, mp3File, mp4Of, mp4WithAac, opusFile, quietFlac, webmOf } from './testing/encoded.ts';
import { loudnessOf, monoSamples, rms, sine, wavFile } from './testing/waves.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-decode-'));
afterAll(() => rmSync(folder, { recursive: true }));

const signal = new AbortController().signal;
const nowhere = join(folder, 'no-such-program');

function heard(file: Uint8Array, own: Partial<DecodeOptions> = {}) {
  return monoSamples(decodeAudio(file, { signal, maxSeconds: 60, ffmpeg: nowhere, ...own }), 16_000);
}

const seconds = 1.5;
const mono = (rate: number) => [sine(440, rate, seconds)];
const stereo = (rate: number) => [sine(440, rate, seconds), sine(440, rate, seconds)];

async function expectTone(file: Uint8Array, loudness = 0.5): Promise<void> {
  const sound = await heard(file);
  expect(Math.abs(sound.length / 16_000 - seconds)).toBeLessThan(0.12);
  expect(Math.abs(loudnessOf(440, 16_000, sound) - loudness)).toBeLessThan(0.06);
  expect(rms(sound)).toBeGreaterThan(loudness / 2);
}

describe('decodeAudio: keeps a tone', () => {
  test.each([8000, 16_000, 22_050, 44_100, 48_000])('WAV at %i Hz, one channel and two', async (rate) => {
    await expectTone(wavFile(mono(rate), rate));
    await expectTone(wavFile(stereo(rate), rate));
  });

  test.each([16_000, 44_100, 48_000])('MP3 and FLAC at %i Hz', async (rate) => {
    await expectTone(await mp3File(mono(rate), rate));
    await expectTone(await flacFile(mono(rate), rate));
    await expectTone(await flacFile(stereo(rate), rate));
  });

  test('Opus in Ogg, WebM and MP4', async () => {
    const file = await opusFile(mono(48_000), 48_000);
    await expectTone(file);
    await expectTone(await webmOf(file));
    await expectTone(await mp4Of(file));
    await expectTone(await webmOf(await opusFile(stereo(48_000), 48_000)));
  });

  test('MP3 in MP4, and after an ID3 tag', async () => {
    const file = await mp3File(mono(44_100), 44_100);
    await expectTone(await mp4Of(file));
    await expectTone(Buffer.concat([Buffer.from('ID3\x04\x00\x00\x00\x00\x01\x00'), Buffer.alloc(128), file]));
  });

  test('decodeAudio: channels are mixed', async () => {
    const [tone] = mono(16_000) as [Float32Array];
    const sound = await heard(wavFile([tone, tone.map((sample) => -sample)], 16_000));
    expect(rms(sound)).toBeLessThan(0.001);
  });
});

describe('decodeAudio: rejects other files by their type', () => {
  test.each([
    ['nothing at all', Buffer.alloc(0), /this file is empty/],
    ['a text', Buffer.from('hello, this is no sound'), /this is text/],
    ['a picture', Buffer.from('\x89PNG\r\n\x1a\n0000', 'latin1'), /this is a PNG picture/],
    ['random bytes', Buffer.from([1, 2, 3, 4, 5, 6, 7, 8]), /nothing that we know/],
    ['the head of an MP3', Buffer.from([0xff, 0xfb, 0x90, 0x00]), /this MP3 file holds no sound/],
    ['the head of a FLAC', Buffer.from('fLaC\0\0\0\x22', 'latin1'), /this FLAC file holds no sound/],
    [
      'a broken WebM',
      Buffer.from('\x1a\x45\xdf\xa3\x01\x02\x03', 'latin1'),
      /WebM or Matroska file is broken|no sound/,
    ],
    ['a WAV without samples', wavFile([new Float32Array(0)], 8000), /this WAV file holds no sound/],
    [
      'Speex',
      Buffer.from(`OggS${'\0'.repeat(24)}Speex   1`, 'latin1'),
      /An Ogg file with Speex is not possible: convert it/,
    ],
    ['AMR', Buffer.from('#!AMR\n123'), /An AMR file is not possible/],
  ])('%s', async (_, file, sentence) => {
    const error = await heard(file).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'AppError', status: 400, details: { field: 'file' } });
    expect((error as Error).message).toMatch(sentence);
    expect((error as Error).message).toContain('WAV, MP3, FLAC, Ogg');
  });

  test('truncated FLAC', async () => {
    const file = await flacFile(mono(16_000), 16_000);
    // The encoder does not know the length before it has written it.
    file.writeUInt32BE(24_000, 22);
    await expectTone(file);
    await expect(heard(file.subarray(0, file.length / 2))).rejects.toThrow(
      /this FLAC file is cut off: \d+ of 24000 samples/,
    );
  });

  test('MP4 without ffmpeg, with advice', async () => {
    const file = await mp4WithAac([Buffer.alloc(20, 1), Buffer.alloc(20, 2)]);
    await expect(heard(file)).rejects.toThrow(/An MP4 file with AAC sound is not possible.*ffmpeg.*or send WAV, MP3/);
    await expect(heard(Buffer.from('\xff\xf1\x50\x80\x01\x00', 'latin1'))).rejects.toThrow(/AAC sound is not possible/);
  });

  test('sample rate out of range', async () => {
    await expect(heard(wavFile(mono(8000), 10))).rejects.toThrow(/10 samples a second/);
    await expect(heard(wavFile(mono(8000), 1_000_000_000))).rejects.toThrow(/1000000000 samples a second/);
  });

  test('longer than the limit', async () => {
    const file = wavFile([new Float32Array(8000 * 61)], 8000);
    await expect(heard(file)).rejects.toThrow(/at most .* hours, and this one is .* hours long; cut it into parts/);
  });
});

describe('decodeAudio: recordings with much audio in few bytes', () => {
  const tenHours = Math.ceil((36_000 * 16_000) / 65_535);

  async function pieces(file: Uint8Array, maxSeconds: number, signal = new AbortController().signal) {
    const lengths: number[] = [];
    const error = await (async () => {
      for await (const { channels } of decodeAudio(file, { signal, maxSeconds, ffmpeg: nowhere })) {
        lengths.push(channels[0]?.length ?? 0);
      }
    })().catch((thrown: unknown) => thrown);
    return { lengths, error, total: lengths.reduce((sum, length) => sum + length, 0) };
  }

  test('yields all samples in chunks of at most 32,768', async () => {
    const { lengths, error, total } = await pieces(quietFlac({ frames: 200, promised: 0 }), 3600);
    expect(error).toBeUndefined();
    expect(total).toBe(200 * 65_535);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(32_768);
  });

  test('rejects FLAC by its declared length before decoding', async () => {
    const { lengths, error } = await pieces(quietFlac({ frames: tenHours }), 3 * 3600);
    expect(lengths).toEqual([]);
    expect(error).toMatchObject({ status: 400, details: { field: 'file' } });
    expect((error as Error).message).toMatch(/at most 3 hours, and this one is 10.0 hours long; cut it into parts/);
  });

  test('rejects FLAC without a declared length as soon as the decoded audio is too long', async () => {
    const { error, total } = await pieces(quietFlac({ frames: 200, promised: 0 }), 60);
    expect(total).toBeLessThanOrEqual(60 * 16_000);
    expect((error as Error).message).toMatch(/at most .* hours; cut it into parts/);
  });

  test('rejects Ogg by its granule positions', async () => {
    const file = await opusFile(mono(48_000), 48_000);
    const last = file.lastIndexOf('OggS');
    file.writeBigInt64LE(BigInt(48_000 * 36_000), last + 6);
    const { lengths, error } = await pieces(file, 3 * 3600);
    expect(lengths).toEqual([]);
    expect((error as Error).message).toMatch(/this one is 10.0 hours long/);
  });

  test('subtracts the first granule position of an Ogg stream', async () => {
    const file = await opusFile(mono(48_000), 48_000);
    const pages = [...file.toString('latin1').matchAll(/OggS/g)].map(({ index }) => index);
    for (const page of pages.slice(2)) {
      file.writeBigInt64LE(file.readBigInt64LE(page + 6) + BigInt(48_000 * 36_000), page + 6);
    }
    expect((await pieces(file, 60)).error).toBeUndefined();
  });

  test('rejects Ogg with more than eight channels', async () => {
    const file = await opusFile(mono(48_000), 48_000);
    file[file.indexOf('OpusHead') + 9] = 255;
    expect((await pieces(file, 60)).error).toMatchObject({ message: expect.stringContaining('255 channels') });
  });

  test('rejects MP3 by its Xing header', async () => {
    const file = await mp3File(mono(16_000), 16_000);
    // The first frame becomes the one that counts the others: MPEG 2, one channel.
    const head = Buffer.alloc(12);
    head.write('Xing');
    head.writeUInt32BE(1, 4);
    head.writeUInt32BE(1_000_000, 8);
    head.copy(file, 4 + 9);
    expect((await pieces(file, 3 * 3600)).error).toMatchObject({ message: expect.stringContaining('10.0 hours long') });
  });

  test('skips the metadata of FLAC', async () => {
    const picture = Buffer.alloc(4 + 300_000, 0xff);
    picture.writeUInt32BE(0x86000000 + 300_000, 0);
    const { total, error } = await pieces(quietFlac({ frames: 3, metadata: picture }), 60);
    expect([total, error]).toEqual([3 * 65_535, undefined]);
  });

  test.each([
    ['MP3', Buffer.concat([Buffer.from('ID3\x04\x00\x00\x00\x00\x00\x01\x00'), Buffer.alloc(2_000_000)])],
    ['FLAC', Buffer.concat([quietFlac({ frames: 0, promised: 0 }), Buffer.alloc(2_000_000)])],
  ])('yields to the event loop while a broken %s file gives no samples, and stops on abort', async (_, file) => {
    const stop = new AbortController();
    setImmediate(() => setImmediate(() => stop.abort(new Error('gone'))));
    expect((await pieces(file, 60, stop.signal)).error).toMatchObject({ message: 'gone' });
  });

  test('gives up a FLAC file without frames', async () => {
    const file = Buffer.concat([quietFlac({ frames: 1, promised: 0 }), Buffer.alloc(1.1 * 2 ** 20)]);
    expect((await pieces(file, 60)).error).toMatchObject({ message: expect.stringContaining('is no sound') });
  });
});

describe('decodeAudio: ffmpeg', () => {
  /** Stands in for the program: notes what it was given, and does what the test says. */
  function program(script: string): string {
    const path = join(folder, `ffmpeg-${script.length}`);
    const code = `#!${process.execPath}\nconst given = [];\nprocess.stdin.on('data', (d) => given.push(d)).on('end', () => {\n${script}\n});\n`;
    writeFileSync(path, code);
    chmodSync(path, 0o755);
    return path;
  }

  test('gets AAC as an ADTS stream, and its samples are used', async () => {
    const note = join(folder, 'note');
    const script = `require('node:fs').writeFileSync(${JSON.stringify(note)}, Buffer.concat(given));
      const out = Buffer.alloc(4 * 1000); for (let i = 0; i < 1000; i++) out.writeFloatLE(0.25, 4 * i); process.stdout.write(out);`;
    const file = await mp4WithAac([Buffer.alloc(20, 1), Buffer.alloc(30, 2)]);
    const sound = await heard(file, { ffmpeg: program(script) });
    expect(sound).toEqual(new Float32Array(1000).fill(0.25));
    const given = readFileSync(note);
    expect([...given.subarray(0, 7)]).toEqual([0xff, 0xf1, 0x50, 0x80, 0x03, 0x7f, 0xfc]);
    expect(given.subarray(7, 27)).toEqual(Buffer.alloc(20, 1));
    expect(given).toHaveLength(27 + 37);
  });

  test('its failure is an error', async () => {
    const file = await mp4WithAac([Buffer.alloc(20, 1)]);
    await expect(heard(file, { ffmpeg: program('process.exit(7);') })).rejects.toThrow(/ffmpeg could not decode/);
  });

  const isAlive = (pidFile: string): boolean => {
    try {
      return process.kill(Number(readFileSync(pidFile, 'utf8')), 0);
    } catch {
      return false;
    }
  };
  const notesPid = (pidFile: string) =>
    `require('node:fs').writeFileSync(${JSON.stringify(pidFile)}, String(process.pid));`;

  test('ffmpeg: is killed with a clear error if it hangs', async () => {
    const file = await mp4WithAac([Buffer.alloc(20, 1)]);
    const pidFile = join(folder, 'hanging');
    const ffmpeg = program(`${notesPid(pidFile)} setInterval(() => undefined, 1000);`);
    await expect(heard(file, { ffmpeg, ffmpegTimeoutMs: 500 })).rejects.toThrow(/ffmpeg gave no sound for 0.5 seconds/);
    await vi.waitUntil(() => !isAlive(pidFile));
  });

  test('ffmpeg: is killed when its output exceeds the limit', async () => {
    const file = await mp4WithAac([Buffer.alloc(20, 1)]);
    const pidFile = join(folder, 'flooding');
    const ffmpeg = program(
      `${notesPid(pidFile)} const more = () => process.stdout.write(Buffer.alloc(65536), more); more();`,
    );
    await expect(heard(file, { ffmpeg })).rejects.toThrow(/at most .* hours; cut it into parts/);
    await vi.waitUntil(() => !isAlive(pidFile));
  });

  test('ffmpeg: its time-out does not run while its output is not read', async () => {
    const file = await mp4WithAac([Buffer.alloc(20, 1)]);
    const ffmpeg = program(`process.stdout.write(Buffer.alloc(4 * 16_000 * 8));`);
    const pieces = decodeAudio(file, { signal, maxSeconds: 60, ffmpeg, ffmpegTimeoutMs: 5000 });
    let samples = 0;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      for await (const { channels } of pieces) {
        samples += channels[0]?.length ?? 0;
        vi.advanceTimersByTime(60_000);
      }
    } finally {
      vi.useRealTimers();
    }
    expect(samples).toBe(16_000 * 8);
  });

  test('ffmpeg: is not started after an abort', async () => {
    const file = await mp4WithAac([Buffer.alloc(20, 1)]);
    const gone = AbortSignal.abort(new Error('gone'));
    await expect(heard(file, { ffmpeg: program('process.exit(7);'), signal: gone })).rejects.toThrow('gone');
  });

  test('ffmpeg: is killed on abort', async () => {
    const stop = new AbortController();
    const file = await mp4WithAac([Buffer.alloc(20, 1)]);
    const hanging = heard(file, { ffmpeg: program('setInterval(() => undefined, 1000);'), signal: stop.signal });
    setImmediate(() => stop.abort(new Error('gone')));
    await expect(hanging).rejects.toThrow('gone');
  });
});

test('decodeAudio: rejects a WebM file that ends in junk without hanging', async () => {
  const file = await webmOf(await opusFile(mono(16_000), 16_000));
  // From the first element of the segment on there is nothing that is one.
  const segment = file.indexOf(Buffer.from('18538067', 'hex'));
  const broken = Buffer.concat([file.subarray(0, segment + 12), Buffer.alloc(3000, 0x11)]);
  await expect(heard(broken)).rejects.toThrow(/WebM or Matroska file is broken|holds no sound/);
});

test('decodeAudio: a damaged file gives samples or an error and never hangs', async () => {
  const files = [
    wavFile(mono(8000), 8000),
    await mp3File(mono(16_000), 16_000),
    await opusFile(mono(16_000), 16_000),
    await flacFile(mono(16_000), 16_000),
    await webmOf(await opusFile(mono(16_000), 16_000)),
  ];
  const damage = fc.array(fc.tuple(fc.double({ min: 0, max: 0.999, noNaN: true }), fc.nat(255)), { maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(
      fc.nat(files.length - 1),
      damage,
      fc.double({ min: 0, max: 1, noNaN: true }),
      async (which, places, part) => {
        const whole = files[which] as Buffer;
        const file = Buffer.from(whole.subarray(0, Math.ceil(whole.length * part)));
        for (const [place, value] of places) file[Math.floor(place * file.length)] = value;
        const outcome = await heard(file).catch((error: unknown) => error);
        if (outcome instanceof Float32Array) expect(outcome.every(Number.isFinite)).toBe(true);
        else expect(outcome).toMatchObject({ name: 'AppError', status: 400 });
      },
    ),
    { numRuns: 60 },
  );
});
