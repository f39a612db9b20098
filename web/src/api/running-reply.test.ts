import { describe, expect, test } from 'vitest';
import { chatReplies, type Reply } from '../chat/reply/reply.ts';
import type { call as callServer } from './call.ts';
import { Failure } from './failure.ts';
import { pause, pollReply, type ReplyParts, resumeReply, statusText, streamReply } from './running-reply.ts';

type Answer = () => Response | Promise<Response>;

/** A server that returns the given responses per path in order, and repeats the last one. */
function server(answers: Readonly<Record<string, readonly Answer[]>>) {
  const asked: string[] = [];
  const texts: string[] = [];
  const statuses: string[] = [];
  const controller = new AbortController();
  const call = (async (path: string) => {
    const list = answers[path] ?? [];
    const at = asked.filter((one) => one === path).length;
    asked.push(path);
    const answer = list[Math.min(at, list.length - 1)];
    if (!answer) throw new Failure('unknown', 404);
    return answer();
  }) as typeof callServer;
  const parts: ReplyParts<Reply> = {
    call,
    wait: async () => {},
    signal: controller.signal,
    onReply: ({ text }: Reply) => texts.push(text),
    onStatus: (text) => statuses.push(text),
  };
  return { parts, asked, texts, statuses, controller };
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
const checks = 'api/extra/generate/check';
const body = { genkey: 'K1' };

describe('streamReply', () => {
  test('reports the queue position, then each piece of text', async () => {
    const { parts, texts, statuses } = server({
      [chat]: [
        stream(': queue position 2, about 8 s\n\n', chunk('Hel'), chunk('lo'), chunk('', 'stop'), 'data: [DONE]\n\n'),
      ],
    });
    expect(await streamReply(chatReplies, body, parts)).toMatchObject({ text: 'Hello', finish: 'stop' });
    expect(texts).toEqual(['Hel', 'Hello', 'Hello']);
    expect(statuses).toEqual(['Number 2 in the queue, about 8 s']);
  });

  test.each([
    ['breaks', broken(chunk('Hel'))],
    ['ends too early', stream(chunk('Hel'))],
  ])('fetches the rest by key if the stream %s', async (_, answer) => {
    const { parts, asked } = server({
      [chat]: [answer],
      [checks]: [
        check({ text: 'Hello th', finish_reason: null }),
        check({ text: 'Hello there', finish_reason: 'stop' }),
      ],
    });
    expect(await streamReply(chatReplies, body, parts)).toMatchObject({
      text: 'Hello there',
      finish: 'stop',
      failed: undefined,
    });
    expect(asked).toEqual([chat, checks, checks]);
  });

  test('makes no further request if the stream breaks after the finish reason', async () => {
    const { parts, asked } = server({ [chat]: [broken(chunk('Hello', 'stop'))] });
    expect(await streamReply(chatReplies, body, parts)).toMatchObject({ text: 'Hello', finish: 'stop' });
    expect(asked).toEqual([chat]);
  });

  test('keeps the text before an error event', async () => {
    const { parts } = server({
      [chat]: [stream(chunk('So'), 'data: {"error":{"message":"It broke."}}\n\ndata: [DONE]\n\n')],
    });
    expect(await streamReply(chatReplies, body, parts)).toMatchObject({
      text: 'So',
      finish: 'error',
      failed: 'It broke.',
    });
  });

  test('throws if the server rejects the request', async () => {
    const { parts } = server({
      [chat]: [() => Promise.reject(new Failure('The queue is full.', 503))],
    });
    await expect(streamReply(chatReplies, body, parts)).rejects.toThrow('The queue is full.');
  });

  test('makes no further request after an abort', async () => {
    const { parts, asked, controller } = server({
      [chat]: [
        () => {
          controller.abort();
          return broken(chunk('Hel'))();
        },
      ],
    });
    await expect(streamReply(chatReplies, body, parts)).rejects.toThrow();
    expect(asked).toEqual([chat]);
  });
});

describe('pollReply', () => {
  test('reports the text so far, then the whole reply', async () => {
    let finish: (response: Response) => void = () => {};
    const whole = new Promise<Response>((resolve) => {
      finish = resolve;
    });
    const reply = {
      choices: [{ message: { content: 'Hello there' }, finish_reason: 'stop' }],
      usage: { completion_tokens: 3 },
    };
    const { parts, texts, statuses } = server({
      [chat]: [() => whole],
      [checks]: [
        check({ text: '', finish_reason: null, queue_position: 1, queue_estimate: 3 }),
        check({ text: '<think>Hm</think>Hel', finish_reason: null }),
        () => {
          finish(Response.json(reply));
          return check({ text: 'Hello th', finish_reason: null })();
        },
      ],
    });
    expect(await pollReply(chatReplies, body, parts)).toMatchObject({ text: 'Hello there', finish: 'stop', tokens: 3 });
    expect(texts).toContain('Hel');
    expect(texts.at(-1)).toBe('Hello there');
    expect(statuses).toEqual(['Next in the queue, about 3 s']);
  });

  test('fetches the reply by key if the connection is lost', async () => {
    const { parts } = server({
      [chat]: [() => Promise.reject(new TypeError('network error'))],
      [checks]: [check({ text: 'Hello', finish_reason: 'length' })],
    });
    expect(await pollReply(chatReplies, body, parts)).toMatchObject({ text: 'Hello', finish: 'length' });
  });

  test('throws if the server rejects the request', async () => {
    const { parts } = server({
      [chat]: [() => Promise.reject(new Failure('Too long.', 400))],
      [checks]: [check({ text: '' })],
    });
    await expect(pollReply(chatReplies, body, parts)).rejects.toThrow('Too long.');
  });
});

describe('resumeReply', () => {
  test('checks until the reply has ended, with the reasoning split off', async () => {
    const { parts, texts } = server({
      [checks]: [
        check({ text: '<think>Hm', finish_reason: null }),
        check({ text: '<think>Hm.</think>Hello', finish_reason: 'stop' }),
      ],
    });
    expect(await resumeReply(chatReplies, 'K1', parts)).toMatchObject({
      text: 'Hello',
      reasoning: 'Hm.',
      finish: 'stop',
    });
    expect(texts).toEqual(['', 'Hello']);
  });

  test('ends as lost if the server does not know the key', async () => {
    const { parts } = server({ [checks]: [check({ text: '' })] });
    expect(await resumeReply(chatReplies, 'K1', parts)).toMatchObject({
      finish: 'lost',
      failed: expect.stringContaining('Retry'),
    });
  });

  test('keeps the text of a reply that ended with an error', async () => {
    const { parts } = server({ [checks]: [check({ text: 'So', finish_reason: 'error' })] });
    expect(await resumeReply(chatReplies, 'K1', parts)).toMatchObject({
      text: 'So',
      finish: 'error',
      failed: expect.stringContaining('failed'),
    });
  });

  test('keeps waiting while the reply is queued', async () => {
    const queued = check({ text: '', finish_reason: null, queue_position: 3, queue_estimate: 40 });
    const { parts, statuses } = server({
      [checks]: [...Array(8).fill(queued), check({ text: 'Late', finish_reason: 'stop' })],
    });
    expect(await resumeReply(chatReplies, 'K1', parts)).toMatchObject({ text: 'Late', finish: 'stop' });
    expect(statuses).toEqual(Array(8).fill('Number 3 in the queue, about 40 s'));
  });

  test('keeps the text that had already arrived if the reply is lost', async () => {
    const { parts } = server({ [chat]: [broken(chunk('Hel'))], [checks]: [check({ text: '' })] });
    expect(await streamReply(chatReplies, body, parts)).toMatchObject({ text: 'Hel', finish: 'lost' });
  });

  test('throws after an abort', async () => {
    const { parts, controller, asked } = server({ [checks]: [check({ text: 'x', finish_reason: null })] });
    controller.abort();
    await expect(resumeReply(chatReplies, 'K1', parts)).rejects.toThrow('aborted');
    expect(asked).toEqual([]);
  });

  test('tolerates failed checks', async () => {
    const away = () => Promise.reject(new TypeError('network error'));
    const { parts } = server({ [checks]: [away, away, check({ text: 'Hello', finish_reason: 'stop' })] });
    expect(await resumeReply(chatReplies, 'K1', parts)).toMatchObject({ text: 'Hello' });
  });

  test('ends as lost after 30 failed checks, and at once on status 401', async () => {
    const away = server({ [checks]: [() => Promise.reject(new TypeError('network error'))] });
    expect(await resumeReply(chatReplies, 'K1', away.parts)).toMatchObject({
      finish: 'lost',
      failed: expect.stringContaining('not responding'),
    });
    expect(away.asked).toHaveLength(30);
    const locked = server({ [checks]: [() => Promise.reject(new Failure('The server needs an API key.', 401))] });
    expect(await resumeReply(chatReplies, 'K1', locked.parts)).toMatchObject({
      failed: 'The server needs an API key.',
    });
    expect(locked.asked).toHaveLength(1);
  });
});

test.each([
  ['queue position 1, about 0 s', 'Next in the queue'],
  ['queue position 4, about 12 s', 'Number 4 in the queue, about 12 s'],
  ['loading big model, 42 %', 'Loading big model … 42 %'],
  ['keep-alive', ''],
])('statusText: %j becomes %j', (comment, text) => {
  expect(statusText(comment)).toBe(text);
});

test('pause: resolves when the signal aborts', async () => {
  const controller = new AbortController();
  const paused = pause(1_000_000, controller.signal);
  controller.abort();
  await expect(paused).resolves.toBeUndefined();
});
