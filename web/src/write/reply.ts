import type { ServerEvent } from '../api/events.ts';
import { Failure } from '../api/failure.ts';
import type { Choice } from '../story/story.ts';

/** The calls that a reply needs, so that it can be tested without a server. */
export interface ReplyParts {
  readonly stream: (body: object, signal: AbortSignal, onComment: (text: string) => void) => AsyncIterable<ServerEvent>;
  readonly ask: <Answer>(path: string, body: object, signal?: AbortSignal) => Promise<Answer>;
  readonly pause: (milliseconds: number) => Promise<void>;
}

export interface ReplyListener {
  /** All of it so far. */
  text(whole: string): void;
  /** Why nothing comes yet. */
  waits(why: string): void;
}

/** How it ended; `lost` where nobody knows the key any more. */
export interface Ended {
  readonly reason: 'stop' | 'length' | 'lost';
  readonly text: string;
  readonly warnings: readonly string[];
}

interface Frame {
  readonly token: string;
  readonly finish_reason: string | null;
  readonly error?: { readonly message: string };
  readonly warnings?: readonly string[];
}

interface Results {
  readonly results: readonly {
    readonly text: string;
    readonly finish_reason?: string | null;
    readonly error?: { readonly message: string };
    readonly warnings?: readonly string[];
  }[];
}

/** Word by word. When the connection breaks, the server goes on writing, and the rest is asked for by its key. */
export async function streamedReply(
  parts: ReplyParts,
  body: { readonly genkey: string },
  listener: ReplyListener,
  signal: AbortSignal,
): Promise<Ended> {
  let text = '';
  try {
    for await (const { data } of parts.stream(body, signal, (comment) => listener.waits(inWords(comment)))) {
      const frame = JSON.parse(data) as Frame;
      if (frame.token !== '') {
        text += frame.token;
        listener.text(text);
      }
      if (frame.finish_reason === null) continue;
      if (frame.finish_reason === 'error')
        throw new Failure(frame.error?.message ?? 'The model failed before the reply was finished.');
      return { reason: frame.finish_reason === 'stop' ? 'stop' : 'length', text, warnings: frame.warnings ?? [] };
    }
  } catch (thrown) {
    if (signal.aborted || thrown instanceof Failure) throw thrown;
  }
  const rest = await recoveredReply(parts, body.genkey, listener, signal);
  return rest.reason === 'lost' ? { ...rest, text } : rest;
}

/** One answer for all of it, and a look at what is there so far each second. */
export async function polledReply(
  parts: ReplyParts,
  body: { readonly genkey: string },
  listener: ReplyListener,
  signal: AbortSignal,
): Promise<Ended> {
  let done = false;
  const whole = parts.ask<Results>('api/v1/generate', body, signal).finally(() => {
    done = true;
  });
  whole.catch(() => {});
  for (;;) {
    await Promise.race([parts.pause(1000), whole.catch(() => {})]);
    if (done || signal.aborted) break;
    const seen = await parts.ask<Results>('api/extra/generate/check', { genkey: body.genkey }).catch(() => undefined);
    const text = seen?.results[0]?.text ?? '';
    if (!done && text !== '') listener.text(text);
  }
  const result = (await whole).results[0];
  if (result?.finish_reason === 'error')
    throw new Failure(result.error?.message ?? 'The model failed before the reply was finished.');
  const reason = result?.finish_reason === 'stop' ? 'stop' : 'length';
  return { reason, text: result?.text ?? '', warnings: result?.warnings ?? [] };
}

/** So often an empty answer may mean that the reply has not begun; after that nobody knows it. */
const patience = 4;
/** So many calls may fail in a row before the server counts as gone. */
const endurance = 30;

/** A reply that was begun before, by its key. */
export async function recoveredReply(
  parts: ReplyParts,
  genkey: string,
  listener: ReplyListener,
  signal: AbortSignal,
): Promise<Ended> {
  let empty = 0;
  let failed = 0;
  let text = '';
  while (!signal.aborted) {
    try {
      const { results } = await parts.ask<Results>('api/extra/generate/check', { genkey }, signal);
      failed = 0;
      const [result] = results;
      const whole = result?.text ?? '';
      if (whole !== '' && whole !== text) listener.text(whole);
      text = whole === '' ? text : whole;
      const reason = result?.finish_reason ?? null;
      if (reason === 'error') throw new Failure('The model failed before the reply was finished.');
      if (reason !== null) return { reason: reason === 'stop' ? 'stop' : 'length', text, warnings: [] };
      empty = whole === '' ? empty + 1 : 0;
      if (empty >= patience) return { reason: 'lost', text, warnings: [] };
    } catch (thrown) {
      if (signal.aborted) break;
      if (thrown instanceof Failure) throw thrown;
      failed += 1;
      if (failed >= endurance) throw thrown;
    }
    await parts.pause(empty > 0 ? 1000 : 500);
  }
  throw new DOMException('stopped', 'AbortError');
}

/** `queue position 2, about 7 s` for people. */
function inWords(comment: string): string {
  const queue = /^queue position (\d+), about (\d+) s$/.exec(comment);
  if (queue) return `Number ${queue[1]} in the queue, about ${queue[2]} s`;
  const loading = /^loading (.*), (\d+) %$/.exec(comment);
  return loading ? `Loading ${loading[1]} … ${loading[2]} %` : '';
}

interface Logprobs {
  readonly content?: readonly {
    readonly token: string;
    readonly logprob: number;
    readonly top_logprobs: readonly { readonly token: string; readonly logprob: number }[];
  }[];
}

/** The tokens that make up the reply, with their alternatives; those behind its end (a stop text) are left away. */
export function choicesOf(logprobs: Logprobs | null | undefined, reply: string): Choice[] {
  const choices: Choice[] = [];
  let length = 0;
  for (const { token, logprob, top_logprobs: top } of logprobs?.content ?? []) {
    if (length >= reply.length) break;
    length += token.length;
    const others = top.map((other) => ({ text: other.token, probability: Math.exp(other.logprob) }));
    choices.push({ text: token, probability: Math.exp(logprob), others });
  }
  return choices;
}
