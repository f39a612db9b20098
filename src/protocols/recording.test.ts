import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import { locateRecording, readInlineRecording, recordingBody, sentRecording } from './recording.ts';
import { callOf } from './testing/doubles.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-recording-'));
afterAll(() => rmSync(folder, { recursive: true }));

function formCall(files: readonly (readonly [field: string, text: string])[], fields: Record<string, string[]> = {}) {
  const uploaded = files.map(([field, text], index) => {
    const path = join(folder, String(index));
    writeFileSync(path, text);
    return { field, name: `${text}.wav`, contentType: 'application/octet-stream', path, bytes: text.length };
  });
  return callOf('/x', '', { form: { fields: new Map(Object.entries(fields)), files: uploaded } });
}

const none = { file: undefined, audio_data: undefined };
const base64 = Buffer.from('sound').toString('base64');

describe('the recording of a request', () => {
  test('is the file of a form', async () => {
    const found = await sentRecording(formCall([['file', 'sound']]), none);
    expect(found).toEqual({ bytes: Buffer.from('sound'), fileName: 'sound.wav', field: 'file' });
  });

  test('is the file with the right name among several, or else the first', async () => {
    const files = [
      ['cover', 'picture'],
      ['file[]', 'sound'],
    ] as const;
    expect((await sentRecording(formCall(files), none)).field).toBe('file[]');
    expect((await sentRecording(formCall([['sample', 'x']]), none)).field).toBe('sample');
  });

  test('is what a field holds', async () => {
    const bytes = Buffer.from('sound');
    const call = callOf('/x', {});
    expect(await sentRecording(call, { ...none, file: bytes })).toEqual({ bytes, fileName: '', field: 'file' });
    expect(await sentRecording(call, { ...none, audio_data: bytes })).toMatchObject({ field: 'audio_data' });
  });

  test('must be there', async () => {
    await expect(sentRecording(callOf('/x', {}), none)).rejects.toThrow('file must be a recording.');
    await expect(sentRecording(formCall([]), none)).rejects.toThrow('file must be a recording.');
  });
});

describe('a field with a recording', () => {
  test.each([
    ['base64', base64],
    ['a data URL', `data:audio/wav;base64,${base64}`],
    ['a data URL with parameters', `data:audio/webm;codecs=opus;base64,${base64}`],
    ['a data URL of a video, which has sound too', `data:video/webm;base64,${base64}`],
  ])('may be %s', (_, text) => {
    expect(readInlineRecording(text, 'file')).toEqual(Buffer.from('sound'));
  });

  test.each([undefined, null, ''])('may be left out: %o', (value) => {
    expect(readInlineRecording(value, 'file')).toBeUndefined();
  });

  test.each(['not base64!', 'data:audio/wav,plain', 5])('is refused where it is none: %o', (value) => {
    expect(() => readInlineRecording(value, 'audio_data')).toThrow(
      /^audio_data must be a (recording in base64|string)/,
    );
  });
});

test('the fields are those of a form or of JSON', async () => {
  expect(await recordingBody(formCall([], { model: ['m'] }))).toEqual({ model: 'm' });
  expect(await recordingBody(callOf('/x', { model: 'm' }))).toEqual({ model: 'm' });
  await expect(recordingBody(callOf('/x', 'nonsense'))).rejects.toMatchObject({ code: 'invalid-json' });
});

describe('what is wrong with a recording', () => {
  const sent = { bytes: Buffer.alloc(0), fileName: '', field: 'audio_data' };

  test('is told by the name that the client has for it', () => {
    const error = new AppError('invalid-field', { field: 'file', expected: 'sound' });
    expect(locateRecording(error, sent)).toMatchObject({ message: 'audio_data must be sound.', status: 400 });
    expect(locateRecording(error, { ...sent, field: 'file' })).toBe(error);
  });

  test('and nothing else is', () => {
    const other = new AppError('invalid-field', { field: 'language', expected: 'x' });
    expect(locateRecording(other, sent)).toBe(other);
    const lost = new AppError('engine-lost', { capability: 'transcription' });
    expect(locateRecording(lost, sent)).toBe(lost);
    expect(locateRecording('thrown', sent)).toBe('thrown');
  });
});
