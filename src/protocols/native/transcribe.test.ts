import { describe, expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import type { TranscriptionEvent } from '../../core/transcription.ts';
import { handTimer } from '../../http/testing/world.ts';
import { bind } from '../testing/bind.ts';
import { callOf, dialectParts, scriptedTranscription } from '../testing/doubles.ts';
import { asking, type Proof, proveFidelity, tableOf } from '../testing/fidelity-proof.ts';
import { transcribeEndpoint } from './speech.ts';

const script: readonly TranscriptionEvent[] = [
  { type: 'start', seconds: 2 },
  { type: 'segment', segment: { start: 0, end: 1, text: ' Hello' } },
  { type: 'segment', segment: { start: 1, end: 2, text: ' there.' } },
  { type: 'finish', seconds: 2, language: 'en', notes: [] },
];
const path = '/api/extra/transcribe';
const sound = Buffer.from('sound').toString('base64');

function world(events: readonly TranscriptionEvent[] | Error = script) {
  const { transcription, asked } = scriptedTranscription(events);
  const endpoint = bind(transcribeEndpoint, { ...dialectParts(), taskServices: { transcription } });
  return { endpoint, endpoints: [endpoint], asked };
}

const ask = (events?: readonly TranscriptionEvent[] | Error) => asking(() => world(events), 'POST', path);

test('transcribe: text of a recording in JSON', async () => {
  const { status, reply, asked } = await ask()({ audio_data: sound });
  expect([status, JSON.parse(reply)]).toEqual([200, { text: 'Hello there.' }]);
  expect(asked).toMatchObject([{ request: { recording: 'sound', translate: false, words: false } }]);
});

test('transcribe: warnings are beside the text', async () => {
  const finish = { type: 'finish', seconds: 2, language: 'en', notes: ['prompt has no effect'] } as const;
  const { reply } = await ask([...script.slice(0, 3), finish])({ audio_data: sound });
  expect(JSON.parse(reply)).toEqual({ text: 'Hello there.', warnings: ['prompt has no effect'] });
});

describe('transcribe: errors have the shape of this dialect', () => {
  test.each([
    ['no recording', {}, 400, /file must be a recording/],
    ['no base64', { audio_data: '!' }, 400, /audio_data must be a recording in base64/],
    ['no language', { audio_data: sound, langcode: 'klingon' }, 400, /langcode must be auto, or a language/],
  ])('%s', async (_, body, status, sentence) => {
    const seen = await ask()(body);
    expect(seen.status).toBe(status);
    expect(JSON.parse(seen.reply)).toEqual({ detail: { msg: expect.stringMatching(sentence), type: 'bad_input' } });
    expect(seen.asked).toEqual([]);
  });

  test('errors of the engine, with the name of the field', async () => {
    const error = new AppError('invalid-field', { field: 'file', expected: 'a recording, and this is text' });
    const { status, reply } = await ask(error)({ audio_data: sound });
    expect(status).toBe(400);
    expect(JSON.parse(reply)).toMatchObject({ detail: { msg: 'audio_data must be a recording, and this is text.' } });
  });

  test('without a recognizer', async () => {
    const endpoint = bind(transcribeEndpoint, dialectParts());
    const seen = await asking(() => ({ endpoints: [endpoint], asked: [] }), 'POST', path)({ audio_data: sound });
    expect(seen.status).toBe(503);
    expect(JSON.parse(seen.reply)).toMatchObject({ detail: { type: 'service_unavailable' } });
  });
});

test('transcribe: padding while it waits, and late errors in the body', async () => {
  const time = handTimer();
  let fail: (error: Error) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  const transcription = {
    name: 'ear',
    async *transcribe(): AsyncGenerator<TranscriptionEvent> {
      yield { type: 'start', seconds: 2 };
      await failed;
    },
  };
  const endpoint = bind(transcribeEndpoint, { taskServices: { transcription }, startTimer: time.startTimer });
  const headers = { 'x-koboldcpp-keepalive': 'true' };
  const answer = Promise.resolve(endpoint.handle(callOf(path, { audio_data: sound }, { headers })));
  await new Promise((resolve) => setImmediate(resolve));
  time.pass(15_000);
  const reply = await answer;
  fail(new AppError('engine-lost', { capability: 'transcription' }));
  let text = '';
  if ('stream' in reply) for await (const piece of reply.stream) text += piece;
  expect(JSON.parse(text)).toMatchObject({ text: '', detail: { type: 'server_error' } });
});

const request = (value: object): object => ({ request: value });
const proofs: Readonly<Record<string, Proof>> = {
  file: { send: { file: Buffer.from('other').toString('base64') }, asks: request({ recording: 'other' }) },
  audio_data: {
    send: { file: undefined, audio_data: `data:audio/wav;base64,${Buffer.from('more').toString('base64')}` },
    asks: request({ recording: 'more' }),
    refuses: [{ file: undefined, audio_data: 'data:audio/wav,plain' }],
  },
  prompt: { send: { prompt: 'Names: Ann' }, asks: request({ prompt: 'Names: Ann' }) },
  temperature: { send: { temperature: '7' }, asks: request({ temperature: 1 }) },
  suppress_non_speech: { send: { suppress_non_speech: 'true' }, asks: request({ suppressNonSpeech: true }) },
  genkey: { send: { genkey: 'K1' }, asks: { requestContext: { genkey: 'K1' } } },
  langcode: { beside: { language: 'en' }, send: { langcode: 'de' }, asks: request({ language: 'de' }) },
  language: { send: { language: 'French' }, asks: request({ language: 'fr' }), refuses: [{ language: 'klingon' }] },
};

proveFidelity({
  table: tableOf([transcribeEndpoint], 'POST /api/extra/transcribe'),
  base: { file: sound },
  ask: ask(),
  proofs,
  refusal: (reply) => expect(reply).toMatchObject({ detail: { msg: expect.any(String), type: 'bad_input' } }),
  silent: true,
});
