import type { call as callServer } from './call.ts';
import { serverEvents } from './events.ts';
import { Failure, sentenceOf } from './failure.ts';

/** A reply as far as it has arrived. */
export interface ReplyState {
  readonly text: string;
  /** Set when the reply has ended. `lost`: the server no longer knows its key. */
  readonly finish: string | undefined;
  /** Why it ended too early, for people. */
  readonly failed: string | undefined;
}

/** How one API returns replies: as events of a stream, as one body, and as the raw text so far. */
export interface ReplyFormat<Reply extends ReplyState> {
  readonly streamPath: string;
  readonly path: string;
  readonly empty: Reply;
  readonly withEvent: (reply: Reply, data: string) => Reply;
  readonly ofBody: (body: unknown) => Reply;
  readonly ofText: (text: string) => Reply;
}

export interface ReplyParts<Reply> {
  readonly call: typeof callServer;
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
  /** Called for each event of a stream, possibly hundreds of times per second. */
  readonly onReply: (reply: Reply) => void;
  /** Queue position or load progress, while there is no text yet. */
  readonly onStatus: (text: string) => void;
}

/** Requests must carry a key, so that the reply can be found after the connection is lost. */
type Body = { readonly genkey: string };

/** An entry of `POST /api/extra/generate/check`. */
interface Check {
  readonly text: string;
  /** Null while the reply is generated; missing if the server does not know the key. */
  readonly finish_reason?: string | null;
  readonly queue_position?: number;
  readonly queue_estimate?: number;
}

const pollMs = 1000;
const resumeMs = 500;
/** Consecutive failed checks until the server counts as gone. */
const maxFailures = 30;

/** Streams a reply. If the connection is lost, the rest is fetched by key. */
export async function streamReply<Reply extends ReplyState>(
  format: ReplyFormat<Reply>,
  body: Body,
  parts: ReplyParts<Reply>,
): Promise<Reply> {
  const { call, signal, onReply, onStatus } = parts;
  const response = await call(format.streamPath, { body, signal });
  let reply = format.empty;
  try {
    if (!response.body) throw new TypeError('The response has no body.');
    for await (const { data } of serverEvents(response.body, (comment) => onStatus(statusText(comment)))) {
      if (data === '[DONE]') break;
      reply = format.withEvent(reply, data);
      onReply(reply);
    }
  } catch (thrown) {
    if (signal.aborted || thrown instanceof SyntaxError) throw thrown;
  }
  return reply.finish === undefined ? resumeReply(format, body.genkey, parts, reply) : reply;
}

/** Requests a reply as one response and checks its text once per second meanwhile: for proxies that buffer streams. */
export async function pollReply<Reply extends ReplyState>(
  format: ReplyFormat<Reply>,
  body: Body,
  parts: ReplyParts<Reply>,
): Promise<Reply> {
  const { call, signal, wait, onReply } = parts;
  let done = false;
  const whole = call(format.path, { body, signal })
    .then(async (response) => format.ofBody(await response.json()))
    .finally(() => {
      done = true;
    });
  const settled = whole.then(
    () => {},
    () => {},
  );
  while (!done) {
    await Promise.race([wait(pollMs, signal), settled]);
    if (done) break;
    const check = await checkOf(body.genkey, parts).catch(() => undefined);
    if (!done && check) report(format, check, parts);
  }
  try {
    const reply = await whole;
    onReply(reply);
    return reply;
  } catch (thrown) {
    if (signal.aborted || thrown instanceof Failure) throw thrown;
    return resumeReply(format, body.genkey, parts);
  }
}

/** Fetches a reply by key that was requested earlier, until it ends. `known` is what has already arrived. */
export async function resumeReply<Reply extends ReplyState>(
  format: ReplyFormat<Reply>,
  genkey: string,
  parts: ReplyParts<Reply>,
  known: Reply = format.empty,
): Promise<Reply> {
  const { wait, signal } = parts;
  let reply = known;
  let failures = 0;
  for (;;) {
    signal.throwIfAborted();
    try {
      const check = await checkOf(genkey, parts);
      failures = 0;
      if (check.text !== '') reply = format.ofText(check.text);
      report(format, check, parts);
      const { finish_reason: finish, queue_position: position } = check;
      if (finish === 'error') return { ...reply, finish, failed: 'The model failed before the reply was finished.' };
      if (typeof finish === 'string') return { ...reply, finish };
      if (finish === undefined && position === undefined)
        return { ...reply, finish: 'lost', failed: 'The server no longer has this reply. Press Retry for a new one.' };
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      failures += 1;
      if (failures >= maxFailures || (thrown instanceof Failure && thrown.status === 401))
        return { ...reply, finish: 'lost', failed: sentenceOf(thrown) };
    }
    await wait(resumeMs, signal);
  }
}

async function checkOf(genkey: string, { call, signal }: Pick<ReplyParts<never>, 'call' | 'signal'>): Promise<Check> {
  const response = await call('api/extra/generate/check', { body: { genkey }, signal, background: true });
  const { results } = (await response.json()) as { results?: readonly Check[] };
  return results?.[0] ?? { text: '' };
}

function report<Reply extends ReplyState>(
  format: ReplyFormat<Reply>,
  { text, queue_position: position, queue_estimate: estimate = 0 }: Check,
  { onReply, onStatus }: ReplyParts<Reply>,
): void {
  if (position !== undefined) onStatus(statusText(`queue position ${position}, about ${estimate} s`));
  else if (text !== '') onReply(format.ofText(text));
}

/** The status comments of a stream, for people; empty for other comments. */
export function statusText(comment: string): string {
  const queue = /^queue position (\d+), about (\d+) s/.exec(comment);
  if (queue) {
    const [, position, seconds] = queue;
    const wait = Number(seconds) > 0 ? `, about ${seconds} s` : '';
    return Number(position) <= 1 ? `Next in the queue${wait}` : `Number ${position} in the queue${wait}`;
  }
  const loading = /^loading (.+), (\d+) %/.exec(comment);
  return loading ? `Loading ${loading[1]} … ${loading[2]} %` : '';
}

/** Resolves after the time or when the signal aborts. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
