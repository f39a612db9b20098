import { AppError, asAppError } from '../../core/errors.ts';
import type { GenerationEvent, Usage } from '../../core/events.ts';
import type { StartTimer, Timer } from '../../core/timers.ts';
import type { EngineNotices } from '../dialect.ts';
import { failureObject } from './errors.ts';
import { Frames, OutputItems, type OutputOptions, type ResponseObject } from './output.ts';

/** A reply that is being generated. */
export interface Session {
  /** The response before anything was generated: each later state is this object with other values. */
  readonly response: ResponseObject;
  readonly output: OutputOptions;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Stores the finished response if requested, and returns it as the client gets it. */
  readonly keep: (response: ResponseObject) => ResponseObject;
}

type LastEvent = Extract<GenerationEvent, { readonly type: 'finish' | 'error' }>;

/** Agents end a stream without events for some minutes, and do not count comments. */
const silenceMs = 30_000;

/** `waits` is true while the request is queued, or its model is loading. */
export async function* encodeStream(
  events: AsyncIterable<GenerationEvent>,
  session: Session,
  { startTimer, waits }: { readonly startTimer: StartTimer; readonly waits: () => boolean },
): AsyncGenerator<string> {
  const frames = new Frames();
  const output = new OutputItems(session.output, frames);
  const queued = unfinished(session, 'queued');
  const begun = unfinished(session, 'in_progress');
  let waiting = waits();
  frames.created(waiting ? queued : begun);
  yield frames.take();
  const last = (event: LastEvent): string => {
    output.finish(event.type === 'error' ? 'error' : event.reason);
    frames.status(ended(session, output, event));
    return frames.take();
  };
  try {
    for await (const event of withSilences(events, silenceMs, startTimer)) {
      if (event === undefined) {
        waiting &&= waits();
        frames.status(waiting ? queued : begun);
      } else {
        if (waiting) frames.status(begun);
        waiting = false;
        if (event.type === 'finish' || event.type === 'error') {
          yield last(event);
          return;
        }
        output.read(event);
      }
      const written = frames.take();
      if (written !== '') yield written;
    }
  } catch (error) {
    yield last({ type: 'error', error: asAppError(error) });
    return;
  }
  yield last({ type: 'error', error: brokenOff() });
}

/** The same events as one response. An error is thrown, and keeps its status. */
export async function encodeWhole(events: AsyncIterable<GenerationEvent>, session: Session, started?: () => void) {
  const output = new OutputItems(session.output);
  let engineNotices: EngineNotices = {};
  for await (const event of events) {
    if (event.type === 'error') throw event.error;
    if (event.type === 'finish') {
      output.finish(event.reason);
      return { response: ended(session, output, event), engineNotices };
    }
    output.read(event);
    if (event.type !== 'start') continue;
    engineNotices = event;
    started?.();
  }
  throw brokenOff();
}

export function unfinished({ response }: Session, status: 'queued' | 'in_progress'): ResponseObject {
  return { ...response, status };
}

export function failed({ response }: Session, error: AppError): ResponseObject {
  return { ...response, status: 'failed', error: failureObject(error) };
}

function ended(session: Session, { items: output }: OutputItems, event: LastEvent): ResponseObject {
  if (event.type === 'error') return session.keep({ ...failed(session, event.error), output });
  const usage = encodeUsage(event.usage);
  return session.keep({ ...session.response, ...endOf(session, event), output, usage });
}

function endOf({ response, now }: Session, { reason }: LastEvent & { type: 'finish' }) {
  const incomplete = (why: string) => ({ status: 'incomplete', incomplete_details: { reason: why } }) as const;
  switch (reason) {
    case 'stop':
    case 'tool-calls':
      return { status: 'completed', completed_at: Math.floor(now() / 1000) } as const;
    case 'length':
      return incomplete('max_output_tokens');
    case 'aborted':
      // Only a response in the background can be cancelled in this dialect; this one was stopped by another API.
      return response.background ? ({ status: 'cancelled' } as const) : incomplete('cancelled');
  }
}

/** Always all numbers: agents that count tokens cannot read an object without one. */
export function encodeUsage({ promptTokens, cachedTokens, completionTokens, reasoningTokens }: Usage): object {
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: 0 },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens ?? 0 },
    total_tokens: promptTokens + completionTokens,
  };
}

function brokenOff(): AppError {
  return new AppError('engine-lost', { capability: 'text' });
}

/** The values as they arrive, and `undefined` each time that none arrived for this long. */
export async function* withSilences<Value>(
  source: AsyncIterable<Value>,
  milliseconds: number,
  startTimer: StartTimer,
): AsyncGenerator<Value | undefined> {
  const iterator = source[Symbol.asyncIterator]();
  let wake: () => void = () => undefined;
  const timer: Timer = startTimer(milliseconds, () => wake());
  let next: Promise<IteratorResult<Value>> | undefined;
  try {
    for (;;) {
      const coming = next ?? iterator.next();
      next = coming;
      timer.restart();
      const step = await new Promise<IteratorResult<Value> | undefined>((resolve, reject) => {
        wake = () => resolve(undefined);
        coming.then(resolve, reject);
      });
      if (step) next = undefined;
      if (step?.done) return;
      yield step?.value;
    }
  } finally {
    timer.cancel();
    await iterator.return?.();
  }
}
