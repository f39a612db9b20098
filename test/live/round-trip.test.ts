import OpenAI, { toFile } from 'openai';
import { expect, test } from 'vitest';
import { liveServers } from './server.ts';

const startServer = liveServers();

const sentences = [
  'The weather in Paris is lovely today.',
  'She opened the window and looked at the garden.',
  'My brother works in a small shop near the river.',
  'We will meet at the station at seven in the evening.',
  'The children played with the dog until it was dark.',
  'Please bring a bottle of water and some bread.',
  'He wrote a long letter to his old friend.',
  'The train was late because of the heavy snow.',
  'I would like a cup of tea with milk.',
  'The cat is sleeping under the table.',
];

/** Some write `to-day`. */
const words = (text: string): string =>
  (
    text
      .toLowerCase()
      .replaceAll('-', '')
      .match(/[a-z]+/g) ?? []
  ).join(' ');

test('round trip: speech recognition gives back nine of ten sentences of the built-in voice exactly', async () => {
  const { base } = await startServer();
  const openai = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'none', maxRetries: 0 });
  const misheard: string[] = [];
  for (const input of sentences) {
    const wishes = { model: 'tts-1', voice: 'awb', response_format: 'wav', input } as const;
    const speech = await openai.audio.speech.create(wishes);
    const file = await toFile(await speech.arrayBuffer(), 'speech.wav');
    const { text } = await openai.audio.transcriptions.create({ model: 'whisper-1', file });
    if (words(text) !== words(input)) misheard.push(`${input} -> ${text}`);
  }
  expect(misheard.length, misheard.join('\n')).toBeLessThanOrEqual(1);
});
