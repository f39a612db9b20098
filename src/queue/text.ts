import { type AbortCause, abortCause, unlessAborted } from '../core/abort.ts';
import { Channel } from '../core/channel.ts';
import type { EngineUse } from '../core/engine-source.ts';
import { AppError, asAppError } from '../core/errors.ts';
import { abortedUnstarted, emptyStart, type GenerationEvent } from '../core/events.ts';
import type { LoraScales } from '../core/lora.ts';
import type { GenerationRequest, PromptProgress, SharingTraits } from '../core/request.ts';
import type { RequestContext } from '../core/request-context.ts';
import type { RequestObserver } from '../core/request-observer.ts';
import type { SentFields } from '../core/sent-fields.ts';
import {
  type AbortOutcome,
  emptyCacheReport,
  type GenerateBy,
  type Performance,
  type Reservation,
  type RunningGeneration,
  refuseWithoutModel,
  type TextEngine,
  type TextService,
  type TextSource,
} from '../core/text-service.ts';
import type { Sharing } from './batching.ts';
import { InterruptedEvents } from './interrupted-events.ts';
import type { Job } from './jobs.ts';
import { type Admission, stateWork, textWork } from './queue.ts';
import { loading, modelName, queued, type RequestQueue } from './request-queue.ts';
import { WorkEstimate } from './work-estimate.ts';

/** Observer callbacks for the console and the metrics. Must not throw or block. */
export interface TextObserver {
  /** Work of any kind may begin, after this many milliseconds in the queue. */
  dequeued?(waited: number): void;
  sharingRefused?(reason: string, job: Job): void;
  begun?(request: GenerationRequest, job: Job, contextSize: number): void;
  promptProgress?(progress: PromptProgress): void;
  event?(event: GenerationEvent, job: Job): void;
  /** It is aborted; its last event follows, unless the server ends first. */
  aborted?(job: Job, by: AbortCause): void;
  abortAsked?(genkey: string, deferred: boolean): void;
}

interface TextDeps {
  readonly source: TextSource;
  readonly requestQueue: RequestQueue;
  /** Those in one lane share one engine; each lane has its own capacity. */
  readonly lane?: string;
  /** Whether a request may be batched; never by default. */
  readonly sharing?: (traits: SharingTraits) => Sharing;
  /** A fresh seed for requests that leave it open; positive. */
  readonly randomSeed: () => number;
  /** The LoRA adapters of the model. */
  readonly adapters?: LoraScales;
  readonly observer?: TextObserver;
}

/** The state that the generations of one reservation share. */
interface TextJob {
  readonly job: Job;
  readonly stop: AbortController;
  readonly admission: Admission;
  readonly watch: RequestObserver | undefined;
  readonly sent: SentFields | undefined;
  /** It waits for the engine to load. */
  wantsEngine: boolean;
  /** Until its text begins; a total of 0 while it is not known yet. */
  promptProgress: PromptProgress | undefined;
  paused: boolean;
  /** It has begun its first generation. */
  hasGenerated: boolean;
  /** Of background work: its text is given up, and begun again later. */
  readonly giveUp: (() => void) | undefined;
  /** Gives way to other work, and goes on later. Undefined while nothing is generated. */
  giveWay: (() => void) | undefined;
}

/** Events that may come before the text of a reply. */
const beforeText: ReadonlySet<GenerationEvent['type']> = new Set(['start', 'warning', 'prompt-logprobs']);

interface OwnReservation extends Reservation {
  generate(request: GenerationRequest, by?: GenerateBy, ended?: () => void): AsyncIterable<GenerationEvent>;
}

/** The text service: admits requests, runs them in turn, and keeps their output for polls by key. */
export function textService({
  source,
  requestQueue,
  lane = '',
  sharing = alone,
  randomSeed,
  adapters,
  observer = {},
}: TextDeps): TextService {
  const { queue, jobs, log } = requestQueue;
  const estimate = new WorkEstimate();

  async function exclusively<Result>(context: RequestContext, work: () => Promise<Result>): Promise<Result> {
    const options = { work: stateWork, lane, alone: true, onTurn: observer.dequeued };
    const { turn, leave, position } = requestQueue.enter(context, options);
    context.onQueued?.(() => queued(position()));
    try {
      await unlessAborted(turn, context.signal);
      return await work();
    } finally {
      leave();
    }
  }

  function reserve(context: RequestContext, traits: SharingTraits): OwnReservation {
    const shared = sharing(traits);
    const stop = new AbortController();
    const { giveWay: giveUp } = context;
    const giveWay = giveUp && ((): void => ((!queue.isClosed && own.giveWay) || giveUp)());
    const { admission, job, done } = requestQueue.admit(giveWay ? { ...context, giveWay } : context, {
      work: textWork,
      lane,
      alone: shared.type === 'alone',
      onTurn: observer.dequeued,
      abort: (own, by) => {
        if (own.state === 'done' || stop.signal.aborted) return;
        // A reader stops when its client disconnects; the cause is the client then, whichever is noticed first.
        observer.aborted?.(own, context.signal.aborted ? abortCause(context.signal) : by);
        stop.abort(by === 'shutdown' ? new AppError('stopping', {}) : undefined);
      },
    });
    const own: TextJob = {
      job,
      stop,
      admission,
      watch: context.watch,
      sent: context.sent,
      wantsEngine: false,
      promptProgress: undefined,
      paused: false,
      hasGenerated: false,
      giveUp,
      giveWay: undefined,
    };
    context.onQueued?.(
      () => queued(admission.position()) ?? (own.wantsEngine ? loading(source.state()) : undefined),
      () => own.promptProgress,
    );
    if (shared.type === 'alone' && shared.reason) observer.sharingRefused?.(shared.reason, job);
    const again = (): void => {
      own.paused = false;
      void admission.again();
      if (admission.position()) job.state = 'waiting';
    };
    return {
      generate: (original, by, ended = () => {}) => {
        if (own.paused) again();
        const request = withAdapters(original);
        return run(request, by ?? ((engine, seed, sink) => engine.generate(request, seed, sink)), own, ended);
      },
      pass: again,
      rest: () => {
        own.paused = true;
        admission.rest();
      },
      stopped: stop.signal,
      release: done,
    };
  }

  /** A reservation for one generation, released with its last event. */
  function generate(request: GenerationRequest, context: RequestContext): AsyncIterable<GenerationEvent> {
    const { generate: once, release } = reserve(context, request);
    return once(request, undefined, release);
  }

  /** With the adapters that apply where a request chooses none. */
  function withAdapters(request: GenerationRequest): GenerationRequest {
    const changed = request.adapters ? undefined : adapters?.changed();
    return changed ? { ...request, adapters: changed } : request;
  }

  function run(request: GenerationRequest, by: GenerateBy, own: TextJob, ended: () => void) {
    const { job, stop, admission, watch, sent, giveUp } = own;
    const channel = new Channel<GenerationEvent>(() => job.abort('unread'));
    let begun = false;
    let over = false;
    job.text = '';
    job.logprobs.length = 0;
    own.wantsEngine = true;
    const event = (next: GenerationEvent): void => {
      if (over) return;
      if (!beforeText.has(next.type)) own.promptProgress = undefined;
      if (next.type === 'start') own.promptProgress = { done: 0, total: next.promptTokens - next.cachedTokens };
      if (next.type === 'text-delta') {
        job.text += next.text;
        if (next.logprobs) job.logprobs.push(...next.logprobs);
      }
      // Every reply that does not fail has a start event, which dialects send first, also if it ended before it began.
      if (!begun && next.type === 'finish') channel.push(emptyStart(request.maxTokens, request.sampling.seed));
      begun ||= next.type === 'start';
      over = next.type === 'finish' || next.type === 'error';
      // It could not wait: its engine was unloaded, or cannot hold it.
      if (over && isHeld && !stop.signal.aborted) giveUp?.();
      if (over) own.giveWay = undefined;
      if (over) job.finish = next.type === 'finish' ? next.reason : 'error';
      log.event(next);
      observer.event?.(next, job);
      watch?.event?.(next, job.number, request);
      if (next.type === 'finish') {
        const { promptTokens, completionTokens } = next.usage;
        estimate.finished(next);
        watch?.used?.({ promptTokens, completionTokens });
      }
      channel.push(next);
      if (!over) {
        holdBack();
        return;
      }
      channel.end();
      use?.release();
      ended();
    };
    let running: RunningGeneration | undefined;
    const holdBack = (): void => {
      const room = running?.pause && channel.room();
      if (!room) return;
      running?.pause?.();
      void room.then(() => running?.resume?.());
    };
    let use: EngineUse<TextEngine> | undefined;
    const begin = (): void => {
      if (stop.signal.aborted || !use) {
        event(stopError(stop.signal) ?? abortedUnstarted);
        return;
      }
      const { engine } = use;
      refuseWithoutModel(engine.state());
      job.state = 'running';
      if (!begun) {
        log.begin();
        observer.begun?.(request, job, engine.contextSize());
        watch?.generationBegun?.(request, engine.contextSize(), job.number);
      }
      isInterrupted = false;
      own.promptProgress = { done: 0, total: 0 };
      const generation: RunningGeneration = by(engine, seed, {
        event: (next) => {
          if (isInterrupted && next.type === 'finish' && next.cause === 'aborted' && !stop.signal.aborted)
            return pause(next);
          if (next.type === 'start') expectRest(next.promptTokens - next.cachedTokens);
          else if (next.type !== 'warning') writes();
          const merged = events.merged(next);
          if (merged) event(merged);
        },
        promptProgress: (part) => {
          const progress = events.progress(part);
          if (!over) own.promptProgress = progress;
          if (request.reportsProgress && begun && !over) {
            channel.push({ type: 'prompt-progress', ...progress });
            holdBack();
          }
          observer.promptProgress?.(progress);
          expectRest(part.total - part.done);
        },
        reportsProgress: request.reportsProgress,
        traceparent: watch?.traceparent,
        sent,
      });
      running = generation;
      if (giveUp && generation.hold) own.giveWay = holdIt;
      // Begun again each time, it would never end.
      else if (admission.isShare()) giveUp?.();
      const abortIt = (): void => {
        const error = stopError(stop.signal);
        if (error) event(error);
        generation.abort();
      };
      if (stop.signal.aborted) abortIt();
      else stop.signal.addEventListener('abort', abortIt, { once: true });
    };
    let isHeld = false;
    /** Its text waits in the engine for the next turn. The model may be unloaded meanwhile. */
    const holdIt = (): void => {
      if (isHeld || over || !running || !use) return;
      isHeld = true;
      const { engine } = use;
      running.hold?.();
      use.release();
      use = undefined;
      job.state = 'waiting';
      void admission.resume();
      void proceed(engine, running).catch(() => giveUp?.());
    };
    const proceed = async (engine: TextEngine, held: RunningGeneration): Promise<void> => {
      await unlessAborted(admission.turn, stop.signal);
      if (over) return;
      if (source.peek() !== engine) {
        giveUp?.();
        return;
      }
      const next = await source.use(stop.signal);
      if (over || next.engine !== engine) {
        next.release();
        giveUp?.();
        return;
      }
      use = next;
      isHeld = false;
      job.state = 'running';
      held.proceed?.();
    };
    const seed = request.sampling.seed > 0 ? request.sampling.seed : randomSeed();
    const events = new InterruptedEvents();
    /** It was asked to stop for a shorter request. */
    let isInterrupted = false;
    const isFirst = !own.hasGenerated;
    own.hasGenerated = true;
    /** Until its first token it can be interrupted; not between the steps of one reply. */
    const expectRest = (tokens: number): void => {
      const interrupt = (seconds: number): void => {
        isInterrupted = true;
        running?.interrupt?.(estimate.promptTokens(seconds));
      };
      admission.expect(estimate.seconds(tokens, request.maxTokens), isFirst && !giveUp ? interrupt : undefined);
    };
    let isWriting = false;
    const writes = (): void => {
      if (!isWriting) admission.expect(undefined);
      isWriting = true;
    };
    /** What it has computed stays in the cache. */
    const pause = (end: GenerationEvent & { type: 'finish' }): void => {
      events.interrupted(end);
      use?.release();
      use = undefined;
      own.promptProgress = undefined;
      job.state = 'waiting';
      void admission.resume();
      void start();
    };
    /** A request that has to wait for its turn may overtake longer ones. */
    const expectWork = async (): Promise<void> => {
      if (!admission.position()) return;
      const tokens = await source.peek()?.uncachedTokens?.(request);
      if (tokens === undefined || !admission.position()) return;
      admission.expect(estimate.seconds(tokens, request.maxTokens));
    };
    const acquire = async (): Promise<void> => {
      const expected = source.expect?.();
      try {
        await unlessAborted(admission.turn, stop.signal);
        // Beside other work no model is loaded for it.
        if (admission.isShare() && !source.peek()) giveUp?.();
        stop.signal.throwIfAborted();
        use = await requestQueue.loadTimed(source.use(stop.signal, expected), 'text', modelName(source.state()), watch);
      } catch (error) {
        // Stopped before the engine was loaded: nothing is in use.
        if (!stop.signal.aborted) throw error;
      } finally {
        expected?.end();
        own.wantsEngine = false;
      }
    };
    const start = (): Promise<void> =>
      acquire()
        .then(begin)
        .catch((error: unknown) => event({ type: 'error', error: asAppError(error) }));
    void expectWork();
    void start();
    return channel;
  }

  /** For a call that bypasses the queue; `without` if there is no model. */
  async function askEngine<Answer>(call: (engine: TextEngine) => Promise<Answer>, without: Answer): Promise<Answer> {
    if (['none', 'failed'].includes(source.state().type)) return without;
    const { engine, release } = await source.use();
    try {
      const state = engine.state();
      // A load that is not worth waiting for is an error: an empty result would be wrong.
      if (state.type === 'loading') refuseWithoutModel(state);
      return state.type === 'ready' ? await call(engine) : without;
    } finally {
      release();
    }
  }

  function abort(genkey: string, client = ''): AbortOutcome {
    const targets =
      genkey === '' ? [jobs.running(client)].filter((job) => job !== undefined) : jobs.withKey(genkey, client);
    // A request that has just ended by itself counts as stopped: clients would show a refusal as an error.
    if (targets.length === 0 && !(genkey === '' && jobs.idle)) return 'refused';
    const deferred = targets.some(
      ({ state, position }) => state === 'waiting' && (genkey !== '' || position() !== undefined),
    );
    for (const job of targets) job.abort(genkey === '' ? 'no-key' : 'key');
    observer.abortAsked?.(genkey, deferred);
    return deferred ? 'pending' : 'stopped';
  }

  return {
    ...(adapters && { adapters }),
    generate,
    reserve,
    room: (traits) => queue.room({ alone: sharing(traits).type === 'alone', lane }),
    exclusively,
    abort,
    queuePosition: (genkey, client = '') => (genkey === '' ? undefined : jobs.visible(genkey, client)?.position()),
    check: (genkey, client = '') => jobs.visible(genkey, client)?.text ?? '',
    finished: (genkey, client = '') => {
      const job = genkey === '' ? undefined : jobs.visible(genkey, client);
      if (!job?.kept) return undefined;
      return job.state === 'done' ? (job.finish ?? 'aborted') : null;
    },
    lastLogprobs: (genkey, client = '') => {
      const logprobs = jobs.visible(genkey, client)?.logprobs;
      return logprobs && logprobs.length > 0 ? logprobs : undefined;
    },
    tokenize: (text, options) => askEngine((engine) => engine.tokenize(text, options), []),
    detokenize: (tokens, options) => askEngine((engine) => engine.detokenize(tokens, options), ''),
    pieces: (tokens) => askEngine((engine) => engine.pieces(tokens), []),
    state: () => source.state(),
    contextSize: () => source.contextSize(),
    performance: (): Performance => {
      const { waiting, running } = queue;
      const engine = source.peek();
      return {
        ...log.report({ waiting, running }),
        // The metrics of each generation do not need it.
        get estimateSeconds() {
          return queue.estimateSeconds({ lane });
        },
        steps: engine?.steps?.(),
        threads: engine?.threads?.(),
        snapshots: engine?.snapshots?.(),
        pool: engine?.cellPool?.(),
      };
    },
    cacheReport: async () => (await source.peek()?.cacheReport?.()) ?? emptyCacheReport,
    states: () => source.peek()?.states,
    ...(source.keepFor
      ? { keepFor: source.keepFor, expiresAt: source.expiresAt, loaded: () => source.peek() !== undefined }
      : {}),
  };
}

/** The last event of a request that is stopped by the shutdown; that of the engine may come too late. */
function stopError({ reason }: AbortSignal): GenerationEvent | undefined {
  return reason instanceof AppError ? { type: 'error', error: reason } : undefined;
}

const alone = (): Sharing => ({ type: 'alone', reason: undefined });
