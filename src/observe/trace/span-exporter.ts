import { exportBody, type OtlpSpan, type TraceResource } from './otlp.ts';

export interface SpanExporterOptions {
  readonly resource: TraceResource;
  /** Sends one body and returns the status of the answer; rejects if the collector cannot be reached. */
  readonly post: (body: string) => Promise<number>;
  /** Does not keep the program running. */
  readonly startTimer: (milliseconds: number, passed: () => void) => { cancel(): void };
  /** Lines for the console. */
  readonly log: (line: string) => void;
  /** The name of the collector in those lines. */
  readonly collector: string;
}

export const exportLimits = {
  /** Spans that wait; further ones are dropped. */
  waiting: 4096,
  /** Spans of one export. */
  batch: 512,
  /** Time in which spans are collected for one export. */
  collectMs: 2000,
  /** Longest pause after failures. */
  pauseMs: 60_000,
} as const;

/** Statuses after which the same export may succeed later. */
const temporary: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** Sends spans in batches, one after the other. Never makes a request wait: while the collector is unreachable, spans are buffered up to a limit, then dropped. */
export class SpanExporter {
  readonly #waiting: OtlpSpan[] = [];
  #timer: { cancel(): void } | undefined;
  #sending: Promise<void> | undefined;
  #failures = 0;
  /** Why the collector does not take spans; logged once. */
  #trouble: string | undefined;
  #droppedInTrouble = 0;
  #sent = 0;
  #dropped = 0;
  #closed = false;

  constructor(private readonly options: SpanExporterOptions) {}

  get counts(): { readonly sent: number; readonly dropped: number } {
    return { sent: this.#sent, dropped: this.#dropped };
  }

  add(spans: readonly OtlpSpan[]): void {
    const room = Math.max(0, exportLimits.waiting - this.#waiting.length);
    this.#waiting.push(...spans.slice(0, room));
    this.#drop(Math.max(0, spans.length - room));
    this.#schedule();
  }

  /** Sends what waits, for at most this long. */
  async close(milliseconds: number): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    const late = new Promise<void>((resolve) => void this.options.startTimer(milliseconds, resolve));
    const rest = async (): Promise<void> => {
      await this.#sending;
      await this.#send();
    };
    await Promise.race([rest(), late]);
  }

  #schedule(): void {
    if (this.#timer || this.#sending || this.#closed || this.#waiting.length === 0) return;
    const full = this.#waiting.length >= exportLimits.batch && this.#failures === 0;
    const pause = Math.min(exportLimits.pauseMs, exportLimits.collectMs * 2 ** this.#failures);
    this.#timer = this.options.startTimer(full ? 0 : pause, () => {
      this.#timer = undefined;
      this.#sending = this.#send().finally(() => {
        this.#sending = undefined;
        this.#schedule();
      });
    });
  }

  /** Until nothing waits, or the collector does not answer. Never rejects. */
  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, exportLimits.batch);
      const result = await this.#post(batch);
      if (result.type === 'away') {
        this.#failures += 1;
        this.#troubled(result.reason);
        return;
      }
      this.#waiting.splice(0, batch.length);
      this.#failures = 0;
      if (result.type === 'refused') {
        this.#drop(batch.length);
        this.#troubled(result.reason);
      } else {
        this.#sent += batch.length;
        this.#recovered();
      }
    }
  }

  async #post(batch: readonly OtlpSpan[]): Promise<{ type: 'sent' } | { type: 'away' | 'refused'; reason: string }> {
    try {
      const status = await this.options.post(exportBody(batch, this.options.resource));
      if (status >= 200 && status < 300) return { type: 'sent' };
      return { type: temporary.has(status) ? 'away' : 'refused', reason: `it answers with status ${status}` };
    } catch (error) {
      return { type: 'away', reason: error instanceof Error ? error.message : String(error) };
    }
  }

  #drop(count: number): void {
    this.#dropped += count;
    this.#droppedInTrouble += count;
  }

  #troubled(reason: string): void {
    if (this.#trouble === undefined)
      this.options.log(
        `Traces cannot be sent to ${this.options.collector} (--trace): ${reason}. Requests go on without them.`,
      );
    this.#trouble = reason;
  }

  #recovered(): void {
    if (this.#trouble === undefined) return;
    const lost = this.#droppedInTrouble === 0 ? '' : `; ${this.#droppedInTrouble} spans were lost`;
    this.options.log(`Traces are sent to ${this.options.collector} again${lost}.`);
    this.#trouble = undefined;
    this.#droppedInTrouble = 0;
  }
}
