import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { text } from '../../chat/messages.ts';
import type { ChatRequest } from '../../chat/request.ts';
import type { GenerationEvent } from '../../core/events.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { RunningGeneration } from '../../core/text-service.ts';
import { poolOf, type Watch } from './testing/backend-pool.ts';
import { chatRequest, controlsWith, textRequest } from './testing/requests.ts';
import {
  ended,
  json,
  said,
  streamed,
  type Upstream,
  upstream,
  usage,
  wellParley,
  wellVllm,
} from './testing/upstream.ts';
import { RemoteText } from './text.ts';

interface Ready extends Watch {
  readonly engine: RemoteText;
}

async function ready(...engines: readonly Upstream[]): Promise<Ready> {
  return readyAt(engines.map((one) => one.address()));
}

async function readyAt(addresses: Parameters<typeof poolOf>[0]): Promise<Ready> {
  const watch = poolOf(addresses);
  const engine = engineOn(watch);
  engine.start();
  await engine.settled();
  return { ...watch, engine };
}

function engineOn({ pool, clock }: Watch): RemoteText {
  return new RemoteText({
    pool,
    model: undefined,
    name: 'remote',
    defaultContext: 1024,
    now: () => clock.now,
    newCallId: () => 'made',
  });
}

interface Run {
  readonly events: GenerationEvent[];
  readonly over: Promise<void>;
  readonly running: RunningGeneration;
  /** Resolves with the next event of this type. */
  next(type: GenerationEvent['type']): Promise<void>;
}

function run(begin: (sink: { event(event: GenerationEvent): void }) => RunningGeneration): Run {
  const events: GenerationEvent[] = [];
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  const waits: { readonly type: string; readonly come: () => void }[] = [];
  const running = begin({
    event: (event) => {
      events.push(event);
      for (const { type, come } of waits) if (type === event.type) come();
      if (event.type === 'finish' || event.type === 'error') resolve();
    },
  });
  const next = (type: string) => new Promise<void>((come) => void waits.push({ type, come }));
  return { events, over: promise, running, next };
}

const write = (engine: RemoteText, request: Partial<GenerationRequest> = {}) =>
  run((sink) => engine.generate(textRequest(request), 7, sink));
const chat = (engine: RemoteText, request: Partial<ChatRequest> = {}) =>
  run((sink) => engine.chat(chatRequest(request), 7, sink));

async function told(reply: Run): Promise<readonly GenerationEvent[]> {
  await reply.over;
  return reply.events;
}

function errorOf(events: readonly GenerationEvent[]) {
  const last = events.at(-1);
  return last?.type === 'error' ? last.error : undefined;
}

const texts = (words: string) => ({ choices: [{ index: 0, text: words }] });
const hello = streamed(said('Hel'), said('lo'), ended(), usage(9, 2));
/** Sends its head and what it is given, and then nothing. */
const hanging =
  (held: ServerResponse[], ...chunks: readonly object[]) =>
  (_: unknown, response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    for (const chunk of chunks) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    held.push(response);
  };

describe('RemoteText.state', () => {
  test('is ready with the model when a backend responds', async () => {
    const one = await upstream(wellVllm);
    const watch = poolOf([one.address()]);
    const engine = engineOn(watch);
    expect(engine.state()).toEqual({ type: 'loading', name: 'remote', progress: 0 });
    expect(engine.contextSize()).toBe(1024);
    engine.start();
    await engine.settled();
    const state = engine.state();
    expect(state).toMatchObject({
      type: 'ready',
      model: { name: 'model-8b', contextSize: 4096, description: `vLLM at ${one.host}`, sizeBytes: 0 },
    });
    // Whoever keeps what belongs to a model finds it again.
    expect((engine.state() as { model?: object }).model).toBe((state as { model?: object }).model);
    expect(engine.contextSize()).toBe(4096);
    await engine.stop();
    expect(watch.pool.backends[0]?.state.type).toBe('unknown');
  });

  test('has a reason while no backend responds', async () => {
    const one = await upstream(wellVllm);
    const watch = poolOf([one.address()]);
    await one.die();
    const engine = engineOn(watch);
    engine.start();
    await engine.settled();
    expect(engine.state()).toMatchObject({
      type: 'loading',
      trouble: { reason: `${one.base} is not reachable: connection refused` },
    });
    const events = await told(write(engine));
    expect(errorOf(events)).toMatchObject({
      code: 'remote-down',
      status: 503,
      message: `The remote backend at ${one.base} is not reachable: connection refused.`,
    });
  });
});

describe('RemoteText: endless reply', () => {
  /** Sends pieces as fast as they are taken, and tells how many were. */
  const endless =
    (sent: { pieces: number; closed: boolean }, piece: object) => (_: unknown, response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.on('close', () => {
        sent.closed = true;
      });
      const line = `data: ${JSON.stringify(piece)}\n\n`;
      const more = (): void => {
        while (!sent.closed) {
          sent.pieces += 1;
          if (!response.write(line)) return;
        }
      };
      response.on('drain', more);
      more();
    };

  test('RemoteText: a reply past its limit ends with length and closes the upstream request', async () => {
    const sent = { pieces: 0, closed: false };
    const one = await upstream({ ...wellVllm, '/v1/completions': endless(sent, texts('word ')) });
    const { engine } = await ready(one);
    const events = await told(write(engine, { maxTokens: 16 }));
    expect(events.at(-1)).toMatchObject({ type: 'finish', reason: 'length', cause: 'limit' });
    expect(events.length).toBeLessThan(120);
    await expect.poll(() => sent.closed).toBe(true);
  });

  test('RemoteText: pause stops reading from the upstream until resume', async () => {
    const sent = { pieces: 0, closed: false };
    const piece = texts('x'.repeat(16_000));
    const one = await upstream({ ...wellVllm, '/v1/completions': endless(sent, piece) });
    const { engine } = await ready(one);
    let events = 0;
    let running: RunningGeneration | undefined;
    const last = new Promise<GenerationEvent>((resolve) => {
      running = engine.generate(textRequest({ maxTokens: 1e6 }), 7, {
        event: (event) => {
          events += 1;
          if (events === 10) running?.pause?.();
          if (event.type === 'finish') resolve(event);
        },
      });
    });
    // The buffers of both sockets fill up, and then nothing moves any more.
    let before = -1;
    await expect
      .poll(
        () => {
          const still = before === sent.pieces && events >= 10;
          before = sent.pieces;
          return still;
        },
        { interval: 100, timeout: 10_000 },
      )
      .toBe(true);
    const paused = { events, pieces: sent.pieces };
    expect(paused.events).toBeLessThan(50);
    running?.resume?.();
    await expect.poll(() => events).toBeGreaterThan(paused.events + 10);
    running?.abort();
    expect(await last).toMatchObject({ reason: 'aborted' });
  });

  test('RemoteText: an event of many megabytes is an error at once', async () => {
    const sent = { pieces: 0, closed: false };
    const flood = (_: unknown, response: ServerResponse): void => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.on('close', () => {
        sent.closed = true;
      });
      response.write('data: {"choices":[{"index":0,"text":"');
      const more = (): void => {
        while (!sent.closed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', more);
      more();
    };
    const one = await upstream({ ...wellVllm, '/v1/completions': flood });
    const { engine } = await ready(one);
    const error = errorOf(await told(write(engine)));
    expect(error).toMatchObject({ code: 'remote-lost', status: 502 });
    expect(error?.message).toContain('without completing an event');
    await expect.poll(() => sent.closed).toBe(true);
  });
});

describe('RemoteText: reply', () => {
  test('a chat sends messages and streams events', async () => {
    const one = await upstream({ ...wellVllm, '/v1/chat/completions': hello });
    const { engine } = await ready(one);
    const events = await told(chat(engine));
    expect(events.map(({ type }) => type)).toEqual(['start', 'text-delta', 'text-delta', 'finish']);
    expect(events.at(-1)).toMatchObject({ reason: 'stop', usage: { promptTokens: 9, completionTokens: 2 } });
    expect(one.asked('/v1/chat/completions')[0]?.body).toMatchObject({
      model: 'org/model-8b',
      messages: [{ role: 'user', content: 'Hi' }],
    });
  });

  test('a chat sends the trace context on, if it has one', async () => {
    const one = await upstream({ ...wellVllm, '/v1/chat/completions': hello });
    const { engine } = await ready(one);
    await told(run((sink) => engine.chat(chatRequest(), 7, { ...sink, traceparent: '00-aa-bb-01' })));
    await told(chat(engine));
    const sent = one.asked('/v1/chat/completions').map(({ headers }) => headers.traceparent);
    expect(sent).toEqual(['00-aa-bb-01', undefined]);
  });

  test('a completion sends its prompt', async () => {
    const one = await upstream({
      ...wellVllm,
      '/v1/completions': streamed(texts(' upon'), texts(' a'), ended('length')),
    });
    const { engine } = await ready(one);
    const events = await told(write(engine));
    expect(events.filter((event) => event.type === 'text-delta').map(({ text: words }) => words)).toEqual([
      ' upon',
      ' a',
    ]);
    expect(events.at(-1)).toMatchObject({ reason: 'length' });
    expect(one.asked('/v1/completions')[0]?.body).toMatchObject({ prompt: 'Once' });
  });

  test('the start event has unsupported controls', async () => {
    const one = await upstream({ ...wellVllm, '/v1/chat/completions': hello });
    const { engine } = await ready(one);
    const [start] = await told(chat(engine, { controls: controlsWith({}, { mirostat: 2, typical: 0.9 }) }));
    expect(start).toMatchObject({ type: 'start', ignored: ['typical', 'mirostat'], seed: -1 });
  });

  test('fields that its address passes on are sent as they are, and are not unsupported', async () => {
    const one = await upstream({ ...wellVllm, '/v1/chat/completions': hello });
    const { engine } = await readyAt([one.address(',pass=mirostat,pass=guided_*')]);
    const passed: string[] = [];
    const sent = {
      fields: { mirostat: 2, guided_regex: 'a+', stream: false, other: 1 },
      passed: (names: readonly string[]) => passed.push(...names),
    };
    const request = chatRequest({ controls: controlsWith({}, { mirostat: 2, typical: 0.9 }) });
    const [start] = await told(run((sink) => engine.chat(request, 7, { ...sink, sent })));
    expect(start).toMatchObject({ type: 'start', ignored: ['typical'] });
    expect(passed).toEqual(['mirostat', 'guided_regex']);
    expect(one.asked('/v1/chat/completions')[0]?.body).toMatchObject({ mirostat: 2, guided_regex: 'a+', stream: true });
    expect(one.asked('/v1/chat/completions')[0]?.body).not.toHaveProperty('other');
  });

  test('the start event has what another Parley ignored', async () => {
    const headers = { 'x-parley-ignored': 'user, seed', 'x-parley-dropped-tokens': '12' };
    const one = await upstream({
      ...wellParley,
      '/v1/chat/completions': (received, response) => {
        for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
        return hello(received, response);
      },
    });
    const { engine } = await ready(one);
    const [start] = await told(chat(engine));
    expect(start).toMatchObject({ ignored: ['user', 'seed'], droppedTokens: 12, seed: 7 });
  });

  test('its progress in the prompt is told; the start event has the length only for those who ask', async () => {
    const reading = (processed: number) => ({ choices: [], prompt_progress: { total: 40, cache: 8, processed } });
    const reply = streamed(reading(8), reading(24), said('Hello'), ended());
    const one = await upstream({ ...wellParley, '/v1/chat/completions': reply });
    const { engine } = await ready(one);
    const seen: unknown[] = [];
    const promptProgress = (progress: object) => void seen.push(progress);
    const [start] = await told(run((sink) => engine.chat(chatRequest(), 7, { ...sink, promptProgress })));
    expect(start).toMatchObject({ type: 'start', promptTokens: 0 });
    expect(seen).toEqual([
      { done: 0, total: 32 },
      { done: 16, total: 32 },
    ]);
    const call = { promptProgress, reportsProgress: true };
    const [early, ...rest] = await told(run((sink) => engine.chat(chatRequest(), 7, { ...sink, ...call })));
    expect(early).toMatchObject({ type: 'start', promptTokens: 40, cachedTokens: 8 });
    expect(rest.map(({ type }) => type)).toEqual(['text-delta', 'finish']);
    expect(one.asked('/v1/chat/completions')[0]?.body).toMatchObject({ return_progress: true });
  });

  test('progress in the prompt that a backend does not tell is unsupported, and not asked for', async () => {
    const one = await upstream({ ...wellVllm, '/v1/chat/completions': hello });
    const { engine } = await ready(one);
    const [start] = await told(chat(engine, { controls: { ...controlsWith({}), reportsProgress: true } }));
    expect(start).toMatchObject({ ignored: ['return_progress'] });
    expect(one.asked('/v1/chat/completions')[0]?.body).not.toHaveProperty('return_progress');
  });

  test('an older Parley that ignores return_progress is no news to those who did not ask', async () => {
    const one = await upstream({
      ...wellParley,
      '/v1/chat/completions': (received, response) => {
        response.setHeader('x-parley-ignored', 'user, return_progress');
        return hello(received, response);
      },
    });
    const { engine } = await ready(one);
    expect((await told(chat(engine)))[0]).toMatchObject({ ignored: ['user'] });
    const [start] = await told(run((sink) => engine.chat(chatRequest(), 7, { ...sink, reportsProgress: true })));
    expect(start).toMatchObject({ ignored: ['user', 'return_progress'] });
  });

  test('reads a response without streaming', async () => {
    const whole = { choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }] };
    const one = await upstream({ ...wellVllm, '/v1/chat/completions': json(whole) });
    const { engine } = await ready(one);
    expect((await told(chat(engine))).map(({ type }) => type)).toEqual(['start', 'text-delta', 'finish']);
  });

  test('an empty reply has start and finish', async () => {
    const one = await upstream({ ...wellVllm, '/v1/chat/completions': streamed(ended()) });
    const { engine } = await ready(one);
    expect((await told(chat(engine))).map(({ type }) => type)).toEqual(['start', 'finish']);
  });

  test('0 tokens: only counts the prompt', async () => {
    const one = await upstream({ ...wellVllm, '/tokenize': json({ count: 4, tokens: [1, 2, 3, 4] }) });
    const { engine } = await ready(one);
    const events = await told(write(engine, { maxTokens: 0 }));
    expect(events.at(-1)).toMatchObject({ reason: 'length', usage: { promptTokens: 4, completionTokens: 0 } });
    const asked = await told(chat(engine, { controls: controlsWith({ maxTokens: 0 }) }));
    expect(asked.at(-1)).toMatchObject({ type: 'finish', usage: { promptTokens: 4 } });
    expect(one.asked('/v1/chat/completions')).toEqual([]);
  });
});

describe('RemoteText: abort', () => {
  test('closes the upstream request and finishes with what has arrived', async () => {
    const held: ServerResponse[] = [];
    const one = await upstream({ ...wellVllm, '/v1/chat/completions': hanging(held, said('Hel')) });
    const { engine, pool } = await ready(one);
    const reply = chat(engine);
    await reply.next('text-delta');
    const closed = new Promise((resolve) => held[0]?.once('close', resolve));
    reply.running.abort();
    await reply.over;
    expect(reply.events.at(-1)).toMatchObject({ type: 'finish', reason: 'aborted', usage: { completionTokens: 1 } });
    await closed;
    expect(pool.backends[0]).toMatchObject({ running: 0, state: { type: 'up' } });
  });

  test('works before the first event', async () => {
    const held: ServerResponse[] = [];
    const one = await upstream({ ...wellVllm, '/v1/chat/completions': hanging(held) });
    const { engine } = await ready(one);
    const reply = chat(engine);
    await expect.poll(() => held.length).toBe(1);
    reply.running.abort();
    expect((await told(reply)).map(({ type }) => type)).toEqual(['start', 'finish']);
  });
});

describe('RemoteText: failure before the first output', () => {
  const busy = json({ error: { message: 'Draining' } }, 503, { 'retry-after': '3' });

  test.each<[string, (engine: Upstream) => Promise<void> | void]>([
    ['is draining', (one) => one.become({ '/v1/chat/completions': busy })],
    ['fails', (one) => one.become({ '/v1/chat/completions': json({ error: 'CUDA' }, 500) })],
    ['is gone', (one) => one.die()],
    [
      'breaks the connection',
      (one) => one.become({ '/v1/chat/completions': (_, response) => void response.destroy() }),
    ],
    [
      'tells an error in its stream',
      (one) => one.become({ '/v1/chat/completions': streamed({ error: { message: 'oom', code: 503 } }) }),
    ],
  ])('%s: retries on another backend', async (_, harm) => {
    const engines = [
      await upstream({ ...wellVllm, '/v1/chat/completions': hello }),
      await upstream({ ...wellVllm, '/v1/chat/completions': hello }),
    ];
    const { engine } = await ready(...engines);
    await told(chat(engine));
    const first = engines.find((one) => one.asked('/v1/chat/completions').length > 0) as Upstream;
    const other = engines.find((one) => one !== first) as Upstream;
    await harm(first);
    const events = await told(chat(engine));
    expect(events.at(-1)).toMatchObject({ type: 'finish', reason: 'stop' });
    expect(events.filter(({ type }) => type === 'start')).toHaveLength(1);
    expect(other.asked('/v1/chat/completions')).toHaveLength(1);
  });

  test('has the reason without another backend', async () => {
    const one = await upstream({ ...wellVllm, '/v1/chat/completions': busy });
    const { engine, pool } = await ready(one);
    expect(errorOf(await told(chat(engine)))).toMatchObject({ code: 'remote-down', details: { retryAfterSeconds: 3 } });
    expect(pool.backends[0]?.state).toMatchObject({ type: 'away', until: 3000 });
    expect(one.asked('/v1/chat/completions')).toHaveLength(1);
  });

  test('an invalid request is not retried', async () => {
    const refused = json({ error: { message: 'This model has no tools.' } }, 400);
    const engines = [
      await upstream({ ...wellVllm, '/v1/chat/completions': refused }),
      await upstream({ ...wellVllm, '/v1/chat/completions': refused }),
    ];
    const { engine } = await ready(...engines);
    const error = errorOf(await told(chat(engine)));
    expect(error).toMatchObject({ code: 'remote-refused', status: 400, message: 'This model has no tools.' });
    expect(engines.flatMap((one) => one.asked('/v1/chat/completions'))).toHaveLength(1);
  });

  test('a stale keep-alive connection is retried on the same backend', async () => {
    let asked = 0;
    const one = await upstream({
      ...wellVllm,
      '/v1/chat/completions': (received, response) => {
        asked += 1;
        if (asked === 2) response.destroy();
        else return hello(received, response);
      },
    });
    const { engine, pool } = await ready(one);
    await told(chat(engine));
    expect((await told(chat(engine))).at(-1)).toMatchObject({ type: 'finish' });
    expect(asked).toBe(3);
    expect(pool.backends[0]?.state.type).toBe('up');
  });

  test('an unsupported grammar sends no request', async () => {
    const one = await upstream({
      '/v1/models': json({ data: [{ id: 'x', owned_by: 'y' }] }),
      '/v1/chat/completions': hello,
    });
    const { engine } = await ready(one);
    const grammar = { gbnf: 'root ::= "a"', retainState: false };
    expect(errorOf(await told(chat(engine, { controls: controlsWith({ grammar }) })))).toMatchObject({
      code: 'unsupported',
    });
    expect(one.asked('/v1/chat/completions')).toEqual([]);
  });
});

describe('RemoteText: failure after the first output', () => {
  test('ends the reply with an error, without a retry', async () => {
    const held: ServerResponse[] = [];
    const engines = [
      await upstream({ ...wellVllm, '/v1/chat/completions': hanging(held, said('Hel')) }),
      await upstream({ ...wellVllm, '/v1/chat/completions': hanging(held, said('Hel')) }),
    ];
    const { engine, pool } = await ready(...engines);
    const reply = chat(engine);
    await reply.next('text-delta');
    held[0]?.destroy();
    const error = errorOf(await told(reply));
    expect(error).toMatchObject({ code: 'remote-lost', status: 502 });
    expect(error?.message).toMatch(
      /^The engine at 127\.0\.0\.1:\d+ broke off in the middle of this reply: connection closed\.$/,
    );
    expect(held).toHaveLength(1);
    expect(pool.backends.every((backend) => backend.isOpen())).toBe(true);
  });

  test('other requests are answered at once by the same backend', async () => {
    const held: ServerResponse[] = [];
    const one = await upstream({ ...wellVllm, '/v1/chat/completions': hanging(held, said('Hel')) });
    const { engine } = await ready(one);
    const reply = chat(engine);
    await reply.next('text-delta');
    one.become({ ...wellVllm, '/v1/chat/completions': hello });
    held[0]?.destroy();
    await reply.over;
    const others = await Promise.all(Array.from({ length: 6 }, () => told(chat(engine))));
    expect(others.map((events) => events.at(-1)?.type)).toEqual(Array(6).fill('finish'));
  });

  test.each<[string, unknown]>([
    ['an error', { error: { message: 'CUDA error.' } }],
    ['what is no JSON', undefined],
  ])('%s in the stream', async (_, chunk) => {
    const one = await upstream({
      ...wellVllm,
      '/v1/chat/completions': (__, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(`data: ${JSON.stringify(said('Hel'))}\n\n`);
        response.end(`data: ${chunk === undefined ? '{"choices": [' : JSON.stringify(chunk)}\n\n`);
      },
    });
    const { engine } = await ready(one);
    expect(errorOf(await told(chat(engine)))).toMatchObject({ code: 'remote-lost' });
  });

  test('a stream without an end', async () => {
    const one = await upstream({
      ...wellVllm,
      '/v1/chat/completions': (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(`data: ${JSON.stringify(said('Hel'))}\n\n`);
      },
    });
    const { engine } = await ready(one);
    expect(errorOf(await told(chat(engine)))?.message).toContain('its stream ended without an end');
  });
});

describe('RemoteText: load balancing', () => {
  test('all turns of a conversation use the same backend, and many conversations all backends', async () => {
    const engines = await Promise.all(
      Array.from({ length: 3 }, () => upstream({ ...wellVllm, '/v1/chat/completions': hello })),
    );
    const { engine } = await ready(...engines);
    const ask = (...words: readonly string[]) => {
      const messages = words.map((one, place) => ({
        role: place % 2 === 0 ? ('user' as const) : ('assistant' as const),
        content: text(one),
      }));
      return told(chat(engine, { conversation: { messages, media: [], tools: [] } }));
    };
    await ask('First');
    const server = engines.find((one) => one.asked('/v1/chat/completions').length === 1);
    await ask('First', 'Yes', 'And?');
    await ask('First', 'Yes', 'And?', 'No', 'Why?');
    expect(server?.asked('/v1/chat/completions')).toHaveLength(3);
    for (let number = 0; number < 30; number += 1) await ask(`Question ${number}`);
    for (const one of engines) expect(one.asked('/v1/chat/completions').length).toBeGreaterThan(0);
  });
});
