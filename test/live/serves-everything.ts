import { expect } from 'vitest';
import { nativeClient } from './client.ts';

/** Asks a server on the built-in models for a text, speech, its transcription, a vector and a picture. */
export async function servesEverything(base: string): Promise<void> {
  const { text } = await nativeClient(base).generate({ prompt: 'Once upon a time', max_length: 8 });
  expect(text).toMatch(/^, there was a/);

  const speech = await post(`${base}/v1/audio/speech`, {
    input: 'The weather is nice today.',
    response_format: 'wav',
  });
  const recording = Buffer.from(await speech.arrayBuffer());
  const form = new FormData();
  form.set('model', 'whisper-1');
  form.set('file', new Blob([recording]), 'spoken.wav');
  const transcription = await fetch(`${base}/v1/audio/transcriptions`, { method: 'POST', body: form });
  expect(((await transcription.json()) as { text: string }).text).toMatch(/weather/i);

  const embedded = await post(`${base}/v1/embeddings`, { input: 'weather' });
  const { data } = (await embedded.json()) as { data: { embedding: number[] }[] };
  expect(data[0]?.embedding).toHaveLength(384);

  // Larger than the model draws, so that an upscaler is loaded too.
  const generated = await post(`${base}/sdapi/v1/txt2img`, {
    prompt: 'a red apple',
    steps: 2,
    width: 128,
    height: 128,
  });
  const [image = ''] = ((await generated.json()) as { images: string[] }).images;
  expect(Buffer.from(image, 'base64').subarray(1, 4).toString()).toBe('PNG');
}

async function post(url: string, body: object): Promise<Response> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return answer;
}
