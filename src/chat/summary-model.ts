import { unlessAborted } from '../core/abort.ts';
import { AppError } from '../core/errors.ts';
import type { GenerationEvent } from '../core/events.ts';
import { fold, type Generation } from '../core/fold.ts';
import type { RequestContext } from '../core/request-context.ts';
import type { StartTimer } from '../core/timers.ts';
import type { ChatRequest } from './request.ts';

/** Writes summaries with one model. */
export interface SummaryWriter {
  readonly contextSize: number;
  readonly count: (request: ChatRequest) => Promise<number>;
  readonly generate: (request: ChatRequest) => Promise<Generation>;
}

/** `--compactmodel`: another model than that of the chat. */
export interface SummaryModel {
  readonly name: string;
  /**
   * In use until it is released; undefined if it is the model of the chat. Rejects if it cannot be used now: it never waits for requests
   * of others, which could wait for this one.
   */
  readonly select: () => Promise<SelectedSummaryModel | undefined>;
  /** How long a summary may wait for its turn and for the model to load. */
  readonly timeoutSeconds: number;
  readonly startTimer: StartTimer;
}

interface SelectedSummaryModel {
  /** Its chat service. */
  readonly chat: {
    reply(request: ChatRequest, context: RequestContext): AsyncIterable<GenerationEvent>;
    countTokens(request: ChatRequest, signal: AbortSignal): Promise<number>;
  };
  readonly contextSize: number;
  release(): void;
}

/** Calls the work with that model; undefined if it is the model of the chat. `context` is that of the chat, `stopped` ends both. */
export async function withSummaryModel<Result>(
  { name, select, timeoutSeconds, startTimer }: SummaryModel,
  { context, stopped }: { readonly context: RequestContext; readonly stopped: AbortSignal },
  work: (writer: SummaryWriter) => Promise<Result>,
): Promise<Result | undefined> {
  const selected = await select();
  if (!selected) return undefined;
  const { chat, contextSize, release } = selected;
  const late = new AbortController();
  const signal = AbortSignal.any([stopped, late.signal]);
  const inTime = async <Value>(begin: (begun: () => void) => Promise<Value>): Promise<Value> => {
    const timedOut = () => late.abort(new AppError('model-late', { model: name, seconds: timeoutSeconds }));
    const timer = startTimer(timeoutSeconds * 1000, timedOut);
    return unlessAborted(
      begin(() => timer.cancel()),
      signal,
    ).finally(() => timer.cancel());
  };
  const { client, program, part, weight, requestId, watch } = context;
  const own = { genkey: '', client, program, part, weight, requestId, admitted: true, signal };
  const contextWith = (begun: () => void): RequestContext =>
    ({ ...own, watch: { used: (counts) => watch?.used?.(counts), generationBegun: begun } }) as RequestContext;
  try {
    return await work({
      contextSize,
      count: (request) => inTime(() => chat.countTokens(request, signal)),
      generate: (request) => inTime(async (begun) => fold(chat.reply(request, contextWith(begun)))),
    });
  } finally {
    release();
  }
}
