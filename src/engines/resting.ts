import { type CacheReport, emptyCacheReport } from '../core/cache-report.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { SavedStates } from '../core/saved-states.ts';
import type {
  GenerationSink,
  RunningGeneration,
  TextEngine,
  TokenizeOptions,
  TokenPiece,
} from '../core/text-engine.ts';
import type { TextState } from '../core/text-service.ts';

/** An engine that can be ended and made anew. */
export interface StartableEngine extends TextEngine {
  start(): void;
  stop(): Promise<void>;
}

export interface RestingParts {
  readonly create: () => StartableEngine;
  readonly startTimer: (milliseconds: number, action: () => void) => { cancel(): void };
  readonly now: () => number;
  readonly onRest?: () => void;
}

/** Longer than this and a timer of Node would fire at once; it is for ever to any reader of a clock. */
const longestTimer = 2 ** 31 - 1;

/**
 * An engine that gives its memory back when it was not needed for a while, and is loaded again by the next request. To
 * everybody else it looks ready all the time: whoever waits for `settled` wakes it.
 */
export class RestingEngine implements StartableEngine {
  #engine: StartableEngine | undefined;
  #lastState: TextState;
  #running = 0;
  #restAfter = Number.POSITIVE_INFINITY;
  #expiresAt = Number.POSITIVE_INFINITY;
  #timer: { cancel(): void } | undefined;

  constructor(private readonly parts: RestingParts) {
    this.#engine = parts.create();
    this.#lastState = this.#engine.state();
  }

  get loaded(): boolean {
    return this.#engine !== undefined;
  }

  /** When it will rest, in the time of the parts' clock; never is infinite. */
  get expiresAt(): number {
    return this.#expiresAt;
  }

  start(): void {
    this.#engine?.start();
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    await this.#engine?.stop();
  }

  /** From the end of the work that runs now, and of all that comes, it stays for this long. 0 lets it go at once. */
  restAfter(milliseconds: number): void {
    this.#restAfter = Math.max(0, milliseconds);
    this.#plan();
  }

  state(): TextState {
    if (this.#engine) this.#lastState = this.#engine.state();
    return this.#lastState;
  }

  contextSize(): number {
    const state = this.state();
    return this.#engine?.contextSize() ?? (state.type === 'ready' ? state.model.contextSize : 0);
  }

  settled(): Promise<void> {
    return this.#asked(this.#awake().settled());
  }

  generate(request: GenerationRequest, seed: number, sink: GenerationSink): RunningGeneration {
    this.#begin();
    return this.#awake().generate(request, seed, {
      ...sink,
      event: (event) => {
        if (event.type === 'finish' || event.type === 'error') {
          this.#running -= 1;
          this.#plan();
        }
        sink.event(event);
      },
    });
  }

  tokenize(text: string, options: TokenizeOptions): Promise<readonly number[]> {
    return this.#asked(this.#awake().tokenize(text, options));
  }

  detokenize(tokens: readonly number[], options: { readonly renderSpecial: boolean }): Promise<string> {
    return this.#asked(this.#awake().detokenize(tokens, options));
  }

  pieces(tokens: readonly number[]): Promise<readonly TokenPiece[]> {
    return this.#asked(this.#awake().pieces(tokens));
  }

  /** Whoever waits for an answer is being served, too. */
  async #asked<Answer>(answer: Promise<Answer>): Promise<Answer> {
    this.#begin();
    try {
      return await answer;
    } finally {
      this.#running -= 1;
      this.#plan();
    }
  }

  /** A model that rests keeps nothing, and a look at it is no reason to load it. */
  cacheReport(): Promise<CacheReport> {
    return this.#engine?.cacheReport?.() ?? Promise.resolve(emptyCacheReport);
  }

  /** States lie in the memory of the model: while it rests there are none. */
  get states(): SavedStates | undefined {
    const states = this.#engine?.states;
    if (!states) return undefined;
    return {
      count: states.count,
      check: () => this.#asked(states.check()),
      save: (place) => this.#asked(states.save(place)),
      load: (place) => this.#asked(states.load(place)),
      clear: () => this.#asked(states.clear()),
    };
  }

  /** Somebody who comes after a wish to let go at once wants it to stay: the wish is overtaken. */
  #begin(): void {
    this.#running += 1;
    this.#timer?.cancel();
    if (this.#restAfter === 0) this.#restAfter = Number.POSITIVE_INFINITY;
  }

  #awake(): StartableEngine {
    if (this.#engine) return this.#engine;
    const engine = this.parts.create();
    this.#engine = engine;
    engine.start();
    this.#plan();
    return engine;
  }

  #plan(): void {
    this.#timer?.cancel();
    this.#expiresAt = this.parts.now() + this.#restAfter;
    if (!this.#engine || this.#running > 0 || this.#restAfter > longestTimer) return;
    this.#timer = this.parts.startTimer(this.#restAfter, () => this.#rest());
  }

  #rest(): void {
    const engine = this.#engine;
    // A model that is still being loaded is on its way to somebody.
    if (!engine || this.#running > 0 || engine.state().type === 'loading') {
      this.#plan();
      return;
    }
    this.#lastState = engine.state();
    this.#engine = undefined;
    // The wish was about this load: the next one stays unless somebody wishes it away again.
    this.#restAfter = Number.POSITIVE_INFINITY;
    this.#expiresAt = this.#restAfter;
    this.parts.onRest?.();
    void engine.stop();
  }
}
