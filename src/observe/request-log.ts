import type { CacheMiss } from '../core/cache-report.ts';
import { type FinishCause, type GenerationEvent, unreachable } from '../core/events.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { PromptProgress } from '../core/text-engine.ts';
import type { Terminal } from './terminal.ts';

export interface RequestLogOptions {
  readonly terminal: Terminal;
  /** Hides what people write and read. */
  readonly quiet: boolean;
  readonly contextSize: () => number;
  readonly now: () => Date;
}

/** How often the moving line is written anew: seldom enough to cost nothing beside the generation itself. */
const statusEveryMs = 100;

interface Watched {
  readonly text: string;
  /** Only one that runs together with others has it. */
  readonly batchNumber?: number;
}

/** As the original numbers them. */
const stopNumbers: Record<FinishCause, number> = { limit: 0, aborted: 0, 'end-token': 1, 'stop-text': 2 };

/** One line for each finished request, with its speeds; on a terminal also how far the running one is. */
export class RequestLog {
  #tokens = 0;
  #maxTokens = 0;
  /** Several may run at once, each with its own length. */
  readonly #lengths = new WeakMap<Watched, number>();
  #statusAt = 0;

  constructor(private readonly options: RequestLogOptions) {}

  sharingRefused(reason: string): void {
    this.options.terminal.line(`Batching disabled due to ${reason}`);
  }

  begun(request: GenerationRequest): void {
    this.#tokens = 0;
    if (this.options.quiet) return;
    const { prompt, memory, maxTokens, stop } = request;
    const shown = { prompt: shorten(prompt), ...(memory && { memory: shorten(memory) }), max_length: maxTokens, stop };
    this.options.terminal.line(`\nInput: ${JSON.stringify(shown)}`);
  }

  promptProgress({ done, total }: PromptProgress): void {
    this.options.terminal.status(`Processing Prompt [BATCH] (${done} / ${total} tokens)`);
  }

  abortAsked(genkey: string, deferred: boolean): void {
    this.options.terminal.line(deferred ? `Deferred Abort for GenKey: ${genkey}` : 'Generation Aborted');
  }

  event(event: GenerationEvent, job: Watched): void {
    const { terminal, quiet } = this.options;
    switch (event.type) {
      case 'start':
        this.#maxTokens = event.maxTokens;
        if (event.miss) terminal.line(parted(event.miss, quiet));
        this.#lengths.set(job, event.maxTokens);
        return;
      case 'text-delta':
      case 'reasoning-delta':
        this.#generating();
        return;
      case 'warning':
        terminal.line(`[${event.text}]`);
        return;
      case 'finish':
        if (event.cause === 'end-token') terminal.line('(EOS token triggered!)');
        if (event.cause === 'stop-text') terminal.line(`(Stop sequence triggered: ${JSON.stringify(event.stopText)})`);
        terminal.line(this.#summary(event, job));
        if (!quiet) terminal.line(`Output: ${shorten(job.text)}`);
        return;
      case 'error':
        terminal.line(`Request failed: ${event.error.message}`);
        return;
      case 'tool-start':
      case 'tool-delta':
      case 'tool-end':
        return;
      default:
        unreachable(event);
    }
  }

  #generating(): void {
    this.#tokens += 1;
    if (!this.options.terminal.interactive) return;
    const now = this.options.now().getTime();
    if (now - this.#statusAt < statusEveryMs) return;
    this.#statusAt = now;
    this.options.terminal.status(`Generating (${this.#tokens} / ${this.#maxTokens} tokens)`);
  }

  #summary({ usage, timings, cause }: GenerationEvent & { type: 'finish' }, job: Watched): string {
    const { promptTokens, completionTokens } = usage;
    const { initMs, promptMs, generationMs, processedTokens } = timings;
    const { batchNumber } = job;
    const used = `CtxLimit:${promptTokens + completionTokens}/${this.options.contextSize()}`;
    const total = initMs + promptMs + generationMs;
    return [
      `[${clock(this.options.now())}] ${batchNumber === undefined ? used : `BatchRequest:${batchNumber}`}`,
      `Init:${seconds(initMs)}`,
      `Processed:${processedTokens} in ${seconds(promptMs)} (${speed(processedTokens, promptMs)})`,
      `Generated:${completionTokens}/${this.#lengths.get(job) ?? 0} in ${seconds(generationMs)} (${speed(completionTokens, generationMs)})`,
      `Total:${seconds(total)}`,
      ...(batchNumber === undefined ? [] : [`Stop:${stopNumbers[cause]}`]),
    ].join(', ');
  }
}

/** Why a prompt is read again; the usual reason is a line near its top that changes each time. */
function parted({ partedAt, promptTokens, reusedTokens, kept, wanted }: CacheMiss, quiet: boolean): string {
  const words = quiet ? '' : `: ${JSON.stringify(wanted)} instead of ${JSON.stringify(kept)}`;
  return `[Cache: ${reusedTokens} of ${promptTokens} tokens reused, the prompt differs at token ${partedAt}${words}]`;
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)}s`;
const speed = (tokens: number, ms: number): string => `${ms > 0 ? ((tokens * 1000) / ms).toFixed(2) : '0.00'}T/s`;

function clock(date: Date): string {
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':');
}

/** Both ends of a long text: what it begins with and what it asks in the end. */
export function shorten(text: string, limit = 400): string {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  return `${text.slice(0, half)} … ${text.slice(-half)}`;
}
