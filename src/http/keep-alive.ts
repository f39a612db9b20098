import type { PromptProgress, QueueStatus } from '../core/request.ts';
import { steps } from '../core/steps.ts';
import type { StartTimer, Timer } from '../core/timers.ts';
import type { Call, Reply, StatusComments } from './call.ts';
import { commentFrame } from './sse.ts';

/** Longest silence of a stream: proxies and clients close idle connections. Its headers are sent by then, too. */
export const keepAliveMs = 5_000;

/** Interval of the padding in front of JSON, as in KoboldCpp. */
const paddingMs = 15_000;

/** Large enough to pass through proxies that buffer a few kilobytes; white space is valid in front of JSON. */
const padding = `${' '.repeat(2047)}\n`;

/** The value, or undefined after this time or once `isQueued` returns true; polled, as it may change. */
function withTimeout<Value>(
  promise: Promise<Value>,
  milliseconds: number,
  startTimer: StartTimer,
  isQueued?: () => boolean,
) {
  return new Promise<Value | undefined>((resolve, reject) => {
    const timeout = startTimer(milliseconds, () => resolve(undefined));
    const poll = (): void => {
      try {
        if (isQueued?.()) resolve(undefined);
        else polling?.restart();
      } catch (error) {
        reject(error);
      }
    };
    const polling: Timer | undefined = isQueued && startTimer(statusCommentMs, poll);
    promise.then(resolve, reject).finally(() => {
      timeout.cancel();
      polling?.cancel();
    });
  });
}

/** Whether the client asked for padding, which its JSON parser must skip. */
export function requestsPadding({ headers }: Call): boolean {
  return String(headers['x-koboldcpp-keepalive']).toLowerCase() === 'true';
}

/** A result in time has its own status. A later one starts as 200 with padding, and reports errors in the body. */
export async function paddedReply(
  answer: Promise<string>,
  failure: (error: unknown) => string,
  startTimer: StartTimer,
): Promise<Reply> {
  const late = answer.catch(failure);
  const soon = await withTimeout(answer, paddingMs, startTimer);
  if (soon !== undefined) return { status: 200, headers: { 'content-type': 'application/json' }, body: soon };
  const headers = { 'content-type': 'application/json', connection: 'close', 'x-accel-buffering': 'no' };
  return { status: 200, headers, stream: padded(late), keepAlive: { milliseconds: paddingMs, filler: padding } };
}

async function* padded(answer: Promise<string>): AsyncGenerator<string> {
  yield padding;
  yield await answer;
}

/** An event of a running job. Some jobs report a failure as an event, others throw it. */
interface WorkEvent {
  readonly type: string;
  readonly error?: unknown;
}

/** The events of a job that has started, or that did not start in time. */
export interface StartedStream<Event extends WorkEvent> {
  readonly events: AsyncIterable<Event>;
  /** The first event, if it arrived in time. */
  readonly first: Event | undefined;
}

/**
 * Waits for the first event, so that an error before any output is sent with its own status instead of inside a stream
 * with status 200. After the keep-alive time the stream starts anyway, and earlier if it can report the queue position
 * (`isQueued`); a later error is then the last frame.
 */
export async function awaitFirstEvent<Event extends WorkEvent>(
  events: AsyncIterable<Event>,
  startTimer: StartTimer,
  isQueued?: () => boolean,
): Promise<StartedStream<Event>> {
  const iterator = events[Symbol.asyncIterator]();
  const first = iterator.next();
  const soon = await withTimeout(first, keepAliveMs, startTimer, isQueued).catch((error: unknown) => {
    Promise.resolve(iterator.return?.()).catch(() => undefined);
    throw error;
  });
  if (soon && !soon.done && soon.value.type === 'error') {
    await iterator.return?.();
    throw soon.value.error;
  }
  return { events: resumed(iterator, first), first: soon?.done ? undefined : soon?.value };
}

/** The first step, then those of the iterator. */
function resumed<Event>(iterator: AsyncIterator<Event>, first: Promise<IteratorResult<Event>>): AsyncIterable<Event> {
  let waiting: typeof first | undefined = first;
  const next = (): typeof first => {
    const step = waiting ?? iterator.next();
    waiting = undefined;
    return step;
  };
  return steps(next, () => iterator.return?.());
}

/** Delay of the first status comment of a queued stream, and the least time between two. */
const statusCommentMs = 1000;

/** Comments with the queue position or load progress: the first at once, then one for each change. */
export function queueStatusComments(
  status: () => QueueStatus | undefined,
  frame: (status: QueueStatus) => string = queueStatusComment,
): StatusComments {
  let reported = '';
  return {
    milliseconds: statusCommentMs,
    next() {
      const current = status();
      const figure = current && figureOf(current);
      if (!current || figure === undefined || figure === reported) return current && '';
      reported = figure;
      return frame(current);
    },
  };
}

/** An SSE comment: parsers skip it, people can read it. */
export function queueStatusComment(status: QueueStatus): string {
  if (status.type === 'loading') {
    return commentFrame(`loading ${inOneLine(status.model)}, ${percentOf(status.progress)} %`);
  }
  return commentFrame(`queue position ${status.position}, about ${status.estimateSeconds} s`);
}

/**
 * After those about the queue, comments on how far the prompt is processed, one for each change, until `reading` returns nothing.
 * With `delayed` the first one comes only after their interval: most prompts are processed by then.
 */
export function statusAndProgressComments(
  status: StatusComments,
  reading: () => PromptProgress | undefined,
  delayed: boolean,
): StatusComments {
  let isDue = !delayed;
  let reported = '';
  return {
    milliseconds: status.milliseconds,
    next() {
      const comment = status.next();
      if (comment !== undefined) return comment;
      const progress = reading();
      if (!progress) return undefined;
      const text = isDue && progress.total > 0 ? promptProgressComment(progress) : reported;
      isDue = true;
      if (text === reported) return '';
      reported = text;
      return text;
    },
  };
}

/** How far a prompt is processed, as a comment. */
export function promptProgressComment({ done, total }: PromptProgress): string {
  return commentFrame(`reading ${done} of ${total} tokens`);
}

/** Key of what a comment reports. The estimate is left out: it changes every second. */
function figureOf(status: QueueStatus): string {
  return status.type === 'loading' ? `${percentOf(status.progress)} % of ${status.model}` : `place ${status.position}`;
}

const percentOf = (progress: number): number => Math.floor(Math.min(1, Math.max(0, progress)) * 100);

/** A line break in a model's name would start a new SSE field. */
const inOneLine = (name: string): string => name.replace(/[\r\n]+/g, ' ');
