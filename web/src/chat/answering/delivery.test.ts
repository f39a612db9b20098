import { describe, expect, test } from 'vitest';
import type { call as callServer } from '../../api/call.ts';
import { Failure } from '../../api/failure.ts';
import { awaited, type DeliveryParts, polled, standingWords, streamed } from './delivery.ts';
import type { Reply } from './reply.ts';

type Answer = () => Response | Promise<Response>;

/** A server that answers each path with the next of its answers; the last one again and again. */
function server(answers: Readonly<Record<string, readonly Answer[]>>) {
  const asked: string[] = [];
  const texts: string[] = [];
  const standings: string[] = [];
  const controller = new AbortController();
  const call = (async (path: string) => {
    const list = answers[path] ?? [];
    const at = asked.filter((one) => one === path).length;
    asked.push(path);
    const answer = list[Math.min(at, list.length - 1)];
    if (!answer) throw new Failure('unknown', 404);
    return answer();
  }) as typeof callServer;
  const parts: DeliveryParts = {
    call,
    wait: async () => {},
    signal: controller.signal,
    onReply: ({ text }: Reply) => texts.push(text),
    onStanding: (words) => standings.push(words),
  };
  return { parts, asked, texts, standings, controller };
}

const chunk = (content: string, finish: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ delta: { content }, finish_reason: finish }] })}\n\n`;
const stream =
  (...frames: string[]): Answer =>
  () =>
    new Response(frames.join(''));
const broken =
  (...frames: string[]): Answer =>
  () => {
    let at = 0;
    return new Response(
      new ReadableStream({
        pull(controller) {
          const frame = frames[at];
          at += 1;
          if (frame === undefined) controller.error(new TypeError('network error'));
          else controller.enqueue(new TextEncoder().encode(frame));
        },
      }),
    );
  };
const check =
  (result: object): Answer =>
  () =>
    Response.json({ results: [result] });
const chat = 'v1/chat/completions';
const look = 'api/extra/generate/check';
const body = { genkey: 'K1' };

describe('a stream', () => {
  test('is told piece by piece, and where it stands before', async () => {
    const { parts, texts, standings } = server({
      [chat]: [
        stream(': queue position 2, about 8 s\n\n', chunk('Hel'), chunk('lo'), chunk('', 'stop'), 'data: [DONE]\n\n'),
      ],
    });
    expect(await streamed(body, parts)).toMatchObject({ text: 'Hello', finish: 'stop' });
    expect(texts).toEqual(['Hel', 'Hello', 'Hello']);
    expect(standings).toEqual(['Number 2 in the queue, about 8 s']);
  });

  test.each([
    ['breaks', broken(chunk('Hel'))],
    ['ends too early', stream(chunk('Hel'))],
  ])('that %s goes on by its key', async (_, answer) => {
    const { parts, asked } = server({
      [chat]: [answer],
      [look]: [check({ text: 'Hello th', finish_reason: null }), check({ text: 'Hello there', finish_reason: 'stop' })],
    });
    expect(await streamed(body, parts)).toMatchObject({ text: 'Hello there', finish: 'stop', failed: undefined });
    expect(asked).toEqual([chat, look, look]);
  });

  test('that broke behind its end is whole', async () => {
    const { parts, asked } = server({ [chat]: [broken(chunk('Hello', 'stop'))] });
    expect(await streamed(body, parts)).toMatchObject({ text: 'Hello', finish: 'stop' });
    expect(asked).toEqual([chat]);
  });

  test('with an error in it keeps what came before', async () => {
    const { parts } = server({
      [chat]: [stream(chunk('So'), 'data: {"error":{"message":"It broke."}}\n\ndata: [DONE]\n\n')],
    });
    expect(await streamed(body, parts)).toMatchObject({ text: 'So', finish: 'error', failed: 'It broke.' });
  });

  test('that the server refuses is a failure', async () => {
    const { parts } = server({
      [chat]: [() => Promise.reject(new Failure('The queue is full.', 503))],
    });
    await expect(streamed(body, parts)).rejects.toThrow('The queue is full.');
  });

  test('that somebody stops is not asked for again', async () => {
    const { parts, asked, controller } = server({
      [chat]: [
        () => {
          controller.abort();
          return broken(chunk('Hel'))();
        },
      ],
    });
    await expect(streamed(body, parts)).rejects.toThrow();
    expect(asked).toEqual([chat]);
  });
});

describe('polling', () => {
  test('shows what there is each second, and takes the whole reply at the end', async () => {
    let finish: (response: Response) => void = () => {};
    const whole = new Promise<Response>((resolve) => {
      finish = resolve;
    });
    const reply = {
      choices: [{ message: { content: 'Hello there' }, finish_reason: 'stop' }],
      usage: { completion_tokens: 3 },
    };
    const { parts, texts, standings } = server({
      [chat]: [() => whole],
      [look]: [
        check({ text: '', finish_reason: null, queue_position: 1, queue_estimate: 3 }),
        check({ text: '<think>Hm</think>Hel', finish_reason: null }),
        () => {
          finish(Response.json(reply));
          return check({ text: 'Hello th', finish_reason: null })();
        },
      ],
    });
    expect(await polled(body, parts)).toMatchObject({ text: 'Hello there', finish: 'stop', tokens: 3 });
    expect(texts).toContain('Hel');
    expect(texts.at(-1)).toBe('Hello there');
    expect(standings).toEqual(['Next in the queue, about 3 s']);
  });

  test('goes on by the key when the connection is lost', async () => {
    const { parts } = server({
      [chat]: [() => Promise.reject(new TypeError('network error'))],
      [look]: [check({ text: 'Hello', finish_reason: 'length' })],
    });
    expect(await polled(body, parts)).toMatchObject({ text: 'Hello', finish: 'length' });
  });

  test('fails where the server refuses', async () => {
    const { parts } = server({
      [chat]: [() => Promise.reject(new Failure('Too long.', 400))],
      [look]: [check({ text: '' })],
    });
    await expect(polled(body, parts)).rejects.toThrow('Too long.');
  });
});

describe('a reply that another page began', () => {
  test('is fetched until it is whole, with its thoughts apart', async () => {
    const { parts, texts } = server({
      [look]: [
        check({ text: '<think>Hm', finish_reason: null }),
        check({ text: '<think>Hm.</think>Hello', finish_reason: 'stop' }),
      ],
    });
    expect(await awaited('K1', parts)).toMatchObject({ text: 'Hello', reasoning: 'Hm.', finish: 'stop' });
    expect(texts).toEqual(['', 'Hello']);
  });

  test('that the server does not know is lost, and says so', async () => {
    const { parts } = server({ [look]: [check({ text: '' })] });
    expect(await awaited('K1', parts)).toMatchObject({ finish: 'lost', failed: expect.stringContaining('Retry') });
  });

  test('that ended with an error says so and keeps its text', async () => {
    const { parts } = server({ [look]: [check({ text: 'So', finish_reason: 'error' })] });
    expect(await awaited('K1', parts)).toMatchObject({
      text: 'So',
      finish: 'error',
      failed: expect.stringContaining('failed'),
    });
  });

  test('waits for a server that is away for a while', async () => {
    const away = () => Promise.reject(new TypeError('network error'));
    const { parts } = server({ [look]: [away, away, check({ text: 'Hello', finish_reason: 'stop' })] });
    expect(await awaited('K1', parts)).toMatchObject({ text: 'Hello' });
  });

  test('is given up when the server stays away, or wants a key', async () => {
    const away = server({ [look]: [() => Promise.reject(new TypeError('network error'))] });
    expect(await awaited('K1', away.parts)).toMatchObject({
      finish: 'lost',
      failed: expect.stringContaining('not responding'),
    });
    expect(away.asked).toHaveLength(30);
    const locked = server({ [look]: [() => Promise.reject(new Failure('The server needs an API key.', 401))] });
    expect(await awaited('K1', locked.parts)).toMatchObject({ failed: 'The server needs an API key.' });
    expect(locked.asked).toHaveLength(1);
  });
});

test.each([
  ['queue position 1, about 0 s', 'Next in the queue'],
  ['queue position 4, about 12 s', 'Number 4 in the queue, about 12 s'],
  ['loading big model, 42 %', 'Loading big model … 42 %'],
  ['keep-alive', ''],
])('the comment %j is shown as %j', (comment, words) => {
  expect(standingWords(comment)).toBe(words);
});
