import type { AbortCause } from '../core/abort-cause.ts';
import type { CacheMiss } from '../core/cache-report.ts';
import type { AppError } from '../core/errors.ts';
import { type FinishCause, type GenerationEvent, unreachable } from '../core/events.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { PromptProgress } from '../core/text-service.ts';
import { clock, printable, printableText, shorten } from './printable.ts';
import type { Terminal } from './terminal.ts';

export interface RequestLogOptions {
  readonly terminal: Terminal;
  /** Hides what people write and read. */
  readonly quiet: boolean;
  /** Several may run at once: each line says by its number which request it belongs to. */
  readonly several: boolean;
  readonly now: () => Date;
}

/** How often the moving line is written anew: seldom enough to cost nothing beside the generation itself. */
const statusEveryMs = 100;

interface Watched {
  readonly number: number;
  /** Whether it may run together with others. */
  readonly shared: boolean;
  readonly text: string;
}

interface Begun {
  readonly contextSize: number;
  maxTokens: number;
}

/** As the original numbers them. */
const stopNumbers: Record<FinishCause, number> = { limit: 0, aborted: 0, 'end-token': 1, 'stop-text': 2 };

const abortSentences: Record<AbortCause, string> = {
  'client-gone': 'the client went away',
  key: 'it was stopped by its key',
  'no-key': 'it was stopped by the abort endpoint, without a key',
  cancelled: 'it was cancelled',
  shutdown: 'the server is stopping',
  unread: 'nobody reads it any more',
};

/** One line for each finished request, with its speeds; on a terminal also how far the running one is. */
export class RequestLog {
  #tokens = 0;
  #maxTokens = 0;
  /** Several may run at once, each with its own lengths. */
  readonly #begun = new WeakMap<Watched, Begun>();
  readonly #told = new WeakSet<AppError>();
  #statusAt = 0;

  constructor(private readonly options: RequestLogOptions) {}

  /** Whether a line has told of this error. */
  isTold(error: AppError): boolean {
    return this.#told.has(error);
  }

  sharingRefused(reason: string, { number }: Watched): void {
    this.options.terminal.line(`Batching disabled due to ${reason} (#${number})`);
  }

  begun(request: GenerationRequest, job: Watched, contextSize: number): void {
    this.#tokens = 0;
    this.#begun.set(job, { contextSize: request.maxContext ?? contextSize, maxTokens: 0 });
    if (this.options.quiet) return;
    const { prompt, memory, maxTokens, stop } = request;
    const shown = { prompt: shorten(prompt), ...(memory && { memory: shorten(memory) }), max_length: maxTokens, stop };
    this.options.terminal.line();
    this.#line(job, `Input: ${printableText(JSON.stringify(shown))}`);
  }

  promptProgress({ done, total }: PromptProgress): void {
    this.options.terminal.status(`Processing Prompt [BATCH] (${done} / ${total} tokens)`);
  }

  aborted(job: Watched, by: AbortCause): void {
    if (this.#begun.has(job)) this.#line(job, `(Generation stopped: ${abortSentences[by]})`);
    else this.options.terminal.line(`#${job.number} left the queue: ${abortSentences[by]}`);
  }

  abortAsked(genkey: string, deferred: boolean): void {
    this.options.terminal.line(deferred ? `Deferred Abort for GenKey: ${printable(genkey)}` : 'Generation Aborted');
  }

  event(event: GenerationEvent, job: Watched): void {
    switch (event.type) {
      case 'start': {
        this.#maxTokens = event.maxTokens;
        if (event.miss) this.#line(job, parted(event.miss, this.options.quiet));
        const begun = this.#begun.get(job);
        if (begun) begun.maxTokens = event.maxTokens;
        return;
      }
      case 'text-delta':
      case 'reasoning-delta':
        this.#generating();
        return;
      case 'warning':
        this.#line(job, `[${printable(event.text, 1000)}]`);
        return;
      case 'finish':
        this.#finished(event, job);
        return;
      case 'error':
        this.#told.add(event.error);
        this.#line(job, `Request failed: ${printable(event.error.message, 1000)}`);
        return;
      case 'prompt-logprobs':
      case 'tool-start':
      case 'tool-delta':
      case 'tool-end':
        return;
      default:
        unreachable(event);
    }
  }

  #finished(event: GenerationEvent & { type: 'finish' }, job: Watched): void {
    const begun = this.#begun.get(job);
    // One that never began has said why, and has no figures.
    if (!begun) return;
    if (event.cause === 'end-token') this.#line(job, '(EOS token triggered!)');
    if (event.cause === 'stop-text') {
      this.#line(job, `(Stop sequence triggered: ${printable(JSON.stringify(event.stopText))})`);
    }
    this.#line(job, this.#summary(event, job, begun));
    if (!this.options.quiet) this.#line(job, `Output: ${printableText(shorten(job.text))}`);
  }

  /** Where one runs at a time, all lines are those of the one that runs. */
  #line({ number }: Watched, text: string): void {
    this.options.terminal.line(this.options.several ? `#${number} ${text}` : text);
  }

  #generating(): void {
    this.#tokens += 1;
    if (!this.options.terminal.interactive) return;
    const now = this.options.now().getTime();
    if (now - this.#statusAt < statusEveryMs) return;
    this.#statusAt = now;
    this.options.terminal.status(`Generating (${this.#tokens} / ${this.#maxTokens} tokens)`);
  }

  #summary({ usage, timings, cause }: GenerationEvent & { type: 'finish' }, job: Watched, begun: Begun): string {
    const { promptTokens, completionTokens } = usage;
    const { initMs, promptMs, generationMs, processedTokens } = timings;
    const { number, shared } = job;
    const used = `CtxLimit:${promptTokens + completionTokens}/${begun.contextSize}`;
    const total = initMs + promptMs + generationMs;
    return [
      `[${clock(this.options.now())}] ${shared ? `BatchRequest:${number}` : used}`,
      `Init:${seconds(initMs)}`,
      `Processed:${processedTokens} in ${seconds(promptMs)} (${speed(processedTokens, promptMs)})`,
      `Generated:${completionTokens}/${begun.maxTokens} in ${seconds(generationMs)} (${speed(completionTokens, generationMs)})`,
      `Total:${seconds(total)}`,
      ...(shared ? [`Stop:${stopNumbers[cause]}`] : []),
    ].join(', ');
  }
}

/** Why a prompt is read again; the usual reason is a line near its top that changes each time. */
function parted({ partedAt, promptTokens, reusedTokens, kept, wanted }: CacheMiss, quiet: boolean): string {
  const words = quiet ? '' : `: ${printable(JSON.stringify(wanted))} instead of ${printable(JSON.stringify(kept))}`;
  return `[Cache: ${reusedTokens} of ${promptTokens} tokens reused, the prompt differs at token ${partedAt}${words}]`;
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)}s`;
const speed = (tokens: number, ms: number): string => `${ms > 0 ? ((tokens * 1000) / ms).toFixed(2) : '0.00'}T/s`;

interface Task {
  readonly number: number;
  readonly kind: string;
}

/** One line for each piece of work beside text: what it was, and how long it took or why it came to nothing. */
export class TaskLog {
  constructor(
    private readonly terminal: Terminal,
    /** The word for each kind. */
    private readonly nouns: Readonly<Record<string, string>>,
  ) {}

  ended({ number, kind }: Task, milliseconds: number, error: AppError | undefined): void {
    const what = `${this.nouns[kind] ?? kind} #${number}`;
    const seconds = `${(milliseconds / 1000).toFixed(2)} s`;
    if (!error) this.terminal.line(`${what} took ${seconds}`);
    else if (error.code === 'stopped') this.terminal.line(`${what} was stopped after ${seconds}`);
    else this.terminal.line(`${what} failed after ${seconds}: ${printable(error.message, 1000)}`);
  }
}
