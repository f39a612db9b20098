import { progressBar, type Terminal } from './terminal.ts';

/** A load that takes less is not logged in parts. */
const shortMs = 3000;

/** Progress of loading a model: a bar on a terminal, a line per quarter of a longer load in a log file. */
export class LoadLog {
  #quarter = 0;
  #startedAt = 0;

  constructor(
    private readonly terminal: Terminal,
    private readonly name: string,
    /** Milliseconds of a monotonic clock. */
    private readonly now: () => number,
    private readonly kind = 'Text',
  ) {}

  begin(path: string): void {
    this.terminal.line(`Loading ${this.kind} Model: ${path}`);
  }

  /** Called for each load: restarted and unloaded engines load again. */
  started(): void {
    this.#quarter = 0;
    this.#startedAt = this.now();
  }

  progress(fraction: number): void {
    this.terminal.status(`Loading ${this.name} ${progressBar(fraction)}`);
    const quarter = Math.floor(fraction * 4);
    if (quarter <= this.#quarter) return;
    this.#quarter = quarter;
    if (this.terminal.interactive || this.now() - this.#startedAt < shortMs) return;
    this.terminal.line(`Loading ${this.name}: ${quarter * 25}%`);
  }

  done(facts: readonly string[]): void {
    const seconds = (this.now() - this.#startedAt) / 1000;
    this.terminal.line(`Load ${this.kind} Model OK: True`);
    this.terminal.line(`Loaded ${this.name} in ${seconds.toFixed(1)} s: ${facts.join(', ')}`, {
      event: 'load',
      outcome: 'done',
      model: this.name,
      duration_ms: Math.round(seconds * 1000),
    });
  }

  failed(reason: string): void {
    this.terminal.line(`Load ${this.kind} Model OK: False`);
    this.terminal.line(`${this.name} could not be loaded: ${reason}`, {
      level: 'error',
      event: 'load',
      outcome: 'failed',
      model: this.name,
    });
  }
}

interface ContextSizes {
  /** `--contextsize`, or its default. */
  readonly requested: number;
  readonly isExplicit: boolean;
  readonly trained: number;
  readonly actual: number;
}

/** The context size, and why it differs from the setting. */
export function contextFact({ requested, isExplicit, trained, actual }: ContextSizes): string {
  const size = `context ${actual}`;
  if (actual < requested && actual === trained && !isExplicit) return `${size} (as trained)`;
  if (actual < requested) return `${size} (lowered from ${requested} by the engine)`;
  if (isExplicit && actual < trained) return `${size} (as --contextsize asks; the model was trained for ${trained})`;
  return size;
}
