import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import { decodeEvent, readEnvelope } from './decode.ts';
import type { ServerEvent } from './encode.ts';
import { initialSettings } from './fields.ts';
import { type ResponseJob, Session, type Transcript } from './session.ts';
import { waitingAudio } from './waiting-audio.ts';

const rate = 24_000;

/** A session whose engines wait for the test. */
function world(type: 'realtime' | 'transcription' = 'realtime', hold = waitingAudio()()) {
  const told: ServerEvent[] = [];
  const heard: {
    resolve: (heard: Transcript) => void;
    reject: (error: unknown) => void;
    signal: AbortSignal;
    ms: number;
  }[] = [];
  const jobs: (ResponseJob & { readonly end: (error?: unknown) => void })[] = [];
  let ids = 0;
  let listenings = 0;
  const ended: unknown[] = [];
  const session = new Session({
    settings: initialSettings('mini', type),
    conversationId: 'conv',
    newId: (prefix) => `${prefix}${++ids}`,
    send: (event) => told.push(structuredClone(event)),
    work: {
      listen: () => {
        listenings += 1;
        return {
          transcribe: (recording, _settings, _tell, signal) =>
            new Promise((resolve, reject) => {
              heard.push({ resolve, reject, signal, ms: (recording.length - 44) / (rate / 500) });
            }),
          end: (error) => void ended.push(error),
        };
      },
      hold,
      respond: (job) =>
        new Promise((resolve, reject) => {
          jobs.push({ ...job, end: (error) => (error === undefined ? resolve() : reject(error)) });
        }),
    },
  });
  const send = (event: object): void => session.receive(decodeEvent(readEnvelope(JSON.stringify(event))));
  const append = (samples: Int16Array): void =>
    send({ type: 'input_audio_buffer.append', audio: Buffer.from(samples.buffer).toString('base64') });
  /** All that was told since the last call. */
  const events = (): ServerEvent[] => told.splice(0);
  const types = (): string[] => events().map(({ type: name }) => name);
  return { session, send, append, events, types, heard, jobs, ended, listenings: () => listenings };
}

/** A tone that stands for a voice, with its loudness going up and down as that of words. */
const voice = (ms: number): Int16Array =>
  Int16Array.from({ length: (ms * rate) / 1000 }, (_, index) => {
    const swell = 0.55 + 0.45 * Math.sin((2 * Math.PI * 4 * index) / rate);
    return 12_000 * swell * Math.sin((2 * Math.PI * 300 * index) / rate);
  });
const quiet = (ms: number): Int16Array => new Int16Array((ms * rate) / 1000);
const settled = () => new Promise((resolve) => setImmediate(resolve));

const question = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] };
const lastEnd = (events: readonly ServerEvent[]) => {
  const done = events.findLast((event) => event.type === 'response.done');
  return done?.type === 'response.done' ? done.response.end : undefined;
};

/** Speaks a turn, and lets the ears hear these words. */
async function speak({ append, heard }: ReturnType<typeof world>, words: string): Promise<void> {
  append(quiet(400));
  append(voice(800));
  append(quiet(700));
  heard.at(-1)?.resolve({ transcript: words, seconds: 1 });
  await settled();
}

describe('turns by voice activity', () => {
  test('speech and a pause: are committed, transcribed and answered', async () => {
    const talk = world();
    talk.send({ type: 'session.update', session: { audio: { input: { transcription: { model: 'any' } } } } });
    talk.append(quiet(400));
    talk.events();
    talk.append(voice(800));
    expect(talk.types()).toEqual(['input_audio_buffer.speech_started']);
    talk.append(quiet(300));
    // The words are heard before the pause is long enough.
    expect([talk.types(), talk.heard.length]).toEqual([[], 1]);
    talk.append(quiet(400));
    expect(talk.types()).toEqual([
      'input_audio_buffer.speech_stopped',
      'input_audio_buffer.committed',
      'conversation.item.added',
      'conversation.item.done',
    ]);
    expect(talk.heard.length).toBe(1);
    talk.heard[0]?.resolve({ transcript: 'Hello there', seconds: 1 });
    await settled();
    expect(talk.types()).toEqual([
      'conversation.item.input_audio_transcription.delta',
      'conversation.item.input_audio_transcription.completed',
      'response.created',
    ]);
    expect(talk.jobs[0]?.items).toMatchObject([{ role: 'user', parts: [{ transcript: 'Hello there' }] }]);
  });

  test('times: are milliseconds of audio since the connection began', () => {
    const talk = world();
    talk.append(quiet(1000));
    talk.append(voice(800));
    talk.append(quiet(700));
    const [started = 0, stopped = 0] = talk
      .events()
      .flatMap((event) =>
        event.type === 'input_audio_buffer.speech_started'
          ? event.audio_start_ms
          : event.type === 'input_audio_buffer.speech_stopped'
            ? event.audio_end_ms
            : [],
      );
    expect(started).toBeGreaterThanOrEqual(680);
    expect(started).toBeLessThan(800);
    expect(stopped).toBeGreaterThanOrEqual(2280);
    expect(stopped).toBeLessThan(2400);
  });

  test('a pause that is too short: what was heard early is dropped, and the whole turn heard', async () => {
    const talk = world();
    talk.append(quiet(400));
    talk.append(voice(600));
    talk.append(quiet(300));
    talk.append(voice(600));
    expect(talk.heard[0]?.signal.aborted).toBe(true);
    talk.append(quiet(700));
    expect(talk.heard.length).toBe(2);
    expect(talk.heard[1]?.ms).toBeGreaterThan(1500);
  });

  test('a turn that is heard several times: is one request, which ends with its transcript', async () => {
    const talk = world();
    await speak(talk, 'Hello');
    expect([talk.listenings(), talk.ended]).toEqual([1, [undefined]]);
    talk.append(voice(600));
    talk.append(quiet(300));
    talk.append(voice(600));
    talk.append(quiet(700));
    expect([talk.listenings(), talk.heard.length]).toEqual([2, 3]);
    talk.heard.at(-1)?.resolve({ transcript: 'there', seconds: 1 });
    await settled();
    expect(talk.ended).toEqual([undefined, undefined]);
  });

  test('a turn that is cleared: its request ends', () => {
    const talk = world();
    talk.append(quiet(400));
    talk.append(voice(600));
    talk.send({ type: 'input_audio_buffer.clear' });
    expect(talk.ended).toEqual([undefined]);
  });

  test('noise without words: gets no answer', async () => {
    const talk = world();
    await speak(talk, '');
    expect(talk.types()).not.toContain('response.created');
  });

  test('the user goes on before the answer has begun: one answer to both turns', async () => {
    const talk = world();
    await speak(talk, 'First');
    talk.jobs[0]?.writer.sentence('Well, ');
    talk.append(voice(800));
    expect(lastEnd(talk.events())).toEqual({ type: 'cancelled', reason: 'turn_detected' });
    expect(talk.jobs[0]?.signal.aborted).toBe(true);
    talk.append(quiet(700));
    talk.heard.at(-1)?.resolve({ transcript: 'Second', seconds: 1 });
    await settled();
    expect(talk.jobs.length).toBe(2);
    const said = talk.jobs[1]?.items.map((item) => item.type === 'message' && item.parts[0]);
    expect(said).toMatchObject([{ transcript: 'First' }, { transcript: 'Well, ' }, { transcript: 'Second' }]);
  });

  test('interrupt_response false: the response goes on, and the turn is answered afterwards', async () => {
    const talk = world();
    talk.send({
      type: 'session.update',
      session: { turn_detection: { type: 'server_vad', interrupt_response: false } },
    });
    await speak(talk, 'First');
    await speak(talk, 'Second');
    expect([talk.jobs.length, talk.jobs[0]?.signal.aborted]).toEqual([1, false]);
    talk.jobs[0]?.end();
    await settled();
    expect(talk.jobs.length).toBe(2);
  });

  test('create_response false: the client asks for the response', async () => {
    const talk = world();
    talk.send({ type: 'session.update', session: { turn_detection: { type: 'server_vad', create_response: false } } });
    await speak(talk, 'Hello');
    expect(talk.jobs.length).toBe(0);
    talk.send({ type: 'response.create' });
    await settled();
    expect(talk.jobs.length).toBe(1);
  });

  test('failed transcription: sends an error event and no response', async () => {
    const talk = world();
    talk.append(quiet(400));
    talk.append(voice(800));
    talk.append(quiet(700));
    const error = new AppError('engine-lost', { capability: 'transcription' });
    talk.heard[0]?.reject(error);
    await settled();
    // What was heard early is tried once more.
    talk.heard[1]?.reject(error);
    await settled();
    expect(talk.events().at(-1)).toMatchObject({
      type: 'error',
      error: { message: expect.stringContaining('stopped in the middle') },
    });
    expect(talk.jobs.length).toBe(0);
  });

  test('a transcription session: hears, and never answers', async () => {
    const talk = world('transcription');
    await speak(talk, 'Hello');
    expect(talk.types()).toContain('conversation.item.input_audio_transcription.completed');
    expect(talk.jobs.length).toBe(0);
    expect(() => talk.send({ type: 'response.create' })).toThrow('no responses');
  });
});

describe('audio that the client commits', () => {
  const manual = () => {
    const talk = world();
    talk.send({ type: 'session.update', session: { turn_detection: null } });
    talk.events();
    return talk;
  };

  test('is one item, and the response waits for its words', async () => {
    const talk = manual();
    talk.append(voice(500));
    talk.append(quiet(2000));
    talk.send({ type: 'input_audio_buffer.commit' });
    talk.send({ type: 'response.create' });
    await settled();
    expect(talk.types()).toEqual([
      'input_audio_buffer.committed',
      'conversation.item.added',
      'conversation.item.done',
      'response.created',
    ]);
    expect([talk.jobs.length, talk.heard[0]?.ms]).toEqual([0, 2500]);
    talk.heard[0]?.resolve({ transcript: 'Hello', seconds: 1 });
    await settled();
    expect(talk.jobs[0]?.items.length).toBe(1);
  });

  test('less than 100 ms, or more than 300 s: is refused', () => {
    const talk = manual();
    talk.append(voice(80));
    expect(() => talk.send({ type: 'input_audio_buffer.commit' })).toThrow('less than 100 ms');
    for (let second = 0; second < 290; second += 10) talk.append(quiet(10_000));
    expect(() => talk.append(quiet(10_000))).toThrow('is full');
    talk.send({ type: 'input_audio_buffer.clear' });
    expect(talk.types()).toEqual(['input_audio_buffer.cleared']);
    talk.append(quiet(10_000));
  });
});

describe('responses', () => {
  test('only one at a time; a cancelled one makes room', async () => {
    const talk = world();
    talk.send({ type: 'conversation.item.create', item: question });
    talk.send({ type: 'response.create' });
    await settled();
    expect(() => talk.send({ type: 'response.create' })).toThrow('is not over');
    talk.send({ type: 'response.cancel' });
    expect(lastEnd(talk.events())).toEqual({ type: 'cancelled', reason: 'client_cancelled' });
    expect(() => talk.send({ type: 'response.cancel' })).toThrow('no response to cancel');
    talk.send({ type: 'response.create' });
    await settled();
    // What the cancelled one still says is dropped.
    talk.events();
    talk.jobs[0]?.writer.sentence('Late.');
    talk.jobs[0]?.end();
    await settled();
    expect(talk.types()).toEqual([]);
    expect(talk.jobs.length).toBe(2);
  });

  test('an engine that fails: the response is over with its error', async () => {
    const talk = world();
    talk.send({ type: 'response.create' });
    await settled();
    talk.jobs[0]?.end(new AppError('busy', { retryAfterSeconds: 1 }));
    await settled();
    expect(lastEnd(talk.events())).toMatchObject({
      type: 'failed',
      error: { message: expect.stringContaining('busy') },
    });
  });

  test('overrides hold for one response', async () => {
    const talk = world();
    talk.send({ type: 'session.update', session: { instructions: 'Be kind.', voice: 'nova' } });
    talk.send({ type: 'response.create', response: { instructions: 'Be rude.', output_modalities: ['text'] } });
    await settled();
    expect(talk.jobs[0]?.settings).toMatchObject({ instructions: 'Be rude.', modality: 'text', voice: 'nova' });
    talk.jobs[0]?.end();
    await settled();
    talk.send({ type: 'response.create' });
    await settled();
    expect(talk.jobs[1]?.settings).toMatchObject({ instructions: 'Be kind.', modality: 'audio' });
  });

  test('conversation none: reads its input, and leaves the conversation as it is', async () => {
    const talk = world();
    talk.send({ type: 'conversation.item.create', item: { ...question, id: 'first' } });
    talk.send({ type: 'conversation.item.create', item: { ...question, id: 'second' } });
    const input = [{ type: 'item_reference', id: 'second' }, question];
    talk.send({ type: 'response.create', response: { conversation: 'none', input, metadata: { topic: 'x' } } });
    await settled();
    expect(talk.jobs[0]?.items.map(({ id }) => id)).toEqual(['second', expect.stringMatching(/^item_/)]);
    talk.events();
    talk.jobs[0]?.writer.sentence('Aside.');
    talk.jobs[0]?.end();
    await settled();
    expect(talk.types()).not.toContain('conversation.item.added');
  });

  test('a spoken answer: is truncated to what was heard', async () => {
    const talk = world();
    talk.send({ type: 'response.create' });
    await settled();
    const { writer } = talk.jobs[0] as ResponseJob;
    writer.sentence('One two. ');
    writer.audio(new Uint8Array(48_000), 1000);
    writer.sentence('Three four.');
    writer.audio(new Uint8Array(48_000), 1000);
    const added = talk.events().find((event) => event.type === 'conversation.item.added');
    const item_id = added?.type === 'conversation.item.added' ? added.item.id : '';
    talk.jobs[0]?.end();
    await settled();
    talk.send({ type: 'conversation.item.truncate', item_id, content_index: 0, audio_end_ms: 1000 });
    talk.send({ type: 'conversation.item.retrieve', item_id });
    expect(talk.events().at(-1)).toMatchObject({ item: { parts: [{ transcript: 'One two. ' }] } });
  });

  test('the connection ends: aborts everything, and sends no more events', async () => {
    const talk = world();
    talk.append(quiet(400));
    talk.append(voice(800));
    talk.append(quiet(700));
    talk.send({ type: 'response.create' });
    talk.events();
    talk.session.close();
    expect(talk.heard[0]?.signal.aborted).toBe(true);
    talk.heard[0]?.reject(new Error('aborted'));
    await settled();
    talk.heard[1]?.reject(new Error('aborted'));
    await settled();
    expect([talk.types(), talk.jobs.length]).toEqual([[], 0]);
  });
});

describe('events that cannot be honoured', () => {
  const wrong: readonly [object, string][] = [
    [{ type: 'session.update' }, 'session must be an object'],
    [{ type: 'session.update', session: { audio: { input: { format: { type: 'audio/mp3' } } } } }, 'audio/pcmu'],
    [{ type: 'session.update', session: { output_modalities: [] } }, '["audio"] or ["text"]'],
    [{ type: 'session.update', session: { turn_detection: { threshold: 7 } } }, 'from 0 to 1'],
    [{ type: 'session.update', session: { tools: [{ type: 'mcp', server_label: 'x' }] } }, '--mcpfile'],
    [{ type: 'session.update', session: { prompt: { id: 'x' } } }, 'send instructions'],
    [{ type: 'input_audio_buffer.append', audio: '???' }, 'audio in base64'],
    [{ type: 'conversation.item.create', item: { type: 'song' } }, 'item.type must be one of'],
    [{ type: 'conversation.item.create', item: { ...question, content: [{ type: 'input_image' }] } }, 'pictures'],
    [{ type: 'conversation.item.delete', item_id: 'none' }, 'no item "none"'],
    [{ type: 'conversation.item.truncate', item_id: 'none', audio_end_ms: -1 }, 'milliseconds'],
    [{ type: 'output_audio_buffer.clear' }, 'the client plays'],
    [{ type: 'constructor' }, 'no event "constructor"'],
  ];

  test.each(wrong)('%j: is refused', (event, sentence) => {
    expect(() => world().send(event)).toThrow(sentence);
  });

  test('no JSON object: is refused', () => {
    for (const message of ['', '[]', '{', 'null', Buffer.from('{}')])
      expect(() => readEnvelope(message)).toThrow('JSON');
    expect(() => readEnvelope('{}')).toThrow('type');
  });

  test('any event at all: is handled, or refused with a sentence', () => {
    const types = [
      ...['session.update', 'transcription_session.update', 'input_audio_buffer.append', 'input_audio_buffer.commit'],
      ...['conversation.item.create', 'conversation.item.truncate', 'response.create', 'response.cancel'],
    ];
    const value = fc.oneof(fc.jsonValue(), fc.constantFrom('audio', 'text', 'message', 'function_call', 'server_vad'));
    const inner = fc.dictionary(
      fc.constantFrom('type', 'audio', 'content', 'role', 'tools', 'turn_detection', 'instructions', 'input', 'voice'),
      value,
    );
    const names = fc.constantFrom(
      'session',
      'response',
      'item',
      'audio',
      'item_id',
      'audio_end_ms',
      'previous_item_id',
    );
    const event = fc.tuple(fc.constantFrom(...types), fc.dictionary(names, fc.oneof(inner, value)));
    fc.assert(
      fc.property(fc.array(event, { maxLength: 8 }), (events) => {
        const talk = world();
        for (const [type, fields] of events) {
          try {
            talk.send({ ...fields, type });
          } catch (error) {
            expect(error).toBeInstanceOf(AppError);
          }
        }
        talk.session.close();
      }),
    );
  });

  test('fields without effect: are named, and the others take effect', () => {
    const talk = world();
    talk.send({ type: 'session.update', session: { instructions: 'x', tracing: 'auto', flavour: 1 } });
    expect(talk.events()).toMatchObject([
      { type: 'session.updated', session: { instructions: 'x' }, ignored: ['tracing', 'flavour'] },
    ]);
  });
});

describe('audio that waits to be transcribed', () => {
  const limits = { connectionBytes: 2 * rate, totalBytes: 3 * rate };
  const input = { turn_detection: null, transcription: { model: 'x' } };

  test('a commit above the limit of the connection: is refused, and the buffer stays', async () => {
    const talk = world('realtime', waitingAudio(limits)());
    talk.send({ type: 'session.update', session: { audio: { input } } });
    talk.append(quiet(600));
    talk.send({ type: 'input_audio_buffer.commit' });
    await settled();
    talk.append(quiet(600));
    const commit = () => talk.send({ type: 'input_audio_buffer.commit' });
    expect(commit).toThrow('Too much audio waits');
    expect(talk.heard.length).toBe(1);
    talk.heard[0]?.resolve({ transcript: 'Hello', seconds: 1 });
    await settled();
    commit();
    await settled();
    expect(talk.heard.length).toBe(2);
  });

  test('an item with audio above the limit: is refused, and not added', () => {
    const talk = world('realtime', waitingAudio(limits)());
    const audio = Buffer.from(quiet(600).buffer).toString('base64');
    const content = [1, 2].map(() => ({ type: 'input_audio', audio }));
    const create = (id: string) =>
      talk.send({ type: 'conversation.item.create', item: { id, type: 'message', role: 'user', content } });
    expect(() => create('a')).toThrow('Too much audio waits');
    expect(() => talk.send({ type: 'conversation.item.retrieve', item_id: 'a' })).toThrow('no item');
    expect(talk.heard).toEqual([]);
  });

  test('a detected turn above the limit: its transcription fails', async () => {
    const talk = world('realtime', () => undefined);
    talk.send({ type: 'session.update', session: { audio: { input: { transcription: { model: 'x' } } } } });
    talk.append(quiet(400));
    talk.append(voice(800));
    talk.append(quiet(700));
    talk.heard[0]?.reject(new Error('no ears'));
    await settled();
    expect(talk.types()).toContain('conversation.item.input_audio_transcription.failed');
    expect(talk.heard.length).toBe(1);
  });

  test('the limit of all connections: counts until the audio is released', () => {
    const connection = waitingAudio(limits);
    const [one, other] = [connection(), connection()];
    const release = one(2 * rate);
    expect(other(2 * rate)).toBeUndefined();
    release?.();
    release?.();
    expect(other(2 * rate)).toBeDefined();
    expect(one(2 * rate)).toBeUndefined();
  });
});
