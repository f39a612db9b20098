import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { OpenAIRealtimeWS as BetaRealtime } from 'openai/beta/realtime/ws';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { testTls } from '../../src/http/testing/certificate.ts';
import { eventLog } from '../../src/protocols/realtime/testing/event-log.ts';
import { neverEnding } from '../live/client.ts';
import { type LiveServer, liveServers } from '../live/server.ts';

/** The official client opens `wss:` addresses only. */
const folder = mkdtempSync(join(tmpdir(), 'parley-realtime-'));
const files = [join(folder, 'certificate.pem'), join(folder, 'key.pem')] as const;
const startServer = liveServers();
const options = { ca: testTls.certificate };
let server: LiveServer;
let client: OpenAI;

beforeAll(async () => {
  writeFileSync(files[0], testTls.certificate);
  writeFileSync(files[1], testTls.key);
  // No reply ends by itself: those that are interrupted are long enough for it, whatever the model says.
  const defaults = ['--gendefaults', JSON.stringify(neverEnding), '--defaultgenamt', '1200'];
  server = await startServer(['--ssl', ...files, '--password', 'secret', ...defaults]);
  client = new OpenAI({ baseURL: `https://localhost:${server.port}/v1`, apiKey: 'secret' });
});
afterAll(() => rmSync(folder, { recursive: true }));

type AnyEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

/** Follows all events of a client, of either version. */
async function follow<Talk extends OpenAIRealtimeWS | BetaRealtime>(talk: Talk) {
  const { events, add, next } = eventLog<AnyEvent>();
  (talk as OpenAIRealtimeWS).on('event', (event: unknown) => add(event as AnyEvent));
  (talk as OpenAIRealtimeWS).on('error', () => undefined);
  onTestFinished(() => talk.close());
  await new Promise((resolve) => talk.socket.once('open', resolve));
  const all = (type: string): AnyEvent[] => events.filter((event) => event.type === type);
  return { talk, next, all, events, done: async (count = 1) => (await next('response.done', count)).response as Done };
}

interface Done {
  readonly status: string;
  readonly status_details: { readonly reason?: string } | null;
  readonly output: readonly { readonly type: string; readonly content?: readonly { readonly transcript?: string }[] }[];
}

const connect = () => follow(new OpenAIRealtimeWS({ model: 'gpt-realtime', options }, client));
const userMessage = (text: string) => ({
  type: 'conversation.item.create' as const,
  item: { type: 'message' as const, role: 'user' as const, content: [{ type: 'input_text' as const, text }] },
});
const lengthOf = (deltas: readonly AnyEvent[]): number =>
  deltas.reduce((sum, { delta }) => sum + Buffer.from(String(delta), 'base64').length, 0);

/** The voice of the server, as PCM at 24 kHz. */
function speechOf(input: string): Promise<Buffer> {
  const headers = { authorization: 'Bearer secret', 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const call = request(
      `https://localhost:${server.port}/v1/audio/speech`,
      { method: 'POST', headers, ...options },
      async (reply) => {
        resolve(Buffer.concat(await reply.toArray()));
      },
    );
    call.on('error', reject).end(JSON.stringify({ input, response_format: 'pcm' }));
  });
}

/** As a microphone delivers it, but faster: in tenths of a second, between silences. */
function hear({ talk }: Pick<Awaited<ReturnType<typeof connect>>, 'talk'>, speech: Buffer): void {
  const second = Buffer.alloc(48_000);
  const all = Buffer.concat([second, speech, second]);
  for (let at = 0; at < all.length; at += 4800) {
    const audio = all.subarray(at, at + 4800).toString('base64');
    talk.send({ type: 'input_audio_buffer.append', audio });
  }
}

describe('OpenAIRealtimeWS', () => {
  test('text in: the answer is spoken, and its transcript is what the model said', async () => {
    const talk = await connect();
    talk.talk.send(userMessage('Hello, who are you?'));
    talk.talk.send({ type: 'response.create', response: { max_output_tokens: 40 } });
    const { output } = await talk.done();
    const transcript = output[0]?.content?.[0]?.transcript ?? '';
    expect(transcript).not.toBe('');
    expect(
      talk
        .all('response.output_audio_transcript.delta')
        .map(({ delta }) => delta)
        .join(''),
    ).toBe(transcript);
    // Half a second at least, at 48,000 bytes a second.
    expect(lengthOf(talk.all('response.output_audio.delta'))).toBeGreaterThan(24_000);
  });

  test('speech in: is detected, transcribed and answered; speech during the answer interrupts it', async () => {
    const talk = await connect();
    const update = {
      max_output_tokens: 40,
      audio: { input: { transcription: { model: 'whisper-1' } } },
    };
    talk.talk.send({ type: 'session.update', session: { type: 'realtime', ...update } });
    const speech = await speechOf('What is the capital of France?');
    hear(talk, speech);
    await talk.next('input_audio_buffer.speech_started');
    await talk.next('input_audio_buffer.speech_stopped');
    const transcription = await talk.next('conversation.item.input_audio_transcription.completed');
    expect(String(transcription.transcript).toLowerCase()).toContain('capital of france');
    expect((await talk.done()).status).toBe('incomplete');
    expect(lengthOf(talk.all('response.output_audio.delta'))).toBeGreaterThan(24_000);

    talk.talk.send(userMessage('Tell me a long story about a fox, a river and a bridge.'));
    talk.talk.send({ type: 'response.create', response: { max_output_tokens: 'inf' } });
    await talk.next('response.created', 2);
    hear(talk, speech);
    expect(await talk.done(2)).toMatchObject({ status: 'cancelled', status_details: { reason: 'turn_detected' } });
    // What was said is answered in turn.
    expect((await talk.done(3)).status).toBe('incomplete');
  });

  test('a response is cancelled, and what was heard of another is kept', async () => {
    const talk = await connect();
    talk.talk.send(userMessage('Tell me a long story about a fox, a river and a bridge.'));
    talk.talk.send({ type: 'response.create' });
    await talk.next('response.created');
    talk.talk.send({ type: 'response.cancel' });
    expect(await talk.done()).toMatchObject({ status: 'cancelled', status_details: { reason: 'client_cancelled' } });
    talk.talk.send({ type: 'response.create', response: { max_output_tokens: 30 } });
    await talk.next('response.output_audio.done');
    const { item_id } = await talk.next('response.output_audio.done');
    const truncate = { item_id: String(item_id), content_index: 0, audio_end_ms: 0 };
    talk.talk.send({ type: 'conversation.item.truncate', ...truncate });
    talk.talk.send({ type: 'conversation.item.retrieve', item_id: truncate.item_id });
    expect(await talk.next('conversation.item.retrieved')).toMatchObject({ item: { content: [{ transcript: '' }] } });
  });

  test('a function is called, and its result answered', async () => {
    const talk = await connect();
    const parameters = {
      type: 'object',
      properties: { city: { type: 'string', enum: ['Paris', 'Rome'] } },
      required: ['city'],
    };
    const tools = [
      { type: 'function' as const, name: 'get_weather', description: 'The weather of a city.', parameters },
    ];
    talk.talk.send({ type: 'session.update', session: { type: 'realtime', tools } });
    talk.talk.send(userMessage('What is the weather in Paris?'));
    const tool_choice = { type: 'function' as const, name: 'get_weather' };
    talk.talk.send({ type: 'response.create', response: { tool_choice, max_output_tokens: 80 } });
    const call = await talk.next('response.function_call_arguments.done');
    expect(call.name).toBe('get_weather');
    expect(['Paris', 'Rome']).toContain((JSON.parse(String(call.arguments)) as { city: string }).city);
    expect(await talk.done()).toMatchObject({ status: 'completed', output: [{ type: 'function_call' }] });
    const output = {
      type: 'function_call_output' as const,
      call_id: String(call.call_id),
      output: '{"weather":"sunny"}',
    };
    talk.talk.send({ type: 'conversation.item.create', item: output });
    const answer = { tool_choice: 'none' as const, output_modalities: ['text' as const], max_output_tokens: 40 };
    talk.talk.send({ type: 'response.create', response: answer });
    expect((await talk.done(2)).status).toMatch(/^(completed|incomplete)$/);
  });

  test('an event that is wrong: gets an error, and the connection stays', async () => {
    const talk = await connect();
    talk.talk.send({ type: 'response.cancel', event_id: 'mine' });
    expect(await talk.next('error')).toMatchObject({ error: { code: 'response_cancel_not_active', event_id: 'mine' } });
    talk.talk.send(userMessage('Hello'));
    await talk.next('conversation.item.done');
  });

  test('a wrong key: is refused', async () => {
    const wrong = new OpenAI({ baseURL: client.baseURL, apiKey: 'guess' });
    const talk = new OpenAIRealtimeWS({ model: 'x', options }, wrong);
    const error = await new Promise<Error>((resolve) => talk.on('error', resolve));
    expect(error.message).toContain('401');
  });
});

test('the client of the beta: gets the events by their older names', async () => {
  const talk = await follow(new BetaRealtime({ model: 'gpt-4o-realtime-preview', options }, client));
  expect(await talk.next('session.created')).toMatchObject({
    session: { modalities: ['text', 'audio'], voice: 'alloy' },
  });
  talk.talk.send(userMessage('Hello, who are you?'));
  talk.talk.send({ type: 'response.create', response: { max_response_output_tokens: 20 } });
  await talk.done();
  expect(talk.all('conversation.item.created').length).toBe(2);
  expect(lengthOf(talk.all('response.audio.delta'))).toBeGreaterThan(10_000);
  expect(await talk.next('response.audio_transcript.done')).toMatchObject({ transcript: expect.stringMatching(/\w/) });
});
