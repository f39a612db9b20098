import { describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { AppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import type { TaskServices } from '../../core/task-services.ts';
import { sentencesOf } from '../../engines/speech/sentences.ts';
import type { Call, ClientKey } from '../../http/call.ts';
import type { HttpServerOptions } from '../../http/server.ts';
import { serve } from '../../http/testing/world.ts';
import {
  dialectParts,
  finishEvent,
  type Script,
  scriptedChat,
  scriptedTranscription,
  startEvent,
} from '../testing/doubles.ts';
import { scriptedSpeech } from '../testing/spoken.ts';
import { realtimeEndpoints, realtimeSockets } from './routes.ts';
import { eventLog } from './testing/event-log.ts';

interface WireEvent {
  readonly type: string;
  readonly [name: string]: unknown;
}

interface WorldOptions {
  readonly headers?: Record<string, string>;
  readonly protocols?: string[];
  readonly query?: string;
  readonly services?: TaskServices;
  readonly server?: Partial<HttpServerOptions>;
}

/** A client of a server whose engines play scripts. */
async function connected(
  script: Script,
  { headers = {}, protocols = [], query = '', services, server }: WorldOptions = {},
) {
  const { chat, asked } = scriptedChat(script);
  const speech = scriptedSpeech({ pieces: ['pcm!', 'PCM?'] });
  const ears = scriptedTranscription([
    { type: 'segment', segment: { start: 0, end: 1, text: ' Good morning.' } },
    { type: 'finish', seconds: 1, language: 'en', notes: [] },
  ]);
  const taskServices = services ?? { speech: speech.speech, transcription: ears.transcription };
  const context = dialectParts({ chat, taskServices });
  let ids = 0;
  let used = 0;
  const release = (): void => {
    used -= 1;
  };
  const parts = {
    newId: (prefix: string) => `${prefix}${++ids}`,
    splitSentences: sentencesOf,
    useModel: async () => {
      used += 1;
      return { context, release };
    },
  };
  const sockets = realtimeSockets(parts);
  const world = await serve([], { sockets, ...server });
  const client = new WebSocket(`ws://127.0.0.1:${world.port}/v1/realtime${query}`, protocols, { headers });
  onTestFinished(() => client.terminate());
  const { events, add, next } = eventLog<WireEvent>();
  client.on('message', (data) => add(JSON.parse(String(data)) as WireEvent));
  client.on('error', () => undefined);
  const refused = new Promise<number>((resolve) =>
    client.on('unexpected-response', (_, reply) => resolve(reply.statusCode ?? 0)),
  );
  const opened = new Promise<void>((resolve) => client.on('open', () => resolve()));
  const send = (event: object): void => client.send(JSON.stringify(event));
  return { client, events, next, send, opened, refused, asked, speech, ears, world, used: () => used };
}

const saying = (...texts: readonly string[]): GenerationEvent[] => [
  startEvent(),
  ...texts.map((text): GenerationEvent => ({ type: 'text-delta', text })),
  finishEvent(),
];

const names = (events: readonly WireEvent[]): string[] => events.map(({ type }) => type);
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('realtime: a response', () => {
  test('is spoken sentence by sentence, in the order of the protocol', async () => {
    const talk = await connected(saying('Hello ', 'there. ', 'How are', ' you?'));
    await talk.opened;
    talk.send({ type: 'response.create', response: { metadata: { topic: 'x' } } });
    const done = await talk.next('response.done');
    const delta = 'response.output_audio_transcript.delta';
    expect(names(talk.events)).toEqual([
      ...['session.created', 'conversation.created', 'response.created'],
      ...['response.output_item.added', 'conversation.item.added', 'response.content_part.added'],
      ...[delta, 'response.output_audio.delta', 'response.output_audio.delta'],
      ...[delta, 'response.output_audio.delta', 'response.output_audio.delta'],
      ...['response.output_audio.done', 'response.output_audio_transcript.done', 'response.content_part.done'],
      ...['response.output_item.done', 'conversation.item.done', 'response.done'],
    ]);
    const deltas = talk.events.filter(({ type }) => type === delta).map((event) => event.delta);
    expect(deltas).toEqual(['Hello there. ', 'How are you?']);
    expect(talk.events.find(({ type }) => type === 'response.output_audio.delta')?.delta).toBe(base64('pcm!'));
    expect(talk.speech.asked.map(({ request }) => [request.text, request.voice, request.format])).toEqual([
      ['Hello there.', 'slt', 'pcm'],
      ['How are you?', 'slt', 'pcm'],
    ]);
    expect(done.response).toMatchObject({
      status: 'completed',
      status_details: null,
      metadata: { topic: 'x' },
      output: [
        {
          type: 'message',
          status: 'completed',
          content: [{ type: 'output_audio', transcript: 'Hello there. How are you?' }],
        },
      ],
      usage: { total_tokens: 12, input_tokens: 7, output_tokens: 5, input_token_details: { cached_tokens: 3 } },
    });
    expect(talk.used()).toBe(0);
  });

  test('as text: has no speech', async () => {
    const talk = await connected(saying('Hello ', 'there.'));
    await talk.opened;
    talk.send({ type: 'response.create', response: { output_modalities: ['text'] } });
    await talk.next('response.done');
    expect(talk.events.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta)).toEqual([
      'Hello ',
      'there.',
    ]);
    expect(await talk.next('response.output_text.done')).toMatchObject({ text: 'Hello there.' });
    expect(talk.speech.asked).toEqual([]);
  });

  test('of the beta: has the older names and shapes', async () => {
    const talk = await connected(saying('Hello.'), { headers: { 'OpenAI-Beta': 'realtime=v1' } });
    await talk.opened;
    talk.send({
      type: 'conversation.item.create',
      item: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
    });
    talk.send({ type: 'response.create' });
    const done = await talk.next('response.done');
    expect(await talk.next('session.created')).toMatchObject({
      session: {
        object: 'realtime.session',
        modalities: ['text', 'audio'],
        input_audio_format: 'pcm16',
        turn_detection: { type: 'server_vad' },
      },
    });
    for (const type of [
      'conversation.item.created',
      'response.audio.delta',
      'response.audio.done',
      'response.audio_transcript.delta',
    ]) {
      expect(names(talk.events)).toContain(type);
    }
    expect(
      names(talk.events).filter(
        (type) => /output_audio|item\.(added|done)$/.test(type) && !type.startsWith('response.output_item'),
      ),
    ).toEqual([]);
    expect(done.response).toMatchObject({
      modalities: ['text', 'audio'],
      output: [{ content: [{ type: 'audio', transcript: 'Hello.' }] }],
    });
  });

  test('in G.711: is a third of the rate, one byte a sample', async () => {
    const talk = await connected(saying('Hello.'));
    await talk.opened;
    talk.send({ type: 'session.update', session: { audio: { output: { format: { type: 'audio/pcmu' } } } } });
    talk.send({ type: 'response.create' });
    await talk.next('response.done');
    const deltas = talk.events.filter(({ type }) => type === 'response.output_audio.delta');
    const bytes = deltas.reduce((sum, { delta }) => sum + Buffer.from(String(delta), 'base64').length, 0);
    expect(bytes).toBe(1);
  });

  test('with a call: the call is an item, and its result is answered', async () => {
    const calling: GenerationEvent[] = [
      startEvent(),
      { type: 'text-delta', text: 'One moment.' },
      { type: 'tool-start', index: 0, id: 'call_7', name: 'weather' },
      { type: 'tool-delta', index: 0, json: '{"city":' },
      { type: 'tool-delta', index: 0, json: '"Rome"}' },
      { type: 'tool-end', index: 0 },
      finishEvent({ reason: 'tool-calls' }),
    ];
    const talk = await connected(calling);
    await talk.opened;
    const tools = [{ type: 'function', name: 'weather', parameters: { type: 'object', properties: {} } }];
    talk.send({ type: 'session.update', session: { tools, tool_choice: 'required' } });
    talk.send({ type: 'response.create' });
    const done = await talk.next('response.done');
    expect(await talk.next('response.function_call_arguments.done')).toMatchObject({
      call_id: 'call_7',
      name: 'weather',
      arguments: '{"city":"Rome"}',
      output_index: 1,
    });
    // The words before the call are spoken first.
    expect(names(talk.events).indexOf('response.output_audio.done')).toBeLessThan(
      names(talk.events).indexOf('response.function_call_arguments.delta'),
    );
    expect(done.response).toMatchObject({
      status: 'completed',
      output: [{ type: 'message' }, { type: 'function_call', status: 'completed' }],
    });
    talk.send({
      type: 'conversation.item.create',
      item: { type: 'function_call_output', call_id: 'call_7', output: 'sunny' },
    });
    talk.send({ type: 'response.create', response: { tool_choice: 'none' } });
    await talk.next('response.done', 2);
    const { request } = talk.asked[1] ?? {};
    expect(request?.toolChoice).toEqual({ type: 'none' });
    expect(request?.conversation.messages).toMatchObject([
      { role: 'assistant', toolCalls: [{ id: 'call_7', name: 'weather', json: '{"city":"Rome"}' }] },
      { role: 'tool', callId: 'call_7', toolName: 'weather' },
    ]);
  });

  test('that is cut off: is incomplete', async () => {
    const talk = await connected([
      startEvent(),
      { type: 'text-delta', text: 'Hel' },
      finishEvent({ reason: 'length', cause: 'limit' }),
    ]);
    await talk.opened;
    talk.send({ type: 'response.create', response: { max_output_tokens: 1 } });
    expect((await talk.next('response.done')).response).toMatchObject({
      status: 'incomplete',
      status_details: { type: 'incomplete', reason: 'max_output_tokens' },
    });
    expect(talk.asked[0]?.request.controls.maxTokens).toBe(1);
  });

  test('that does not fit: is tried without the oldest turns', async () => {
    const overflow = new AppError('context-overflow', { promptTokens: 9000, contextSize: 4096 });
    let tries = 0;
    const talk = await connected(async function* () {
      tries += 1;
      if (tries < 3) yield { type: 'error', error: overflow };
      else yield* saying('Yes.');
    });
    await talk.opened;
    for (const text of ['one', 'two', 'three', 'four', 'five']) {
      talk.send({
        type: 'conversation.item.create',
        item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
      });
    }
    talk.send({ type: 'response.create' });
    expect((await talk.next('response.done')).response).toMatchObject({ status: 'completed' });
    expect(talk.asked.map(({ request }) => request.conversation.messages.length)).toEqual([5, 3, 2]);
  });

  test('without a voice: fails, and says what is missing', async () => {
    const talk = await connected(saying('Hello.'), { services: {} });
    await talk.opened;
    talk.send({ type: 'response.create' });
    expect((await talk.next('response.done')).response).toMatchObject({
      status: 'failed',
      status_details: { error: { code: 'model_not_loaded', message: expect.stringContaining('--ttsmodel') } },
    });
  });

  test('is followed as a request of its own', async () => {
    const seen: string[] = [];
    const observeRequest: HttpServerOptions['observeRequest'] = ({ family, endpoint, headers }) => ({
      decoded: () => void seen.push(`${family} ${endpoint} ${headers['sec-websocket-protocol']}`),
      replied: (status) => void seen.push(String(status)),
      ended: (how) => void seen.push(how),
    });
    const protocols = ['realtime', 'openai-insecure-api-key.secret'];
    const talk = await connected(saying('Hello.'), { protocols, server: { observeRequest } });
    await talk.opened;
    talk.send({ type: 'response.create' });
    await talk.next('response.done');
    expect(seen).toEqual(['200', 'realtime /v1/realtime realtime', 'sent']);
    expect(talk.asked[0]?.requestContext).toMatchObject({ client: 'address 127.0.0.1', part: 'sess_1' });
  });
});

describe('realtime: speech', () => {
  test('that is committed: is transcribed as a WAV file, and the transcript is sent', async () => {
    const talk = await connected(saying('Yes.'));
    await talk.opened;
    talk.send({
      type: 'session.update',
      session: { audio: { input: { turn_detection: null, transcription: { model: 'x', language: 'German' } } } },
    });
    talk.send({ type: 'input_audio_buffer.append', audio: Buffer.alloc(300_000).toString('base64') });
    talk.send({ type: 'input_audio_buffer.commit' });
    expect(await talk.next('conversation.item.input_audio_transcription.completed')).toMatchObject({
      transcript: 'Good morning.',
      usage: { type: 'duration', seconds: 1 },
    });
    expect(talk.ears.asked[0]?.request).toMatchObject({ language: 'de', translate: false });
    expect(talk.ears.asked[0]?.request.recording.length).toBe(300_044);
    talk.send({ type: 'response.create' });
    await talk.next('response.done');
    expect(talk.asked[0]?.request.conversation.messages).toMatchObject([
      { role: 'user', content: [{ text: 'Good morning.' }] },
    ]);
  });

  test('without ears: the transcription fails, and the connection stays', async () => {
    const talk = await connected(saying('Yes.'), { services: {}, query: '?intent=transcription' });
    await talk.opened;
    talk.send({ type: 'transcription_session.update', session: { turn_detection: null } });
    talk.send({ type: 'input_audio_buffer.append', audio: Buffer.alloc(48_000).toString('base64') });
    talk.send({ type: 'input_audio_buffer.commit' });
    expect(await talk.next('conversation.item.input_audio_transcription.failed')).toMatchObject({
      error: { code: 'model_not_loaded' },
    });
    expect(talk.client.readyState).toBe(WebSocket.OPEN);
  });
});

describe('realtime: the connection', () => {
  test('an event that cannot be honoured: gets an error with its id, and the next is handled', async () => {
    const talk = await connected(saying('Yes.'));
    await talk.opened;
    talk.client.send('no json');
    talk.send({ type: 'bad', event_id: 'mine' });
    talk.send({ type: 'response.create', response: { output_modalities: ['text'] } });
    await talk.next('response.done');
    const errors = talk.events.filter(({ type }) => type === 'error').map(({ error }) => error);
    expect(errors).toMatchObject([
      { type: 'invalid_request_error', code: 'invalid_event', event_id: null },
      { type: 'invalid_request_error', code: 'invalid_value', param: 'type', event_id: 'mine' },
    ]);
  });

  test('the key as a subprotocol: is accepted and not sent back', async () => {
    const server = { guard: { password: 'secret' } };
    const right = ['openai-insecure-api-key.secret', 'realtime', 'openai-beta.realtime-v1'];
    const talk = await connected(saying(), { server, protocols: right });
    await talk.opened;
    expect(talk.client.protocol).toBe('realtime');
    const encoded = `parley-key.${Buffer.from('secret').toString('base64url')}`;
    await (await connected(saying(), { server, protocols: ['realtime', encoded] })).opened;
    const wrong = await connected(saying(), { server, protocols: ['realtime', 'openai-insecure-api-key.guess'] });
    expect(await wrong.refused).toBe(401);
    const none = await connected(saying(), { server, protocols: ['realtime'] });
    expect(await none.refused).toBe(401);
  });

  test('a key without the scope chat: hears, and gets no answers', async () => {
    const key = { name: 'ears', scopes: ['audio'], weight: 1 };
    const server = { guard: { keys: { find: () => key, use: () => 0 } } };
    const talk = await connected(saying('Yes.'), { server, headers: { authorization: 'Bearer k' } });
    await talk.opened;
    talk.send({ type: 'response.create' });
    expect((await talk.next('response.done')).response).toMatchObject({
      status: 'failed',
      status_details: { error: { message: expect.stringContaining('chat') } },
    });
  });

  test('a response uses the memories of its key', async () => {
    const key = { name: 'anna', scopes: ['audio', 'chat'], weight: 1, shared: false };
    const server = { guard: { keys: { find: () => key, use: () => 0 } } };
    const talk = await connected(saying('Yes.'), { server, headers: { authorization: 'Bearer k' } });
    await talk.opened;
    talk.send({ type: 'response.create' });
    await talk.next('response.done');
    expect(talk.asked[0]?.requestContext.sender).toEqual({ key });
  });

  test('a key that is over its rate: its response fails', async () => {
    const key = { name: 'k', scopes: ['audio', 'chat'], weight: 1 };
    let uses = 0;
    const server = { guard: { keys: { find: () => key, use: () => (++uses > 1 ? 7 : 0) } } };
    const talk = await connected(saying('Yes.'), { server, headers: { authorization: 'Bearer k' } });
    await talk.opened;
    talk.send({ type: 'response.create' });
    expect((await talk.next('response.done')).response).toMatchObject({
      status_details: { error: { code: 'rate_limit_exceeded' } },
    });
  });

  /** Sends as much silence as can be committed, and commits it. */
  const commit = (talk: Awaited<ReturnType<typeof connected>>): void => {
    talk.send({ type: 'input_audio_buffer.append', audio: Buffer.alloc(48_000).toString('base64') });
    talk.send({ type: 'input_audio_buffer.commit' });
  };
  const byHand = {
    type: 'session.update',
    session: { audio: { input: { turn_detection: null, transcription: { model: 'x' } } } },
  };
  const completed = 'conversation.item.input_audio_transcription.completed';
  const failed = 'conversation.item.input_audio_transcription.failed';

  test('each committed recording counts against the rate of its key, and is refused above it', async () => {
    const key = { name: 'k', scopes: ['audio', 'chat'], weight: 1 };
    let uses = 0;
    const server = { guard: { keys: { find: () => key, use: () => (++uses > 2 ? 7 : 0) } } };
    const talk = await connected(saying('Yes.'), { server, headers: { authorization: 'Bearer k' } });
    await talk.opened;
    talk.send(byHand);
    commit(talk);
    await talk.next(completed);
    commit(talk);
    expect(await talk.next(failed)).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
    expect(talk.ears.asked).toHaveLength(1);
    expect(talk.client.readyState).toBe(WebSocket.OPEN);
  });

  test('a key that was revoked: nothing more is transcribed, and the connection is closed with 1008', async () => {
    let key: ClientKey | undefined = { name: 'k', scopes: ['audio', 'chat'], weight: 1 };
    const server = { guard: { keys: { find: () => key, use: () => 0 } } };
    const talk = await connected(saying('Yes.'), { server, headers: { authorization: 'Bearer k' } });
    const closed = new Promise<number>((resolve) => talk.client.on('close', resolve));
    await talk.opened;
    talk.send(byHand);
    commit(talk);
    await talk.next(completed);
    key = undefined;
    commit(talk);
    await talk.next(failed);
    expect(await closed).toBe(1008);
    expect(talk.ears.asked).toHaveLength(1);
  });

  test('a key that has lost the scope audio: its recordings are refused', async () => {
    let key: ClientKey = { name: 'k', scopes: ['audio'], weight: 1 };
    const server = { guard: { keys: { find: () => key, use: () => 0 } } };
    const talk = await connected(saying('Yes.'), { server, headers: { authorization: 'Bearer k' } });
    await talk.opened;
    talk.send(byHand);
    key = { ...key, scopes: ['chat'] };
    commit(talk);
    expect(await talk.next(failed)).toMatchObject({ error: { message: expect.stringContaining('audio') } });
    expect(talk.ears.asked).toEqual([]);
  });

  test('--ratelimit: applies to recordings, and not to the response that answers one', async () => {
    const talk = await connected(saying('Yes.'), { server: { rateLimitSeconds: 60 } });
    await talk.opened;
    talk.send(byHand);
    commit(talk);
    await talk.next(completed);
    talk.send({ type: 'response.create' });
    expect((await talk.next('response.done')).response).toMatchObject({ status: 'completed' });
    commit(talk);
    expect(await talk.next(failed)).toMatchObject({ error: { code: 'server_busy' } });
  });

  test('a recording is followed as a request of its own', async () => {
    const seen: string[] = [];
    const observeRequest: HttpServerOptions['observeRequest'] = () => ({
      authorized: () => void seen.push('authorized'),
      replied: (status) => void seen.push(String(status)),
      ended: (how) => void seen.push(how),
    });
    const talk = await connected(saying('Yes.'), { server: { observeRequest } });
    await talk.opened;
    talk.send(byHand);
    commit(talk);
    await talk.next(completed);
    expect(seen).toEqual(['authorized', '200', 'sent']);
    expect(talk.ears.asked[0]?.requestContext).toMatchObject({ requestId: expect.stringMatching(/^req_/) });
  });

  test('a response that is cancelled while it is spoken: releases the model, and is not a failure', async () => {
    const errors: unknown[] = [];
    const over: string[] = [];
    const observeRequest = () => ({
      errored: (error: unknown) => void errors.push(error),
      ended: (how: string) => void over.push(how),
    });
    const { speech } = scriptedSpeech();
    // A voice that never comes to an end.
    const endless: typeof speech.speak = async function* (_request, { signal }) {
      yield { type: 'audio', bytes: Buffer.from('pcm!') };
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    };
    const calling: GenerationEvent[] = [
      startEvent(),
      { type: 'text-delta', text: 'One moment. Yes.' },
      { type: 'tool-start', index: 0, id: 'call_7', name: 'weather' },
      { type: 'tool-end', index: 0 },
      finishEvent({ reason: 'tool-calls' }),
    ];
    const services = { speech: { ...speech, speak: endless } };
    const talk = await connected(calling, { services, server: { observeRequest } });
    await talk.opened;
    talk.send({ type: 'response.create' });
    await talk.next('response.output_audio.delta');
    talk.send({ type: 'response.cancel' });
    expect((await talk.next('response.done')).response).toMatchObject({
      status: 'cancelled',
      output: [{ status: 'incomplete', content: [{ transcript: 'One moment. ' }] }],
    });
    await expect.poll(() => [talk.used(), over, errors]).toEqual([0, ['sent'], []]);
  });

  test('the client leaves in the middle of a response: it is aborted, and the model released', async () => {
    const talk = await connected(async function* () {
      yield startEvent();
      yield { type: 'text-delta', text: 'Once upon a time. And' };
      await new Promise((resolve) => talk.asked[0]?.requestContext.signal.addEventListener('abort', resolve));
      yield finishEvent({ reason: 'aborted', cause: 'aborted' });
    });
    await talk.opened;
    talk.send({ type: 'response.create' });
    await talk.next('response.output_audio.delta');
    expect(talk.used()).toBe(1);
    talk.client.terminate();
    await expect.poll(() => talk.used()).toBe(0);
    expect(talk.asked[0]?.requestContext.signal.aborted).toBe(true);
  });

  test('more than a hundred connections: are closed with 1013', async () => {
    const talk = await connected(saying('Yes.'));
    await talk.opened;
    const address = `ws://127.0.0.1:${talk.world.port}/v1/realtime`;
    const others = Array.from({ length: 100 }, () => new WebSocket(address));
    onTestFinished(() => {
      for (const other of others) other.terminate();
    });
    const codes = await Promise.race(others.map((other) => new Promise((resolve) => other.on('close', resolve))));
    expect(codes).toBe(1013);
  });

  test('the server stops: the connection is closed with 1001', async () => {
    const talk = await connected(saying('Yes.'));
    await talk.opened;
    const closed = new Promise<number>((resolve) => talk.client.on('close', resolve));
    await talk.world.drain();
    expect(await closed).toBe(1001);
  });
});

test('realtime: a request without an upgrade gets 426 with the reason', async () => {
  const endpoints = realtimeEndpoints.map((endpoint) => ({
    ...endpoint,
    access: 'open' as const,
    rateLimited: false,
    handle: (call: Call) => endpoint.handle(call, undefined),
  }));
  const world = await serve(endpoints);
  const reply = await fetch(`http://127.0.0.1:${world.port}/v1/realtime`);
  expect([reply.status, reply.headers.get('upgrade')]).toEqual([426, 'websocket']);
  expect(await reply.json()).toMatchObject({ error: { message: expect.stringContaining('is a WebSocket') } });
});
