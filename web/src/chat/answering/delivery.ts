import type { call as callServer } from '../../api/call.ts';
import { serverEvents } from '../../api/events.ts';
import { Failure, sentenceOf } from '../../api/failure.ts';
import { noReply, type Reply, type WireReply, withPiece } from './reply.ts';
import { parted } from './thinking.ts';

export interface DeliveryParts {
  readonly call: typeof callServer;
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
  /** With each piece; pieces come faster than anybody reads. */
  readonly onReply: (reply: Reply) => void;
  /** Where it stands while nothing is written yet: its place in the queue, or how far the model is loaded. */
  readonly onStanding: (words: string) => void;
}

interface Check {
  readonly text: string;
  /** Null while it is written; missing where the server knows no such reply. */
  readonly finish_reason?: string | null;
  readonly queue_position?: number;
  readonly queue_estimate?: number;
}

const second = 1000;
/** A lost connection is not a lost reply; so often in a row the server may keep silent. */
const patience = 30;

/** A reply piece by piece. Where the connection is lost on the way, the server is asked for the rest. */
export async function streamed(body: Record<string, unknown>, parts: DeliveryParts): Promise<Reply> {
  const { call, signal, onReply, onStanding } = parts;
  const response = await call('v1/chat/completions', { body, signal });
  let reply = noReply;
  try {
    if (!response.body) throw new TypeError('no body');
    for await (const { data } of serverEvents(response.body, (comment) => onStanding(standingWords(comment)))) {
      if (data === '[DONE]') return reply;
      reply = withPiece(reply, JSON.parse(data) as WireReply);
      onReply(reply);
    }
  } catch (thrown) {
    if (signal.aborted || !(thrown instanceof TypeError)) throw thrown;
  }
  if (reply.finish !== undefined) return reply;
  return awaited(String(body.genkey), parts);
}

/** For networks that hold streams back: the whole reply at the end, and a look at it each second. */
export async function polled(body: Record<string, unknown>, parts: DeliveryParts): Promise<Reply> {
  const { call, signal, wait, onReply } = parts;
  let over = false;
  const whole = call('v1/chat/completions', { body, signal })
    .then(async (response) => withPiece(noReply, (await response.json()) as WireReply))
    .finally(() => {
      over = true;
    });
  whole.catch(() => {});
  while (!over) {
    await Promise.race([wait(second, signal), whole.catch(() => {})]);
    if (over) break;
    const check = await look(String(body.genkey), parts).catch(() => undefined);
    if (!over && check) showCheck(check, parts);
  }
  const reply = await whole.catch((thrown) => {
    if (signal.aborted || thrown instanceof Failure) throw thrown;
    return awaited(String(body.genkey), parts);
  });
  onReply(reply);
  return reply;
}

/** A reply that was begun before, by another page or over a connection that is gone. */
export async function awaited(genkey: string, parts: DeliveryParts): Promise<Reply> {
  const { wait, signal } = parts;
  let silent = 0;
  for (;;) {
    signal.throwIfAborted();
    try {
      const check = await look(genkey, parts);
      silent = 0;
      const reply = showCheck(check, parts);
      if (check.finish_reason === undefined)
        return { ...reply, finish: 'lost', failed: 'The server no longer has this reply. Press Retry for a new one.' };
      if (check.finish_reason !== null) return reply;
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      silent += 1;
      if (silent >= patience || (thrown instanceof Failure && thrown.status === 401))
        return { ...noReply, finish: 'lost', failed: sentenceOf(thrown) };
    }
    await wait(second, signal);
  }
}

async function look(genkey: string, { call, signal }: DeliveryParts): Promise<Check> {
  const response = await call('api/extra/generate/check', { body: { genkey }, signal, background: true });
  const { results } = (await response.json()) as { results?: readonly Check[] };
  return results?.[0] ?? { text: '' };
}

function showCheck(check: Check, { onReply, onStanding }: DeliveryParts): Reply {
  const finish = check.finish_reason ?? undefined;
  const failed = finish === 'error' ? 'The model failed before the reply was finished.' : undefined;
  const reply: Reply = { ...noReply, ...parted(check.text), finish, failed };
  if (check.queue_position !== undefined)
    onStanding(standingWords(`queue position ${check.queue_position}, about ${check.queue_estimate ?? 0} s`));
  else if (check.text !== '') onReply(reply);
  return reply;
}

/** The comments of a stream, for people. */
export function standingWords(comment: string): string {
  const queue = /^queue position (\d+), about (\d+) s/.exec(comment);
  if (queue) {
    const [, place, seconds] = queue;
    const wait = Number(seconds) > 0 ? `, about ${seconds} s` : '';
    return Number(place) <= 1 ? `Next in the queue${wait}` : `Number ${place} in the queue${wait}`;
  }
  const loading = /^loading (.+), (\d+) %/.exec(comment);
  return loading ? `Loading ${loading[1]} … ${loading[2]} %` : '';
}
