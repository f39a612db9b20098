import { describe, expect, test, vi } from 'vitest';
import { chatReplies, type Reply } from '../replies/reply.ts';
import type { call as callServer } from './call.ts';
import { Failure } from './failure.ts';
import { pause, type ReplyContext, requestReply, resumeReply, statusText } from './running-reply.ts';

type Answer = () => Response | Promise<Response>;

/** A server that returns the given responses per path in order, and repeats the last one. */
function server(answers: Readonly<Record<string, readonly Answer[]>>) {
  const asked: string[] = [];
  const queries: string[] = [];
  const texts: string[] = [];
  const statuses: string[] = [];
  const controller = new AbortController();
  const call = (async (address: string) => {
    const [path = '', query] = address.split('?');
    if (query !== undefined) queries.push(query);
    const list = answers[path] ?? [];
    const at = asked.filter((one) => one === path).length;
    asked.push(path);
    const answer = list[Math.min(at, list.length - 1)];
    if (!answer) throw new Failure('unknown', 404);
    return answer();
  }) as typeof callServer;
  const parts: ReplyContext<Reply> = {
    call,
    wait: async () => {},
    signal: controller.signal,
    onReply: ({ text }: Reply) => texts.push(text),
    onStatus: (text) => statuses.push(text),
  };
  return { parts, asked, queries, texts, statuses, controller };
}

const chunk = (id: number, content: string, finish: string | null = null): string =>
  `id: ${id}\ndata: ${JSON.stringify({ choices: [{ delta: { content }, finish_reason: finish }] })}\n\n`;
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
const refused =
  (status: number, sentence = 'no') =>
  () =>
    Promise.reject(new Failure(sentence, status));
const away = () => Promise.reject(new TypeError('network error'));
const nothing = () => new Response(null, { status: 204 });
const chat = 'v1/chat/completions';
const taken = 'api/extra/stream/K1';
const body = { genkey: 'K1' };

describe('requestReply', () => {
  test('reports the queue position, then each piece of text', async () => {
    const { parts, texts, statuses } = server({
      [chat]: [
        stream(
          ': queue position 2, about 8 s\n\n',
          chunk(1, 'Hel'),
          chunk(2, 'lo'),
          chunk(3, '', 'stop'),
          'id: 4\ndata: [DONE]\n\n',
        ),
      ],
    });
    expect(await requestReply(chatReplies, body, parts)).toMatchObject({ text: 'Hello', finish: 'stop' });
    expect(texts).toEqual(['Hel', 'Hello', 'Hello']);
    expect(statuses).toEqual(['Number 2 in the queue, about 8 s']);
  });

  test.each([
    ['breaks', broken(chunk(1, 'Hel'))],
    ['ends too early', stream(chunk(1, 'Hel'))],
  ])('takes the stream up where it was cut if it %s', async (_, answer) => {
    const { parts, asked, queries } = server({
      [chat]: [answer],
      [taken]: [broken(chunk(2, 'lo'), chunk(3, ' th')), stream(chunk(4, 'ere', 'stop'))],
    });
    expect(await requestReply(chatReplies, body, parts)).toMatchObject({
      text: 'Hello there',
      finish: 'stop',
      failed: undefined,
    });
    expect(asked).toEqual([chat, taken, taken]);
    expect(queries).toEqual(['after=1', 'after=3']);
  });

  test('makes no further request if the stream breaks after the finish reason', async () => {
    const { parts, asked } = server({ [chat]: [broken(chunk(1, 'Hello', 'stop'))] });
    expect(await requestReply(chatReplies, body, parts)).toMatchObject({ text: 'Hello', finish: 'stop' });
    expect(asked).toEqual([chat]);
  });

  test('keeps the text before an error event', async () => {
    const { parts } = server({
      [chat]: [stream(chunk(1, 'So'), 'data: {"error":{"message":"It broke."}}\n\ndata: [DONE]\n\n')],
    });
    expect(await requestReply(chatReplies, body, parts)).toMatchObject({
      text: 'So',
      finish: 'error',
      failed: 'It broke.',
    });
  });

  test('throws if the server rejects the request', async () => {
    const { parts } = server({ [chat]: [refused(503, 'The queue is full.')] });
    await expect(requestReply(chatReplies, body, parts)).rejects.toThrow('The queue is full.');
  });

  test('keeps the text that had already arrived if the server has restarted', async () => {
    const { parts } = server({ [chat]: [broken(chunk(1, 'Hel'))], [taken]: [refused(404)] });
    expect(await requestReply(chatReplies, body, parts)).toMatchObject({ text: 'Hel', finish: 'lost' });
  });

  test('makes no further request after an abort', async () => {
    const { parts, asked, controller } = server({
      [chat]: [
        () => {
          controller.abort();
          return broken(chunk(1, 'Hel'))();
        },
      ],
    });
    await expect(requestReply(chatReplies, body, parts)).rejects.toThrow();
    expect(asked).toEqual([chat]);
  });
});

describe('requestReply, polling', () => {
  const polling = (answers: Parameters<typeof server>[0]) => {
    const { parts, ...rest } = server(answers);
    return { ...rest, parts: { ...parts, polling: true } };
  };
  const never = () => new Promise<Response>(() => {});

  test('reports the queue position and the events so far, without the response of the request', async () => {
    const { parts, texts, statuses, queries } = polling({
      [chat]: [never],
      [taken]: [
        refused(404),
        stream(': queue position 1, about 3 s\n\n'),
        stream(chunk(1, 'Hel'), chunk(2, 'lo')),
        nothing,
        stream(chunk(3, ' there', 'stop')),
      ],
    });
    expect(await requestReply(chatReplies, body, parts)).toMatchObject({ text: 'Hello there', finish: 'stop' });
    expect(texts).toEqual(['Hel', 'Hello', 'Hello there']);
    expect(statuses).toEqual(['Next in the queue, about 3 s']);
    expect(queries).toEqual(['0', '0', '0', '2', '2'].map((last) => `after=${last}&follow=0`));
  });

  test('closes the connection of the request when its response begins, so that it does not hold up the generation', async () => {
    const closed = vi.fn();
    const endless = () => new Response(new ReadableStream({ cancel: closed }));
    const { parts } = polling({ [chat]: [endless], [taken]: [stream(chunk(1, 'Hello', 'stop'))] });
    await requestReply(chatReplies, body, parts);
    expect(closed).toHaveBeenCalled();
  });

  test('throws if the server rejects the request', async () => {
    const { parts } = polling({ [chat]: [refused(400, 'Too long.')], [taken]: [refused(404)] });
    await expect(requestReply(chatReplies, body, parts)).rejects.toThrow('Too long.');
  });

  test('ends as lost if the request did not arrive', async () => {
    const { parts } = polling({ [chat]: [away], [taken]: [refused(404)] });
    expect(await requestReply(chatReplies, body, parts)).toMatchObject({ finish: 'lost' });
  });
});

describe('resumeReply', () => {
  const known: Reply = { ...chatReplies.empty, text: 'Hel' };

  test('reads the stream from its beginning, and shows no less than the page had', async () => {
    const { parts, texts, queries } = server({
      [taken]: [stream(chunk(1, 'H'), chunk(2, 'el'), chunk(3, 'lo', 'stop'))],
    });
    expect(await resumeReply(chatReplies, 'K1', parts, known)).toMatchObject({ text: 'Hello', finish: 'stop' });
    expect(texts).toEqual(['Hel', 'Hello']);
    expect(queries).toEqual(['after=0']);
  });

  test.each([
    ['does not know the stream', [refused(404)]],
    ['has dropped its events', [refused(410)]],
    ['has nothing more of it', [nothing]],
  ])('ends as lost and keeps the text if the server %s', async (_, answers) => {
    const { parts } = server({ [taken]: answers });
    expect(await resumeReply(chatReplies, 'K1', parts, known)).toMatchObject({
      text: 'Hel',
      finish: 'lost',
      failed: expect.stringContaining('Try again'),
    });
  });

  test('throws after an abort', async () => {
    const { parts, controller, asked } = server({ [taken]: [stream(chunk(1, 'x'))] });
    controller.abort();
    await expect(resumeReply(chatReplies, 'K1', parts)).rejects.toThrow('aborted');
    expect(asked).toEqual([]);
  });

  test('tolerates failed requests', async () => {
    const { parts } = server({ [taken]: [away, refused(502), stream(chunk(1, 'Hello', 'stop'))] });
    expect(await resumeReply(chatReplies, 'K1', parts)).toMatchObject({ text: 'Hello', finish: 'stop' });
  });

  test('ends as lost after 30 failed requests, and at once on status 401', async () => {
    const silent = server({ [taken]: [away] });
    expect(await resumeReply(chatReplies, 'K1', silent.parts)).toMatchObject({
      finish: 'lost',
      failed: expect.stringContaining('not responding'),
    });
    expect(silent.asked).toHaveLength(30);
    const locked = server({ [taken]: [refused(401, 'The server needs an API key.')] });
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
  ['reading 12400 of 31000 tokens', 'Reading 12,400 of 31,000 tokens'],
])('statusText: %j becomes %j', (comment, text) => {
  expect(statusText(comment)).toBe(text);
});

test('pause: resolves when the signal aborts', async () => {
  const controller = new AbortController();
  const paused = pause(1_000_000, controller.signal);
  controller.abort();
  await expect(paused).resolves.toBeUndefined();
});
