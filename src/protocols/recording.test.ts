import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import type { TranscriptionEvent } from '../core/transcription.ts';
import { bodyOfForm } from './form-body.ts';
import {
  collectTranscript,
  formOrBody,
  located,
  locateRecording,
  readInlineRecording,
  sentRecording,
  transcriptionOf,
} from './recording.ts';
import { callOf, scriptedTranscription } from './testing/doubles.ts';

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

describe('sentRecording', () => {
  test('takes the file of a form', async () => {
    const found = await sentRecording(formCall([['file', 'sound']]), none);
    expect(found).toEqual({ bytes: Buffer.from('sound'), field: 'file' });
  });

  test('takes the file with the right name, else the first', async () => {
    const files = [
      ['cover', 'picture'],
      ['file[]', 'sound'],
    ] as const;
    expect((await sentRecording(formCall(files), none)).field).toBe('file[]');
    expect((await sentRecording(formCall([['sample', 'x']]), none)).field).toBe('sample');
  });

  test('takes the recording of a field', async () => {
    const bytes = Buffer.from('sound');
    const call = callOf('/x', {});
    expect(await sentRecording(call, { ...none, file: bytes })).toEqual({ bytes, field: 'file' });
    expect(await sentRecording(call, { ...none, audio_data: bytes })).toMatchObject({ field: 'audio_data' });
  });

  test('refuses a request without a recording', async () => {
    await expect(sentRecording(callOf('/x', {}), none)).rejects.toThrow('file must be a recording.');
    await expect(sentRecording(formCall([]), none)).rejects.toThrow('file must be a recording.');
  });
});

describe('readInlineRecording', () => {
  test.each([
    ['base64', base64],
    ['a data URL', `data:audio/wav;base64,${base64}`],
    ['a data URL with parameters', `data:audio/webm;codecs=opus;base64,${base64}`],
    ['a data URL of a video, which has sound too', `data:video/webm;base64,${base64}`],
  ])('accepts %s', (_, text) => {
    expect(readInlineRecording(text, 'file')).toEqual(Buffer.from('sound'));
  });

  test.each([undefined, null, ''])('undefined for %o', (value) => {
    expect(readInlineRecording(value, 'file')).toBeUndefined();
  });

  test.each(['not base64!', 'data:audio/wav,plain', 5])('refuses %o', (value) => {
    expect(() => readInlineRecording(value, 'audio_data')).toThrow(
      /^audio_data must be a (recording in base64|string)/,
    );
  });
});

test('formOrBody: reads forms and JSON', async () => {
  expect(await formOrBody(formCall([], { model: ['m'] }))).toEqual({ model: 'm' });
  expect(await formOrBody(callOf('/x', { model: 'm' }))).toEqual({ model: 'm' });
  await expect(formOrBody(callOf('/x', 'nonsense'))).rejects.toMatchObject({ code: 'invalid-json' });
  await expect(formOrBody(callOf('/x', ''))).rejects.toMatchObject({ code: 'invalid-json' });
});

describe('locateRecording', () => {
  const sent = { bytes: Buffer.alloc(0), field: 'audio_data' };

  test('gives errors about the recording the field of the client', () => {
    const error = new AppError('invalid-field', { field: 'file', expected: 'sound' });
    expect(locateRecording(error, sent)).toMatchObject({ message: 'audio_data must be sound.', status: 400 });
    expect(locateRecording(error, { ...sent, field: 'file' })).toBe(error);
  });

  test('leaves other errors unchanged', () => {
    const other = new AppError('invalid-field', { field: 'language', expected: 'x' });
    expect(locateRecording(other, sent)).toBe(other);
    const lost = new AppError('engine-lost', { capability: 'transcription' });
    expect(locateRecording(lost, sent)).toBe(lost);
    expect(locateRecording('thrown', sent)).toBe('thrown');
  });
});

const body = (...fields: readonly (readonly [string, readonly string[]])[]) =>
  bodyOfForm({ fields: new Map(fields), files: [] });

test('bodyOfForm: a name that occurs once is a text', () => {
  expect(body(['model', ['whisper-1']], ['prompt', ['']])).toEqual({ model: 'whisper-1', prompt: '' });
});

test('bodyOfForm: a name with brackets or repeated is a list', () => {
  expect(body(['include[]', ['logprobs']], ['keywords', ['a', 'b']])).toEqual({
    include: ['logprobs'],
    keywords: ['a', 'b'],
  });
});

test('bodyOfForm: merges both spellings of a list', () => {
  expect(body(['granularities', ['word']], ['granularities[]', ['segment']])).toEqual({
    granularities: ['word', 'segment'],
  });
});

test('bodyOfForm: a name with a key is an object, whose last value counts', () => {
  expect(body(['chunking[type]', ['auto', 'server_vad']], ['chunking[threshold]', ['0.5']])).toEqual({
    chunking: { type: 'server_vad', threshold: '0.5' },
  });
});

test('bodyOfForm: other brackets are part of the name', () => {
  expect(body(['a[b][c]', ['1']], ['[]', ['2']], ['d]', ['3']])).toEqual({ 'a[b][c]': '1', '[]': '2', 'd]': '3' });
});

test('bodyOfForm: names cannot reach outside of the body', () => {
  const made = body(['__proto__', ['x']], ['constructor[name]', ['y']], ['__proto__[polluted]', ['z']]);
  expect(Object.getPrototypeOf(made)).toBe(Object.prototype);
  expect(Object.hasOwn(made, '__proto__')).toBe(true);
  expect(({} as { polluted?: string }).polluted).toBeUndefined();
});

test('bodyOfForm: has every name and all values of any form', () => {
  const fields = fc.uniqueArray(
    fc.tuple(fc.stringMatching(/^[a-z]{1,5}$/), fc.array(fc.string(), { minLength: 1, maxLength: 3 })),
    {
      selector: ([name]) => name,
    },
  );
  fc.assert(
    fc.property(fields, (all) => {
      const made = bodyOfForm({ fields: new Map(all), files: [] });
      expect(Object.keys(made)).toEqual(all.map(([name]) => name));
      for (const [name, values] of all) expect([made[name]].flat()).toEqual(values);
    }),
  );
});

const segment = (text: string) => ({ type: 'segment', segment: { start: 0, end: 1, text } }) as const;
const finish = { type: 'finish', seconds: 2, language: 'en', notes: ['a note'] } as const;

async function* play(...events: readonly TranscriptionEvent[]) {
  yield* events;
}

test('collectTranscript: joins the segments and trims the text', async () => {
  const transcript = await collectTranscript(
    play({ type: 'start', seconds: 2 }, segment(' One.'), segment(' Two. '), finish),
  );
  expect(transcript).toMatchObject({ text: 'One. Two.', seconds: 2, language: 'en', notes: ['a note'] });
  expect(transcript.segments).toHaveLength(2);
  expect(await collectTranscript(play(finish))).toMatchObject({ text: '', segments: [] });
});

test('collectTranscript: reads all events', async () => {
  let over = false;
  async function* whole(): AsyncGenerator<TranscriptionEvent> {
    yield segment('One.');
    yield finish;
    over = true;
  }
  await collectTranscript(whole());
  expect(over).toBe(true);
});

test('collectTranscript: events without a finish count as stopped', async () => {
  await expect(collectTranscript(play(segment('One.')))).rejects.toMatchObject({ code: 'stopped' });
});

test('transcriptionOf: names the flag if there is no recognizer', () => {
  expect(() => transcriptionOf({})).toThrow(/No speech-to-text model is loaded.*--whispermodel/);
  expect(() => transcriptionOf(undefined)).toThrow(AppError);
  const { transcription } = scriptedTranscription([]);
  expect(transcriptionOf({ transcription })).toBe(transcription);
});

test('located: names the field in errors during the stream', async () => {
  async function* broken(): AsyncGenerator<TranscriptionEvent> {
    yield segment('One.');
    throw new AppError('invalid-field', { field: 'file', expected: 'sound' });
  }
  const recording = { bytes: Buffer.alloc(0), field: 'audio_data' };
  await expect(collectTranscript(located(broken(), recording))).rejects.toThrow('audio_data must be sound');
});
