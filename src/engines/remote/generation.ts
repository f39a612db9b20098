import type { IncomingHttpHeaders } from 'node:http';
import type { AppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import { SseLimitError, SseParser } from '../../core/sse-parser.ts';
import type { GenerationSink, RunningGeneration } from '../../core/text-service.ts';
import type { Backend } from './backend.ts';
import type { Assignment, BackendPool } from './backend-pool.ts';
import type { StreamSink, Valve } from './connection.ts';
import type { ControlFacts, ControlsBody } from './controls-body.ts';
import { clientError, RemoteFailure, statusFailure } from './failure.ts';
import { kinds } from './kinds.ts';
import { lost, ReplyStream, ToldError } from './reply-stream.ts';

/** A generation, with its body per kind of backend. */
export interface RemoteWork {
  readonly form: 'chat' | 'text';
  readonly path: string;
  readonly affinity: string;
  readonly body: (facts: ControlFacts & { readonly contextSize: number | undefined }) => ControlsBody;
  readonly maxTokens: number;
  /** Whether reasoning is requested separate from the text. */
  readonly separateThinking: boolean;
  readonly seed: number;
  /** Whether the client chose the seed. */
  readonly seeded: boolean;
}

export interface RemoteParts {
  readonly pool: BackendPool;
  /** Local name of the model; the default model of the backends if undefined. */
  readonly model: string | undefined;
  readonly now: () => number;
  readonly newCallId: () => string;
}

/**
 * Generates on the best backend. Until the first output the request is retried on another backend if the first is unreachable or
 * overloaded; after that a failure ends the reply.
 */
export function generateRemotely(work: RemoteWork, parts: RemoteParts, sink: GenerationSink): RunningGeneration {
  const stop = new AbortController();
  const pressure = new BackPressure();
  void attempts(work, parts, sink, { stop: stop.signal, pressure });
  return { abort: () => stop.abort(), pause: () => pressure.pause(), resume: () => pressure.resume() };
}

/** Back-pressure across retries: pauses the response that is being read. */
class BackPressure implements Valve {
  #paused = false;
  #valve: Valve | undefined;

  set valve(valve: Valve) {
    this.#valve = valve;
    if (this.#paused) valve.pause();
  }

  pause(): void {
    this.#paused = true;
    this.#valve?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#valve?.resume();
  }
}

interface Controls {
  readonly stop: AbortSignal;
  readonly pressure: BackPressure;
}

/** Maximum size of an event; parsing blocks the event loop. */
const mostEventCharacters = 4 * 2 ** 20;
/** Thrown to end a reply that exceeds its limit. */
const enough = new Error('the reply is past its limit');

/** Never rejects; the last event is finish or error. */
async function attempts(work: RemoteWork, parts: RemoteParts, sink: GenerationSink, controls: Controls): Promise<void> {
  const { stop } = controls;
  const { pool, model } = parts;
  const tried = new Set<Backend>();
  const excused = new Set<Backend>();
  let last: RemoteFailure | undefined;
  for (;;) {
    const assignment = pool.assign(model, work.affinity, tried);
    if (!assignment) {
      const error = last ? clientError(last, pool.capability) : pool.troubleError(model);
      return sink.event({ type: 'error', error });
    }
    const { backend } = assignment;
    const attempt = new Attempt(work, assignment, parts, sink);
    try {
      return await attempt.run(controls);
    } catch (error) {
      if (stop.aborted) return attempt.abort();
      const failure = attempt.failure(error);
      if (failure instanceof RemoteFailure) backend.failed(failure);
      if (attempt.begun || !(failure instanceof RemoteFailure) || !failure.isPassing) {
        return sink.event({ type: 'error', error: attempt.clientError(failure) });
      }
      last = failure;
      // A stale keep-alive connection: retry once on the same backend.
      if (failure.facts.stale && !excused.has(backend)) excused.add(backend);
      else tried.add(backend);
    } finally {
      assignment.done();
    }
  }
}

/** One attempt on one backend. */
class Attempt {
  begun = false;
  readonly #reply: ReplyStream;
  #unheeded: readonly string[] = [];
  #droppedTokens = 0;

  constructor(
    private readonly work: RemoteWork,
    private readonly assignment: Assignment,
    private readonly parts: RemoteParts,
    private readonly sink: GenerationSink,
  ) {
    this.#reply = new ReplyStream({
      form: work.form,
      host: this.#host,
      maxTokens: work.maxTokens,
      separate: work.separateThinking,
      parted: work.form === 'text' || kinds[this.#kind].separatesThinking,
      newCallId: parts.newCallId,
      now: parts.now,
    });
  }

  get #host(): string {
    return this.assignment.backend.address.host;
  }

  get #kind() {
    return this.assignment.backend.identity?.kind ?? 'openai';
  }

  async run({ stop, pressure }: Controls): Promise<void> {
    const { backend, model } = this.assignment;
    const { fields, unheeded } = this.work.body({
      kind: this.#kind,
      host: this.#host,
      seed: this.work.seed,
      contextSize: model.contextSize,
    });
    this.#unheeded = unheeded;
    const event = (data: string): void => {
      this.#tell(this.#reply.read(data));
      if (this.#reply.isPastLimit) throw enough;
    };
    const parser = new SseParser({ event }, mostEventCharacters);
    const sink: StreamSink = {
      head: (headers, valve) => {
        this.#heard(headers);
        pressure.valve = valve;
      },
      piece: (text) => parser.push(text),
      whole: (text) => this.#tell(this.#reply.read(text)),
    };
    const signal = AbortSignal.any([stop, backend.cut]);
    try {
      await backend.connection.stream(this.work.path, { model: model.id, ...fields }, sink, signal);
      parser.end();
    } catch (error) {
      if (error !== enough) throw error;
      return this.#tell(this.#reply.cut());
    }
    this.#tell(this.#reply.finish());
  }

  /** Fields that another Parley ignored, from its headers. */
  #heard(headers: IncomingHttpHeaders): void {
    const ignored = headers['x-parley-ignored'];
    if (typeof ignored === 'string') this.#unheeded = [...this.#unheeded, ...ignored.split(', ')];
    this.#droppedTokens = Number(headers['x-parley-dropped-tokens']) || 0;
  }

  /** Aborted: the reply is what has arrived. */
  abort(): void {
    this.#tell(this.#reply.aborted());
  }

  /** Updates the backend's state after an error; errors within a stream have a status. */
  failure(error: unknown): unknown {
    if (error instanceof SseLimitError) return lost(this.#host, error.message);
    if (!(error instanceof ToldError)) return error;
    if (this.begun) return lost(this.#host, error.message.replace(/\.$/, ''));
    return statusFailure(this.#host, { status: error.status, body: JSON.stringify({ message: error.message }) });
  }

  clientError(failure: unknown): AppError {
    const broke = this.begun && failure instanceof RemoteFailure;
    return broke ? lost(this.#host, `it ${failure.message}`) : clientError(failure, this.parts.pool.capability);
  }

  #tell(events: readonly GenerationEvent[]): void {
    if (events.length === 0) return;
    if (!this.begun) this.#begin();
    for (const event of events) this.sink.event(event);
  }

  #begin(): void {
    const { maxTokens, seed, seeded } = this.work;
    const knowsSeed = seeded || kinds[this.#kind].native;
    this.begun = true;
    this.sink.event({
      type: 'start',
      // Sent at the end, because backends report it only then.
      promptTokens: 0,
      cachedTokens: 0,
      maxTokens,
      seed: knowsSeed ? seed : -1,
      ...(this.#droppedTokens > 0 ? { droppedTokens: this.#droppedTokens } : {}),
      ...(this.#unheeded.length > 0 ? { unheeded: [...new Set(this.#unheeded)] } : {}),
    });
  }
}
