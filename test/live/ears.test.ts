import OpenAI, { toFile } from 'openai';
import { beforeAll, describe, expect, test } from 'vitest';
import { joined, silence, spoken } from '../../bench/spoken.ts';
import { wavFile } from '../../src/audio/testing/waves.ts';
import { findWhisperPack, whisperPacks } from '../../src/engines/transcription/whisper-onnx/pack.ts';
import { type LiveServer, liveServers } from './server.ts';

/** The real Whisper of the packs `ears` and `ears-small`. `PARLEY_PACKS=FOLDER npx vitest run --project live test/live/ears.test.ts` runs it. */
process.env.PARLEY_PACKS = process.env.PARLEY_TEST_PACKS;
const installed = whisperPacks.filter((model) => reasonAgainst(() => findWhisperPack(model)) === undefined);
if (installed.length === 0) console.log('The tests of Whisper are skipped: the pack ears is not installed.');

const startServer = liveServers();
const patient = 240_000;
const sentence = 'We will meet at the station at seven in the evening.';

describe.skipIf(installed.length === 0)('ears pack', () => {
  let server: LiveServer;
  let openai: OpenAI;
  let wav: Buffer;
  const ask = async (extra: object = {}, signal?: AbortSignal) =>
    openai.audio.transcriptions.create(
      { file: await toFile(wav, 'a.wav'), model: 'whisper-1', ...extra },
      { signal: signal ?? null },
    );

  beforeAll(async () => {
    wav = wavFile([joined([silence(1), await spoken(sentence)])], 16_000);
    server = await startServer(['--nomodel']);
    openai = new OpenAI({ baseURL: `${server.base}/v1`, apiKey: 'none', maxRetries: 0, timeout: patient });
  }, patient);

  test(
    'is the default, detects the language, and hears the sentence with the times of its words',
    async () => {
      const transcript = await ask({ response_format: 'verbose_json', timestamp_granularities: ['word', 'segment'] });
      const { text, language, words = [] } = transcript as OpenAI.Audio.TranscriptionVerbose;
      expect(text.toLowerCase()).toContain('meet at the station at');
      expect(language).toBe('english');
      const station = words.find(({ word }) => word.startsWith('station'));
      expect(station?.start).toBeGreaterThan(1.3);
      expect(station?.end).toBeLessThan(wav.length / 32_000);
      const starts = words.map(({ start }) => start);
      expect([...starts].sort((one, other) => one - other)).toEqual(starts);
      await server.says(`Loaded ${installed[0]?.name} for speech to text`);
    },
    patient,
  );

  test(
    'translates, and takes a prompt and a temperature without warnings',
    async () => {
      const reply = await openai.audio.transcriptions
        .create({ file: await toFile(wav, 'a.wav'), model: 'm', prompt: 'A journey.', temperature: 0.2 })
        .withResponse();
      expect(reply.response.headers.get('x-parley-warnings')).toBeNull();
      const translated = await openai.audio.translations.create({ file: await toFile(wav, 'a.wav'), model: 'm' });
      expect(translated.text.toLowerCase()).toContain('station');
    },
    patient,
  );

  test(
    'a disconnect stops the work, and the next request is served',
    async () => {
      const controller = new AbortController();
      const cancelled = ask({}, controller.signal);
      await expect.poll(() => server.output(), { timeout: patient }).toContain('Loaded');
      controller.abort();
      await expect(cancelled).rejects.toThrow();
      expect((await ask()).text.toLowerCase()).toContain('station');
    },
    patient,
  );

  test(
    '--whispermodel moonshine: goes back to the built-in model',
    async () => {
      const other = await startServer(['--nomodel', '--whispermodel', 'moonshine']);
      const client = new OpenAI({ baseURL: `${other.base}/v1`, apiKey: 'none', maxRetries: 0, timeout: patient });
      const { text } = await client.audio.transcriptions.create({ file: await toFile(wav, 'a.wav'), model: 'm' });
      expect(text.toLowerCase()).toContain('station');
      await other.says('Loaded moonshine-tiny for speech to text (en).');
    },
    patient,
  );
});

function reasonAgainst(find: () => unknown): string | undefined {
  try {
    find();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
