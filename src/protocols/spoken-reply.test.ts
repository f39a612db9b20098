import { describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import type { SpeechRequest } from '../core/speech.ts';
import { allSound, begunSpeech, noteHeaders, streamedSound, wholeSound } from './spoken-reply.ts';
import { lost, type SpokenScript, scriptedSpeech } from './testing/spoken.ts';

function world(script: SpokenScript = {}) {
  const { speech, seen } = scriptedSpeech(script);
  const ticket = { genkey: '', client: '', signal: new AbortController().signal };
  return { seen, events: speech.speak({} as SpeechRequest, ticket) };
}

async function textOf(stream: AsyncIterable<string | Uint8Array>): Promise<string[]> {
  const pieces: string[] = [];
  for await (const piece of stream) pieces.push(Buffer.from(piece as Uint8Array).toString());
  return pieces;
}

describe('sound as a reply', () => {
  test('goes out in pieces as it is made', async () => {
    const reply = streamedSound(await begunSpeech(world().events), { format: 'mp3', name: 'speech' });
    expect(reply.headers).toEqual({
      'content-type': 'audio/mpeg',
      'content-disposition': 'attachment; filename="speech.mp3"',
    });
    expect('stream' in reply && (await textOf(reply.stream))).toEqual(['RIFF', 'sound']);
  });

  test('or whole', async () => {
    const reply = await wholeSound(await begunSpeech(world().events), { format: 'wav', name: 'output' });
    expect('body' in reply && String(reply.body)).toBe('RIFFsound');
  });

  test.each([
    ['wav', 'audio/wav', 'wav'],
    ['mp3', 'audio/mpeg', 'mp3'],
    ['opus', 'audio/ogg', 'ogg'],
    ['flac', 'audio/flac', 'flac'],
    ['pcm', 'audio/pcm', 'pcm'],
  ] as const)('%s has its own type and ending', async (format, type, ending) => {
    const { headers } = streamedSound(await begunSpeech(world().events), { format, name: 'x' });
    expect(headers).toMatchObject({
      'content-type': type,
      'content-disposition': `attachment; filename="x.${ending}"`,
    });
  });

  test('tells what could not be done, in letters that a header can hold', async () => {
    const begun = await begunSpeech(world({ notes: ['Das “ß” fehlt.', 'No songs.'] }).events);
    const { headers } = streamedSound(begun, { format: 'wav', name: 'x' });
    expect(headers?.['x-parley-notes']).toBe('Das ??? fehlt., No songs.');
    expect(noteHeaders([])).toEqual({});
  });

  test('its own headers win', async () => {
    const file = { format: 'wav', name: 'x', headers: { 'content-type': 'audio/x-wav' } } as const;
    expect(streamedSound(await begunSpeech(world().events), file).headers).toMatchObject(file.headers);
  });
});

describe('speech that goes wrong', () => {
  test('before its first sound keeps its own status', async () => {
    const refusal = new AppError('unsupported', { feature: 'This', instead: 'no' });
    await expect(begunSpeech(world({ refusal }).events)).rejects.toBe(refusal);
  });

  test('without any sound is one that was stopped', async () => {
    await expect(begunSpeech((async function* () {})())).rejects.toMatchObject({ code: 'stopped' });
  });

  test('in its middle breaks the stream, so that half a file is not taken for a whole one', async () => {
    const reply = streamedSound(await begunSpeech(world({ failure: lost }).events), { format: 'wav', name: 'x' });
    await expect('stream' in reply && textOf(reply.stream)).rejects.toBe(lost);
  });

  test('in its middle is no whole file', async () => {
    const begun = await begunSpeech(world({ failure: lost }).events);
    await expect(wholeSound(begun, { format: 'wav', name: 'x' })).rejects.toBe(lost);
  });
});

test('whoever stops listening ends the speech', async () => {
  const { events, seen } = world({ pieces: ['a', 'b', 'c'] });
  const begun = await begunSpeech(events);
  for await (const _ of begun.events) break;
  expect(seen.returned).toBe(1);
});

test('all sound is all pieces in their order', async () => {
  const begun = await begunSpeech(world({ pieces: ['1', '2', '3'] }).events);
  expect(String(await allSound(begun.events))).toBe('123');
});
