import OpenAI from 'openai';
import { beforeAll, describe, expect, test } from 'vitest';
import { decoded, loudness, seconds } from '../../src/audio/testing/decoded.ts';
import { speechFormats } from '../../src/core/speech.ts';
import { findVoicesPack } from '../../src/engines/speech/kokoro/pack.ts';
import { runProgram } from './program.ts';
import { type LiveServer, liveServers } from './server.ts';

const startServer = liveServers();

describe('speech without the pack voices', () => {
  test('console: says once how to get natural voices', async () => {
    const { base, output, stop } = await startServer(['--nomodel']);
    const speak = () => fetch(`${base}/v1/audio/speech`, { method: 'POST', body: JSON.stringify({ input: 'Hello.' }) });
    for (const reply of [await speak(), await speak()]) expect(reply.status).toBe(200);
    await expect.poll(() => output()).toContain('Run: parley pack add voices');
    expect(output().match(/parley pack add voices/g)).toHaveLength(1);
    await stop();
  });

  test('--ttsmodel kokoro: ends the start, with what to do', async () => {
    const { code, stdout, stderr } = await runProgram(['--nomodel', '--port', '0', '--ttsmodel', 'kokoro']);
    expect(code).toBe(3);
    expect(stdout + stderr).toContain('Run: parley pack add voices');
  });
});

/** `PARLEY_PACKS=FOLDER npx vitest run --project live test/live/voices.test.ts` uses the pack of another folder. */
const packs = process.env.PARLEY_TEST_PACKS ?? '';
const reason = missingPack();
if (reason !== undefined) console.log(`The tests of the natural voices are skipped: ${reason}`);

function missingPack(): string | undefined {
  const before = process.env.PARLEY_PACKS;
  process.env.PARLEY_PACKS = packs;
  try {
    findVoicesPack();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    if (before === undefined) delete process.env.PARLEY_PACKS;
    else process.env.PARLEY_PACKS = before;
  }
}

describe.skipIf(reason !== undefined)('the pack voices', () => {
  const patient = 300_000;
  let server: LiveServer;
  let openai: OpenAI;
  beforeAll(async () => {
    process.env.PARLEY_PACKS = packs;
    server = await startServer(['--nomodel']);
    openai = new OpenAI({ baseURL: `${server.base}/v1`, apiKey: 'none', maxRetries: 0, timeout: patient });
  }, patient);

  const speech = async (body: object): Promise<Response> =>
    fetch(`${server.base}/v1/audio/speech`, { method: 'POST', body: JSON.stringify(body) });
  const transcribe = async (wav: ArrayBuffer): Promise<string> => {
    const file = new File([new Uint8Array(wav)], 'speech.wav');
    return (await openai.audio.transcriptions.create({ file, model: 'local' })).text;
  };

  test(
    'is the default voice, and is heard to the word',
    async () => {
      const reply = await speech({ input: 'The weather is lovely today, and it costs $5.', response_format: 'wav' });
      const text = await transcribe(await reply.arrayBuffer());
      expect(text.toLowerCase().replace(/[^a-z ]/g, '')).toMatch(/^the weather is lovely to-?day and it costs/);
    },
    patient,
  );

  test.each(speechFormats)(
    '%s through the official client, with a voice of OpenAI',
    async (format) => {
      const ask = { model: 'tts-1', voice: 'nova', input: 'Good morning.', response_format: format } as const;
      const reply = await openai.audio.speech.create(ask);
      const sound = await decoded(format, new Uint8Array(await reply.arrayBuffer()));
      expect(seconds(sound)).toBeGreaterThan(0.5);
      expect(seconds(sound)).toBeLessThan(4);
      expect(loudness(sound)).toBeGreaterThan(0.01);
    },
    patient,
  );

  test(
    'speed and mixtures have an effect',
    async () => {
      const speak = async (own: object) =>
        decoded(
          'wav',
          new Uint8Array(
            await (await speech({ input: 'Good morning, my friends.', response_format: 'wav', ...own })).arrayBuffer(),
          ),
        );
      const normal = await speak({});
      expect(seconds(await speak({ speed: 2 }))).toBeLessThan(0.75 * seconds(normal));
      expect(loudness(await speak({ voice: 'af_heart(2)+am_adam(1)' }))).toBeGreaterThan(0.01);
    },
    patient,
  );

  test('an unknown voice is refused with the list', async () => {
    const reply = await speech({ input: 'a', voice: 'nobody' });
    expect(reply.status).toBe(400);
    expect(await reply.text()).toContain('af_heart, af_bella');
  });
});
