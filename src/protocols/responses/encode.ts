import { AppError, asAppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import type { StartTimer } from '../../http/timers.ts';
import type { Shortfall } from '../dialect.ts';
import { failureObject } from './errors.ts';
import { Frames } from './frames.ts';
import { OutputItems, type OutputParts } from './output.ts';
import {
  type ResponseIdentity,
  type ResponseObject,
  type ResponseSettings,
  type ResponseState,
  responseObject,
} from './response.ts';
import { withSilences } from './silence.ts';

/** One answer in the making. */
export interface Session {
  readonly identity: ResponseIdentity;
  readonly settings: ResponseSettings;
  readonly output: OutputParts;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Stores the finished response where that was asked for, and gives it back as the client is told of it. */
  readonly keep: (response: ResponseObject) => ResponseObject;
}

type LastEvent = Extract<GenerationEvent, { readonly type: 'finish' | 'error' }>;

/** Agents end a stream that told them nothing for some minutes, and do not count comments. */
const silenceMs = 30_000;

export interface StreamParts {
  readonly startTimer: StartTimer;
  /** Whether its turn has not come yet, or its model is not there. */
  readonly waits: () => boolean;
}

export async function* encodeStream(
  events: AsyncIterable<GenerationEvent>,
  session: Session,
  { startTimer, waits }: StreamParts,
): AsyncGenerator<string> {
  const frames = new Frames();
  const output = new OutputItems(session.output);
  const queued = unfinished(session, 'queued');
  const begun = unfinished(session, 'in_progress');
  let waiting = waits();
  yield waiting ? frames.createdQueued(queued) : frames.created(begun);
  const last = (event: LastEvent): string => {
    let text = '';
    for (const change of output.finish(outcome(event))) text += frames.change(change);
    return text + frames.ended(ended(session, output, event));
  };
  try {
    for await (const event of withSilences(events, silenceMs, startTimer)) {
      if (event === undefined) {
        waiting &&= waits();
        yield waiting ? frames.queued(queued) : frames.inProgress(begun);
        continue;
      }
      if (waiting) {
        waiting = false;
        yield frames.inProgress(begun);
      }
      switch (event.type) {
        case 'start':
        case 'warning':
          break;
        case 'finish':
        case 'error':
          yield last(event);
          return;
        default: {
          const changes = output.read(event);
          if (changes.length === 0) break;
          let text = '';
          for (const change of changes) text += frames.change(change);
          yield text;
        }
      }
    }
  } catch (error) {
    yield last({ type: 'error', error: asAppError(error) });
    return;
  }
  yield last(brokenOff());
}

export interface WholeAnswer {
  readonly response: ResponseObject;
  /** What the engine could not do as it was asked to. */
  readonly shortfall: Shortfall;
}

/** The same events, summed up. An error is thrown, and keeps its own status. */
export async function encodeWhole(events: AsyncIterable<GenerationEvent>, session: Session): Promise<WholeAnswer> {
  const output = new OutputItems(session.output);
  let shortfall: Shortfall = {};
  for await (const event of events) {
    switch (event.type) {
      case 'start':
        shortfall = event;
        break;
      case 'warning':
        break;
      case 'error':
        throw event.error;
      case 'finish':
        output.finish(event.reason);
        return { response: ended(session, output, event), shortfall };
      default:
        output.read(event);
    }
  }
  throw brokenOff().error;
}

export function unfinished({ identity, settings }: Session, status: 'queued' | 'in_progress'): ResponseObject {
  return responseObject(identity, settings, { status }, []);
}

export function failed({ identity, settings }: Session, error: AppError): ResponseObject {
  return responseObject(identity, settings, { status: 'failed', error: failureObject(error) }, []);
}

function ended(session: Session, output: OutputItems, event: LastEvent): ResponseObject {
  return session.keep(responseObject(session.identity, session.settings, stateOf(session, event), output.items));
}

function stateOf({ settings, now }: Session, event: LastEvent): ResponseState {
  if (event.type === 'error') return { status: 'failed', error: failureObject(event.error) };
  const { usage } = event;
  switch (event.reason) {
    case 'stop':
    case 'tool-calls':
      return { status: 'completed', completedAt: Math.floor(now() / 1000), usage };
    case 'length':
      return { status: 'incomplete', reason: 'max_output_tokens', usage };
    case 'aborted':
      // Only what runs in the background can be cancelled in this dialect; others stopped it in some other way.
      return settings.background
        ? { status: 'cancelled', usage }
        : { status: 'incomplete', reason: 'cancelled', usage };
  }
}

function outcome(event: LastEvent) {
  return event.type === 'error' ? 'error' : event.reason;
}

function brokenOff(): LastEvent & { readonly type: 'error' } {
  return { type: 'error', error: new AppError('engine-lost', { capability: 'text' }) };
}
