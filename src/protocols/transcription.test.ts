import { expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import type { TranscriptionEvent } from '../core/transcription.ts';
import { scriptedTranscription } from './testing/doubles.ts';
import { collectTranscript, located, transcriptionOf } from './transcription.ts';

const segment = (text: string) => ({ type: 'segment', segment: { start: 0, end: 1, text } }) as const;
const finish = { type: 'finish', seconds: 2, language: 'en', notes: ['a note'] } as const;

async function* play(...events: readonly TranscriptionEvent[]) {
  yield* events;
}

test('all that was heard is one text, without space around it', async () => {
  const transcript = await collectTranscript(
    play({ type: 'start', seconds: 2 }, segment(' One.'), segment(' Two. '), finish),
  );
  expect(transcript).toMatchObject({ text: 'One. Two.', seconds: 2, language: 'en', notes: ['a note'] });
  expect(transcript.segments).toHaveLength(2);
  expect(await collectTranscript(play(finish))).toMatchObject({ text: '', segments: [] });
});

test('all of it is read, so that nothing is taken for stopped', async () => {
  let over = false;
  async function* whole(): AsyncGenerator<TranscriptionEvent> {
    yield segment('One.');
    yield finish;
    over = true;
  }
  await collectTranscript(whole());
  expect(over).toBe(true);
});

test('what ends without saying so was stopped', async () => {
  await expect(collectTranscript(play(segment('One.')))).rejects.toMatchObject({ code: 'stopped' });
});

test('without a recogniser that is told, with the flag', () => {
  expect(() => transcriptionOf({})).toThrow(/No speech-to-text model is loaded.*--whispermodel/);
  expect(() => transcriptionOf(undefined)).toThrow(AppError);
  const { transcription } = scriptedTranscription([]);
  expect(transcriptionOf({ transcription })).toBe(transcription);
});

test('a failure in the middle is told by the name of the field', async () => {
  async function* broken(): AsyncGenerator<TranscriptionEvent> {
    yield segment('One.');
    throw new AppError('invalid-field', { field: 'file', expected: 'sound' });
  }
  const recording = { bytes: Buffer.alloc(0), fileName: '', field: 'audio_data' };
  await expect(collectTranscript(located(broken(), recording))).rejects.toThrow('audio_data must be sound');
});
