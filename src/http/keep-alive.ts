import type { Standing } from '../core/request.ts';
import type { Call, Reply, StatusComments } from './call.ts';
import { commentFrame } from './sse.ts';
import type { StartTimer, Timer } from './timers.ts';

/** How long a client may see nothing at all before a proxy between begins to doubt the connection. */
export const keepAliveMs = 15_000;

/** Gets past proxies that collect a few kilobytes before they pass anything on; JSON may begin with any white space. */
const padding = `${' '.repeat(2047)}\n`;

/** The value, or nothing once the time has passed or somebody hurries; the promise itself goes on. */
export function within<Value>(
  promise: Promise<Value>,
  startTimer: StartTimer,
  hurry: (wake: () => void) => Timer | undefined = () => undefined,
): Promise<Value | undefined> {
  return new Promise((resolve, reject) => {
    const timers = [startTimer(keepAliveMs, () => resolve(undefined)), hurry(() => resolve(undefined))];
    promise.then(resolve, reject).finally(() => {
      for (const timer of timers) timer?.cancel();
    });
  });
}

/** Whether the client asked for the padding, which its own reader must be able to pass over. */
export function requestsPadding({ headers }: Call): boolean {
  return String(headers['x-koboldcpp-keepalive']).toLowerCase() === 'true';
}

/**
 * An answer that comes soon keeps its own status. One that takes longer begins as 200 with padding, and what went wrong
 * later can only be told in the body.
 */
export async function paddedReply(
  answer: Promise<string>,
  failure: (error: unknown) => string,
  startTimer: StartTimer,
): Promise<Reply> {
  const late = answer.catch(failure);
  const soon = await within(answer, startTimer);
  if (soon !== undefined) return { status: 200, headers: { 'content-type': 'application/json' }, body: soon };
  const headers = { 'content-type': 'application/json', connection: 'close', 'x-accel-buffering': 'no' };
  return { status: 200, headers, stream: padded(late), keepAlive: { milliseconds: keepAliveMs, filler: padding } };
}

async function* padded(answer: Promise<string>): AsyncGenerator<string> {
  yield padding;
  yield await answer;
}

/** What work tells while it is done. Some kinds tell of a failure by an event, others by throwing it. */
interface WorkEvent {
  readonly type: string;
  readonly error?: unknown;
}

/** Work that has begun, or that kept its reader waiting for too long. */
export interface StartedStream<Event extends WorkEvent> {
  /** All of the events. */
  readonly events: AsyncIterable<Event>;
  /** The first of them, where it came in time. */
  readonly first: Event | undefined;
}

/**
 * Waits for the first event, so that what is refused before any text keeps its own status instead of hiding in a stream
 * that began well. A long wait ends that, and sooner where the stream has room to tell what it is for (`waits`): then the
 * stream begins, and an error is its last frame.
 */
export async function awaitFirstEvent<Event extends WorkEvent>(
  events: AsyncIterable<Event>,
  startTimer: StartTimer,
  waits?: () => boolean,
): Promise<StartedStream<Event>> {
  const iterator = events[Symbol.asyncIterator]();
  const first = iterator.next();
  const soon = await within(first, startTimer, waits && ((wake) => whenWaiting(waits, wake, startTimer)));
  if (soon && !soon.done && soon.value.type === 'error') {
    await iterator.return?.();
    throw soon.value.error;
  }
  return { events: resumed(iterator, first), first: soon?.done ? undefined : soon?.value };
}

/** Looks again and again: a request whose turn comes at once may then have to wait for its model. */
function whenWaiting(waits: () => boolean, wake: () => void, startTimer: StartTimer): Timer {
  const timer = startTimer(statusCommentMs, () => (waits() ? wake() : timer.restart()));
  return timer;
}

/** Hands the steps through as they are: this lies on the path of every token. */
function resumed<Event>(iterator: AsyncIterator<Event>, first: Promise<IteratorResult<Event>>): AsyncIterable<Event> {
  let waiting: typeof first | undefined = first;
  const next = (): typeof first => {
    const step = waiting ?? iterator.next();
    waiting = undefined;
    return step;
  };
  const close = async (): Promise<IteratorResult<Event>> => {
    await iterator.return?.();
    return { done: true, value: undefined };
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: close }) };
}

/** So long a stream that waits keeps silent, and with it its status; and so long it keeps silent between two notices. */
const statusCommentMs = 1000;

/** Tells a client that waits where it stands: at first, and then when its position or the model's progress has changed. */
export function queueStatusComments(
  standing: () => Standing | undefined,
  frame: (standing: Standing) => string = queueStatusComment,
): StatusComments {
  let told = '';
  return {
    milliseconds: statusCommentMs,
    next() {
      const present = standing();
      const figure = present && figureOf(present);
      if (!present || figure === undefined || figure === told) return present && '';
      told = figure;
      return frame(present);
    },
  };
}

/** Readers of server-sent events skip it; people see it. */
export function queueStatusComment(standing: Standing): string {
  if (standing.type === 'loading') {
    return commentFrame(`loading ${inOneLine(standing.model)}, ${percentOf(standing.progress)} %`);
  }
  return commentFrame(`queue position ${standing.position}, about ${standing.estimateSeconds} s`);
}

/** What is worth a new notice: an estimate that moves by a second is not. */
function figureOf(standing: Standing): string {
  return standing.type === 'loading'
    ? `${percentOf(standing.progress)} % of ${standing.model}`
    : `place ${standing.position}`;
}

function percentOf(progress: number): number {
  return Math.floor(Math.min(1, Math.max(0, progress)) * 100);
}

/** The name of a file may hold anything: a line of its own would be read as a frame. */
function inOneLine(name: string): string {
  return name.replace(/[\r\n]+/g, ' ');
}
