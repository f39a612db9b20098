import type { IncomingHttpHeaders } from 'node:http';
import type { ChatRequest } from '../../chat/request.ts';
import { asAppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import type { GenerationRequest } from '../../core/request.ts';
import { SseLimitError, SseParser } from '../../core/sse-parser.ts';
import type { GenerationSink, RunningGeneration, TextEngine, TextModel, TextState } from '../../core/text-service.ts';
import type { Backend } from './backend.ts';
import { type Assignment, type BackendPool, PoolLifecycle, withBackend } from './backend-pool.ts';
import type { Backpressure } from './connection.ts';
import { clientError, RemoteFailure, statusFailure, withoutEnd } from './failure.ts';
import { kinds } from './kinds.ts';
import { type Affinity, chatAffinity, textAffinity } from './load-balancing.ts';
import { passedFields } from './passed-fields.ts';
import { lost, type RemoteProgress, ReplyStream, StreamError } from './reply-stream.ts';
import { type ControlsBody, chatBody, completionBody } from './request-body.ts';
import { RemoteTokens } from './tokens.ts';

interface RemoteTextDeps {
  readonly pool: BackendPool;
  /** Local name of the model; the default model of the backends if undefined. */
  readonly model: string | undefined;
  readonly now: () => number;
  readonly newCallId: () => string;
  /** Name until the backend reports its own. */
  readonly name: string;
  /** Used if the backend does not report it. */
  readonly defaultContext: number;
}

/** Text engine on remote backends. Chats are sent as messages, other requests as prompts. */
export class RemoteText extends PoolLifecycle implements TextEngine {
  readonly tokens: RemoteTokens;
  /** Last known identity. */
  #lastSeen: Backend | undefined;
  #model: { readonly of: Backend; readonly identity: object | undefined; readonly model: TextModel } | undefined;

  constructor(private readonly deps: RemoteTextDeps) {
    super(deps.pool);
    this.tokens = new RemoteTokens(deps.pool, deps.model);
  }

  state(): TextState {
    const { pool, model, name } = this.deps;
    const serving = pool.serving(model);
    const open = serving.find((backend) => backend.isOpen());
    this.#lastSeen = open ?? this.#lastSeen;
    if (open) return { type: 'ready', model: this.#describe(open) };
    const untried = pool.backends.every(({ state }) => state.type === 'unknown');
    return { type: 'loading', name, progress: 0, ...(untried ? {} : { trouble: pool.trouble(model) }) };
  }

  contextSize(): number {
    const lastSeen = this.#lastSeen ?? this.deps.pool.serving(this.deps.model)[0];
    return lastSeen?.model(this.deps.model)?.contextSize ?? this.deps.defaultContext;
  }

  generate(request: GenerationRequest, seed: number, sink: GenerationSink): RunningGeneration {
    const { promptTokens, memory, prompt } = request;
    const work: RemoteWork = {
      form: 'text',
      controls: request,
      affinity: () => textAffinity(request),
      body: (facts) => completionBody(request, facts),
      separateThinking: false,
      seed,
      count: async () => (promptTokens ?? (await this.tokenize(memory + prompt, { addSpecial: true }))).length,
    };
    return generateRemotely(work, this.deps, sink);
  }

  chat(request: ChatRequest, seed: number, sink: GenerationSink): RunningGeneration {
    const work: RemoteWork = {
      form: 'chat',
      controls: request.controls,
      affinity: () => chatAffinity(request.conversation),
      body: (facts) => chatBody(request, facts),
      separateThinking: request.reasoning.separate,
      seed,
      count: () => this.tokens.count(request, undefined),
    };
    return generateRemotely(work, this.deps, sink);
  }

  tokenize: TextEngine['tokenize'] = (text, options) => this.tokens.tokenize(text, options);
  detokenize: TextEngine['detokenize'] = (tokens) => this.tokens.detokenize(tokens);
  pieces: TextEngine['pieces'] = (tokens) => this.tokens.pieces(tokens);

  #describe(backend: Backend): TextModel {
    const { identity } = backend;
    if (this.#model?.of === backend && this.#model.identity === identity) return this.#model.model;
    const { pool, model: requestedModel, defaultContext, name } = this.deps;
    const served = backend.model(requestedModel);
    const contextSize = served?.contextSize ?? defaultContext;
    const hosts = pool.serving(requestedModel).map(({ address }) => address.host);
    const model: TextModel = {
      name: served?.name ?? name,
      path: '',
      contextSize,
      trainedContext: contextSize,
      vocabularySize: 0,
      vocabularyType: 0,
      embeddingLength: 0,
      parameters: 0,
      sizeBytes: 0,
      description: `${kinds[backend.kind].title} at ${hosts.join(', ')}`,
      chatTemplate: undefined,
      specialTokens: { bos: '', eos: '' },
      inputs: identity?.inputs ?? { image: true, audio: true },
    };
    this.#model = { of: backend, identity, model };
    return model;
  }
}

/** A request for 0 tokens, which most backends reject: only the length of the prompt is determined. */
function countOnly({ seed, count }: RemoteWork, sink: GenerationSink): RunningGeneration {
  const end = (promptTokens: number): void => {
    sink.event({ type: 'start', promptTokens, cachedTokens: 0, maxTokens: 0, seed });
    sink.event({
      type: 'finish',
      reason: 'length',
      cause: 'limit',
      usage: { promptTokens, cachedTokens: 0, completionTokens: 0 },
      timings: { initMs: 0, promptMs: 0, generationMs: 0, processedTokens: 0 },
    });
  };
  const fail = (thrown: unknown): void => {
    const error = asAppError(thrown);
    // A backend that cannot tokenize is not an error here.
    if (error.code === 'unsupported') end(0);
    else sink.event({ type: 'error', error });
  };
  void count().then(end, fail);
  return { abort: () => undefined };
}

/** A generation, with its body per kind of backend. */
interface RemoteWork {
  readonly form: 'chat' | 'text';
  readonly controls: Pick<GenerationRequest, 'maxTokens' | 'sampling'>;
  readonly affinity: Affinity;
  readonly body: (facts: Parameters<typeof completionBody>[1]) => ControlsBody;
  /** Whether reasoning is requested separate from the text. */
  readonly separateThinking: boolean;
  readonly seed: number;
  /** Tokens of the prompt. */
  readonly count: () => Promise<number>;
}

/** Generates on the best backend. Only before the first output it is retried on another one. The last event is finish or error. */
function generateRemotely(work: RemoteWork, deps: RemoteTextDeps, sink: GenerationSink): RunningGeneration {
  if (work.controls.maxTokens <= 0) return countOnly(work, sink);
  const { pool, model } = deps;
  const stop = new AbortController();
  let attempt: Attempt | undefined;
  // Back-pressure across retries: pauses the response that is being read.
  let paused = false;
  let backpressure: Backpressure | undefined;
  const opened = (next: Backpressure): void => {
    backpressure = next;
    if (paused) backpressure.pause();
  };
  withBackend(pool, { model, affinity: work.affinity, signal: stop.signal }, (assignment) => {
    attempt = new Attempt(work, assignment, deps, sink);
    return attempt.run(stop.signal, opened);
  }).catch((error: unknown) => {
    if (attempt && stop.signal.aborted) attempt.abort();
    else sink.event({ type: 'error', error: clientError(error, pool.capability) });
  });
  return {
    abort: () => stop.abort(),
    pause: () => {
      paused = true;
      backpressure?.pause();
    },
    resume: () => {
      paused = false;
      backpressure?.resume();
    },
  };
}

/** Maximum size of an event; parsing blocks the event loop. */
const maxEventCharacters = 4 * 2 ** 20;
/** Thrown to end a reply that exceeds its limit. */
const pastLimit = new Error('the reply is past its limit');
const paths = { chat: '/v1/chat/completions', text: '/v1/completions' };

/** One attempt on one backend. */
class Attempt {
  readonly #backend: Backend;
  readonly #host: string;
  readonly #reply: ReplyStream;
  #started = false;
  /** With its first output, after which no other backend may take over. */
  #begun = false;
  #ignored: readonly string[] = [];
  #droppedTokens = 0;

  constructor(
    private readonly work: RemoteWork,
    private readonly assignment: Assignment,
    { newCallId, now }: RemoteTextDeps,
    private readonly sink: GenerationSink,
  ) {
    const { form, controls, separateThinking: separate } = work;
    const { maxTokens } = controls;
    this.#backend = assignment.backend;
    this.#host = this.#backend.address.host;
    const parted = form === 'text' || kinds[this.#backend.kind].separatesThinking === true;
    const reading = (progress: RemoteProgress): void => this.#reading(progress);
    this.#reply = new ReplyStream({ form, host: this.#host, maxTokens, separate, parted, newCallId, now, reading });
  }

  async run(stop: AbortSignal, opened: (backpressure: Backpressure) => void): Promise<void> {
    try {
      await this.#stream(stop, opened);
    } catch (error) {
      if (error === pastLimit) this.#send(this.#reply.cut());
      else throw stop.aborted ? error : this.#failure(error);
    }
  }

  /** Aborted: the reply is what has arrived. */
  abort(): void {
    this.#send(this.#reply.aborted());
  }

  async #stream(stop: AbortSignal, opened: (backpressure: Backpressure) => void): Promise<void> {
    const { id, contextSize } = this.assignment.model;
    const { kind, connection, cut, address } = this.#backend;
    const { fields, ignored } = this.work.body({ kind, host: this.#host, seed: this.work.seed, contextSize });
    const passed = passedFields({ model: id, ...fields }, this.sink.sent, address.pass);
    const left = ignored.filter((name) => !Object.hasOwn(passed, name));
    this.#ignored = left;
    const event = (data: string): void => {
      this.#send(this.#reply.read(data));
      if (this.#reply.isPastLimit) throw pastLimit;
    };
    const parser = new SseParser({ event }, maxEventCharacters);
    const sink = {
      head: (headers: IncomingHttpHeaders, backpressure: Backpressure) => {
        const sent = headers['x-parley-ignored'];
        if (typeof sent === 'string') this.#ignored = [...left, ...sent.split(', ').filter(this.#wasRequested)];
        this.#droppedTokens = Number(headers['x-parley-dropped-tokens']) || 0;
        opened(backpressure);
      },
      piece: (text: string) => parser.push(text),
      whole: (text: string) => this.#send(this.#reply.read(text)),
      isOver: () => this.#reply.isDone,
    };
    const { traceparent } = this.sink;
    const headers = traceparent === undefined ? {} : { traceparent };
    await connection.stream(paths[this.work.form], { ...passed, model: id, ...fields }, sink, [stop, cut], headers);
    parser.end();
    // Before the last event, so that the next turn of a conversation finds its backend free.
    this.assignment.done();
    this.#send(this.#reply.finish());
  }

  /** Before the first output a `RemoteFailure` if another backend may do better; afterwards always an `AppError`. */
  #failure(error: unknown): unknown {
    if (error instanceof SseLimitError) return lost(this.#host, error.message);
    if (error instanceof StreamError) {
      const { status, message } = error;
      if (this.#begun) return lost(this.#host, withoutEnd(message));
      return statusFailure(this.#host, { status, body: JSON.stringify({ message }) });
    }
    if (!this.#begun || !(error instanceof RemoteFailure)) return error;
    this.#backend.failed(error);
    return lost(this.#host, withoutEnd(error.message));
  }

  /** Every backend that can is asked for it; an older one ignores it. */
  readonly #wasRequested = (field: string): boolean =>
    field !== 'return_progress' || this.sink.reportsProgress === true;

  /** No output yet: another backend may still take over. A client that waits for the figures has to know the length of its prompt. */
  #reading({ total, cached, processed }: RemoteProgress): void {
    if (this.sink.reportsProgress) this.#start(total, cached);
    this.sink.promptProgress?.({ done: processed - cached, total: total - cached });
  }

  #send(events: readonly GenerationEvent[]): void {
    if (events.length === 0) return;
    this.#begun = true;
    // Without its progress the length of the prompt is known only at the end.
    this.#start(0, 0);
    for (const event of events) this.sink.event(event);
  }

  #start(promptTokens: number, cachedTokens: number): void {
    if (this.#started) return;
    this.#started = true;
    const { controls, seed } = this.work;
    // Other backends choose a seed themselves if the client sets none.
    const knowsSeed = controls.sampling.seed > 0 || kinds[this.#backend.kind].native;
    this.sink.event({
      type: 'start',
      promptTokens,
      cachedTokens,
      maxTokens: controls.maxTokens,
      seed: knowsSeed ? seed : -1,
      ...(this.#droppedTokens > 0 ? { droppedTokens: this.#droppedTokens } : {}),
      ...(this.#ignored.length > 0 ? { ignored: [...new Set(this.#ignored)] } : {}),
    });
  }
}
