import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AppError } from '../../../core/errors.ts';
import type { TranscriptionEvent } from '../../../core/transcription.ts';
import { encodeTranscription } from './stream.ts';

const segment = (text: string): TranscriptionEvent => ({ type: 'segment', segment: { start: 0, end: 1, text } });

async function frames(events: readonly TranscriptionEvent[], error?: Error): Promise<readonly unknown[]> {
  async function* play() {
    yield* events;
    if (error) throw error;
  }
  let text = '';
  for await (const frame of encodeTranscription(play())) text += frame;
  return text
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => (frame === 'data: [DONE]' ? 'done' : JSON.parse(frame.replace(/^data: /, ''))));
}

const finish = (notes: readonly string[] = []) => ({ type: 'finish', seconds: 2.1, language: 'en', notes }) as const;

test('a piece for each segment, the whole at the end, and the mark that ends every stream', async () => {
  expect(await frames([{ type: 'start', seconds: 2 }, segment(' One.'), segment(' Two.'), finish()])).toEqual([
    { type: 'transcript.text.delta', delta: 'One.' },
    { type: 'transcript.text.delta', delta: ' Two.' },
    { type: 'transcript.text.done', text: 'One. Two.', usage: { type: 'duration', seconds: 3 } },
    'done',
  ]);
});

test('what had no effect is told with the whole', async () => {
  expect((await frames([finish(['prompt has no effect'])]))[0]).toMatchObject({ warnings: ['prompt has no effect'] });
});

test('a failure in the middle is the last thing that is said', async () => {
  const lost = new AppError('engine-lost', { capability: 'transcription' });
  const all = await frames([segment(' One.')], lost);
  expect(all).toMatchObject([{ delta: 'One.' }, { error: { type: 'server_error', message: lost.message } }, 'done']);
});

test('the pieces together are exactly the text, whatever space stands in them', async () => {
  const texts = fc.array(fc.stringMatching(/^ {0,2}[a-z]{0,3} {0,2}$/), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(texts, async (list) => {
      const all = (await frames([...list.map(segment), finish()])) as { delta?: string; text?: string }[];
      expect(all.map(({ delta = '' }) => delta).join('')).toBe(all.at(-2)?.text);
    }),
  );
});
