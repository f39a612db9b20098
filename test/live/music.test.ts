import { existsSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { findBarePack } from '../../src/engines/bare/pack.ts';
import { aceStepFiles, writeAceStep } from '../models/ace-step.ts';
import { type LiveServer, liveServers } from './server.ts';

/**
 * The real engine on random weights in the layout of ACE-Step 1.5 (500 MB, written by the test). Needs the music pack, and minutes
 * on a CPU. `PARLEY_TEST_MUSIC=1 PARLEY_PACKS=FOLDER npx vitest run --project live test/live/music.test.ts` runs it.
 */
process.env.PARLEY_PACKS = process.env.PARLEY_TEST_PACKS;
const reason = missingPart();
if (reason !== undefined) console.log(`The tests of the music engine are skipped: ${reason}`);

const startServer = liveServers();
const patient = 600_000;
/** With codes, the language model has nothing to do; half a second is enough. */
const song = {
  caption: 'calm piano',
  instrumental: true,
  seed: 5,
  audio_codes: '100,200',
  duration: 0.4,
  inference_steps: 1,
};

describe.skipIf(reason !== undefined)('music engine', () => {
  let server: LiveServer;
  beforeAll(async () => {
    const folder = process.env.PARLEY_TEST_MUSIC_FOLDER ?? join(tmpdir(), 'parley-music');
    mkdirSync(folder, { recursive: true });
    const files = aceStepFiles(folder);
    if (!existsSync(files.vae)) await writeAceStep(files);
    const flags = Object.entries(files).flatMap(([part, path]) => [`--music${part}`, path]);
    server = await startServer(['--nomodel', '--threads', '2', '--usecpu', ...flags]);
  }, patient);

  const post = (path: string, body: object, signal: AbortSignal | null = null) =>
    fetch(`${server.base}/api/extra/music/${path}`, { method: 'POST', body: JSON.stringify(body), signal });
  const bytesOf = async (reply: Response) => Buffer.from(await reply.arrayBuffer());

  test('version: music is available', async () => {
    expect(await (await fetch(`${server.base}/api/extra/version`)).json()).toMatchObject({ music: true });
  });

  test(
    'prepare and generate: a stereo WAV file with sound, the same for the same seed',
    async () => {
      const prepared = (await (await post('prepare', song)).json()) as object;
      expect(prepared).toMatchObject({ caption: 'calm piano', seed: 5, audio_codes: '100,200' });
      const first = await post('generate', prepared);
      expect([first.status, first.headers.get('content-type')]).toEqual([200, 'audio/wav']);
      const file = await bytesOf(first);
      expect([file.readUInt16LE(22), file.readUInt32LE(24)]).toEqual([2, 48_000]);
      expect((file.length - 44) / 4).toBe(0.4 * 48_000);
      expect(file.subarray(44).some((byte) => byte !== 0)).toBe(true);
      expect((await bytesOf(await post('generate', prepared))).equals(file)).toBe(true);
    },
    patient,
  );

  test(
    'generate: mono at 32 kHz, and mp3',
    async () => {
      const mono = await bytesOf(await post('generate', { ...song, stereo: false }));
      expect([mono.readUInt16LE(22), mono.readUInt32LE(24)]).toEqual([1, 32_000]);
      const mp3 = await post('generate', { ...song, use_mp3: true });
      expect(mp3.headers.get('content-type')).toBe('audio/mpeg');
      expect((await bytesOf(mp3)).readUInt16BE(0) & 0xffe0).toBe(0xffe0);
    },
    patient,
  );

  test(
    'abort: a song whose client is gone stops, and the next one is generated',
    async () => {
      const controller = new AbortController();
      const long = post('generate', { caption: 'a long song', duration: 60 }, controller.signal);
      setTimeout(() => controller.abort(), 3000);
      await expect(long).rejects.toThrow();
      expect((await post('generate', song)).status).toBe(200);
    },
    patient,
  );
});

function missingPart(): string | undefined {
  if (!process.env.PARLEY_TEST_MUSIC) return 'PARLEY_TEST_MUSIC is not set';
  try {
    findBarePack('music');
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
