import { describe, expect, test } from 'vitest';
import { Failure } from '../api/failure.ts';
import { choicesOf, polledReply, type ReplyParts, recoveredReply, streamedReply } from './reply.ts';

type Answer = unknown | Error | (() => unknown);

/** A server that answers the calls one after the other with these, and streams these frames. */
function partsOf({ frames = [], answers = [], breaks }: { frames?: object[]; answers?: Answer[]; breaks?: Error }) {
  const asked: string[] = [];
  const left = [...answers];
  const parts: ReplyParts = {
    stream: async function* (_body, _signal, onComment) {
      onComment('queue position 2, about 7 s');
      for (const frame of frames) yield { event: 'message', data: JSON.stringify(frame) };
      if (breaks) throw breaks;
    },
    ask: async <Result>(path: string) => {
      asked.push(path);
      const answer = left.length > 1 ? left.shift() : left[0];
      if (answer instanceof Error) throw answer;
      return answer as Result;
    },
    pause: async () => {},
  };
  return { parts, asked };
}

function listening() {
  const texts: string[] = [];
  const waits: string[] = [];
  return {
    texts,
    waits,
    listener: { text: (whole: string) => texts.push(whole), waits: (why: string) => waits.push(why) },
  };
}

const key = { genkey: 'k' };
const never = new AbortController().signal;
const check = (text: string, finish_reason: string | null = null) => ({ results: [{ text, finish_reason }] });
const frame = (token: string, finish_reason: string | null = null, more: object = {}) => ({
  token,
  finish_reason,
  ...more,
});

describe('a reply that is streamed', () => {
  test('grows word by word until its end, and tells why it waits', async () => {
    const { parts } = partsOf({
      frames: [frame('Once'), frame(' more'), frame('', 'stop', { warnings: ['careful'] })],
    });
    const { listener, texts, waits } = listening();
    const ended = await streamedReply(parts, key, listener, never);
    expect(ended).toEqual({ reason: 'stop', text: 'Once more', warnings: ['careful'] });
    expect(texts).toEqual(['Once', 'Once more']);
    expect(waits).toEqual(['Number 2 in the queue, about 7 s']);
  });

  test('that ends with an error fails with its words', async () => {
    const { parts } = partsOf({ frames: [frame('a'), frame('', 'error', { error: { message: 'Out of memory.' } })] });
    await expect(streamedReply(parts, key, listening().listener, never)).rejects.toThrow('Out of memory.');
  });

  test('whose connection breaks is taken up again by its key', async () => {
    const answers = [new TypeError('network'), check('Once more', null), check('Once more and on', 'length')];
    const { parts, asked } = partsOf({ frames: [frame('Once')], breaks: new TypeError('network'), answers });
    const { listener, texts } = listening();
    const ended = await streamedReply(parts, key, listener, never);
    expect(ended).toMatchObject({ reason: 'length', text: 'Once more and on' });
    expect(texts).toEqual(['Once', 'Once more', 'Once more and on']);
    expect(asked).toEqual(Array(3).fill('api/extra/generate/check'));
  });

  test('that nobody knows any more keeps what had come', async () => {
    const { parts } = partsOf({ frames: [frame('Once')], answers: [check('')] });
    expect(await streamedReply(parts, key, listening().listener, never)).toMatchObject({
      reason: 'lost',
      text: 'Once',
    });
  });

  test('that is refused is not asked for again', async () => {
    const { parts, asked } = partsOf({ breaks: new Failure('Server is busy.', 503) });
    await expect(streamedReply(parts, key, listening().listener, never)).rejects.toThrow('Server is busy.');
    expect(asked).toEqual([]);
  });

  test('that somebody stops ends there', async () => {
    const stop = new AbortController();
    stop.abort();
    const { parts, asked } = partsOf({ breaks: new DOMException('stopped', 'AbortError') });
    await expect(streamedReply(parts, key, listening().listener, stop.signal)).rejects.toThrow('stopped');
    expect(asked).toEqual([]);
  });
});

describe('a reply that is asked for each second', () => {
  /** The whole answer comes only after so many looks. */
  function slow(looks: number, whole: object) {
    let done: (value: unknown) => void = () => {};
    const answer = new Promise((resolve) => {
      done = resolve;
    });
    let seen = 0;
    const parts: ReplyParts = {
      stream: async function* () {},
      ask: <Result>(path: string) => {
        if (path === 'api/v1/generate') return answer as Promise<Result>;
        seen += 1;
        if (seen === looks) done(whole);
        return Promise.resolve(check('a'.repeat(seen)) as Result);
      },
      pause: async () => {},
    };
    return parts;
  }

  test('shows what is there so far, and then the whole', async () => {
    const { listener, texts } = listening();
    const parts = slow(3, { results: [{ text: 'aaaa', finish_reason: 'stop' }] });
    expect(await polledReply(parts, key, listener, never)).toEqual({ reason: 'stop', text: 'aaaa', warnings: [] });
    expect(texts.slice(0, 2)).toEqual(['a', 'aa']);
  });

  test('that fails is told in its words', async () => {
    const parts = slow(1, { results: [{ text: '', finish_reason: 'error', error: { message: 'No model.' } }] });
    await expect(polledReply(parts, key, listening().listener, never)).rejects.toThrow('No model.');
  });

  test('that is refused at once fails with the refusal', async () => {
    const { parts } = partsOf({ answers: [new Failure('Server is busy.')] });
    await expect(polledReply(parts, key, listening().listener, never)).rejects.toThrow('Server is busy.');
  });
});

describe('a reply that was left', () => {
  test('is there at once when it has ended meanwhile', async () => {
    const { parts } = partsOf({ answers: [check('All of it.', 'stop')] });
    const { listener, texts } = listening();
    expect(await recoveredReply(parts, 'k', listener, never)).toMatchObject({ reason: 'stop', text: 'All of it.' });
    expect(texts).toEqual(['All of it.']);
  });

  test('may wait for its turn for a while before it counts as lost', async () => {
    const { parts } = partsOf({ answers: [check(''), check(''), check('Late.', 'length')] });
    expect(await recoveredReply(parts, 'k', listening().listener, never)).toMatchObject({ text: 'Late.' });
    const lost = partsOf({ answers: [check('')] });
    expect(await recoveredReply(lost.parts, 'k', listening().listener, never)).toMatchObject({ reason: 'lost' });
    expect(lost.asked).toHaveLength(4);
  });

  test('of a server that is gone for good fails in the end', async () => {
    const { parts, asked } = partsOf({ answers: [new TypeError('network')] });
    await expect(recoveredReply(parts, 'k', listening().listener, never)).rejects.toThrow('network');
    expect(asked).toHaveLength(30);
  });

  test('that failed is told', async () => {
    const { parts } = partsOf({ answers: [check('', 'error')] });
    await expect(recoveredReply(parts, 'k', listening().listener, never)).rejects.toThrow('failed');
  });

  test('can be stopped', async () => {
    const stop = new AbortController();
    stop.abort();
    const { parts } = partsOf({ answers: [check('x')] });
    await expect(recoveredReply(parts, 'k', listening().listener, stop.signal)).rejects.toThrow('stopped');
  });
});

test('what stands in the line before a reply is told in words', async () => {
  const { listener, waits } = listening();
  const parts: ReplyParts = {
    ...partsOf({}).parts,
    stream: async function* (_body, _signal, onComment) {
      for (const comment of ['loading big.gguf, 40 %', '', 'ping']) onComment(comment);
      yield { event: 'message', data: JSON.stringify(frame('', 'stop')) };
    },
  };
  await streamedReply(parts, key, listener, never);
  expect(waits).toEqual(['Loading big.gguf … 40 %', '', '']);
});

describe('the tokens of a reply', () => {
  const token = (text: string) => ({ token: text, logprob: Math.log(0.5), top_logprobs: [{ token: 'x', logprob: 0 }] });

  test('come with their alternatives, as probabilities', () => {
    expect(choicesOf({ content: [token('Hi')] }, 'Hi')).toEqual([
      { text: 'Hi', probability: 0.5, others: [{ text: 'x', probability: 1 }] },
    ]);
  });

  test('end with the reply, though the model went on to a stop text', () => {
    expect(choicesOf({ content: [token('Hi'), token('.'), token('\n'), token('You')] }, 'Hi.')).toHaveLength(2);
  });

  test('may not be known', () => {
    expect(choicesOf(null, 'Hi')).toEqual([]);
    expect(choicesOf(undefined, 'Hi')).toEqual([]);
    expect(choicesOf({}, 'Hi')).toEqual([]);
  });
});
