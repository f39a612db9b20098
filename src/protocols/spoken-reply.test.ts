import { describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import type { SpeechRequest } from '../core/speech.ts';
import { allSound, noteHeaders, startedSpeech, streamedSound, wholeSound } from './spoken-reply.ts';
import { lost, type SpokenScript, scriptedSpeech } from './testing/spoken.ts';

function world(script: SpokenScript = {}) {
  const { speech, seen } = scriptedSpeech(script);
  const requestContext = { genkey: '', client: '', signal: new AbortController().signal };
  return { seen, events: speech.speak({} as SpeechRequest, requestContext) };
}

async function textOf(stream: AsyncIterable<string | Uint8Array>): Promise<string[]> {
  const pieces: string[] = [];
  for await (const piece of stream) pieces.push(Buffer.from(piece as Uint8Array).toString());
  return pieces;
}

describe('sound replies', () => {
  test('streamedSound: sends pieces as they come', async () => {
    const reply = streamedSound(await startedSpeech(world().events), { format: 'mp3', name: 'speech' });
    expect(reply.headers).toEqual({
      'content-type': 'audio/mpeg',
      'content-disposition': 'attachment; filename="speech.mp3"',
    });
    expect('stream' in reply && (await textOf(reply.stream))).toEqual(['RIFF', 'sound']);
  });

  test('wholeSound: sends one body', async () => {
    const reply = await wholeSound(await startedSpeech(world().events), { format: 'wav', name: 'output' });
    expect('body' in reply && String(reply.body)).toBe('RIFFsound');
  });

  test.each([
    ['wav', 'audio/wav', 'wav'],
    ['mp3', 'audio/mpeg', 'mp3'],
    ['opus', 'audio/ogg', 'ogg'],
    ['flac', 'audio/flac', 'flac'],
    ['pcm', 'audio/pcm', 'pcm'],
  ] as const)('%s: content type and file extension', async (format, type, ending) => {
    const { headers } = streamedSound(await startedSpeech(world().events), { format, name: 'x' });
    expect(headers).toMatchObject({
      'content-type': type,
      'content-disposition': `attachment; filename="x.${ending}"`,
    });
  });

  test('notes are in a header, in ASCII', async () => {
    const begun = await startedSpeech(world({ notes: ['Das “ß” fehlt.', 'No songs.'] }).events);
    const { headers } = streamedSound(begun, { format: 'wav', name: 'x' });
    expect(headers?.['x-parley-notes']).toBe('Das ??? fehlt., No songs.');
    expect(noteHeaders([])).toEqual({});
  });

  test('headers of the caller win', async () => {
    const file = { format: 'wav', name: 'x', headers: { 'content-type': 'audio/x-wav' } } as const;
    expect(streamedSound(await startedSpeech(world().events), file).headers).toMatchObject(file.headers);
  });
});

describe('startedSpeech', () => {
  test('an error before the first sound keeps its status', async () => {
    const refusal = new AppError('unsupported', { feature: 'This', instead: 'no' });
    await expect(startedSpeech(world({ refusal }).events)).rejects.toBe(refusal);
  });

  test('events without sound count as stopped', async () => {
    await expect(startedSpeech((async function* () {})())).rejects.toMatchObject({ code: 'stopped' });
  });

  test('streamedSound: an error in the middle breaks the stream', async () => {
    const reply = streamedSound(await startedSpeech(world({ failure: lost }).events), { format: 'wav', name: 'x' });
    await expect('stream' in reply && textOf(reply.stream)).rejects.toBe(lost);
  });

  test('wholeSound: an error in the middle fails the reply', async () => {
    const begun = await startedSpeech(world({ failure: lost }).events);
    await expect(wholeSound(begun, { format: 'wav', name: 'x' })).rejects.toBe(lost);
  });
});

test('to stop reading ends the speech', async () => {
  const { events, seen } = world({ pieces: ['a', 'b', 'c'] });
  const begun = await startedSpeech(events);
  for await (const _ of begun.events) break;
  expect(seen.returned).toBe(1);
});

test('allSound: joins all pieces in order', async () => {
  const begun = await startedSpeech(world({ pieces: ['1', '2', '3'] }).events);
  expect(String(await allSound(begun.events))).toBe('123');
});
