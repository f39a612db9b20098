import type { ToolEvent } from './format.ts';

/** Numbers the calls and collects the events of one step. */
export class CallWriter {
  readonly #newId: () => string;
  #events: ToolEvent[] = [];
  #calls = 0;
  /** White space that is dropped when a call follows: it only set the call apart from the text. */
  #space = '';

  constructor(newId: () => string) {
    this.#newId = newId;
  }

  get calls(): number {
    return this.#calls;
  }

  text(text: string): void {
    const whole = this.#space + text;
    const shown = whole.trimEnd();
    this.#space = whole.slice(shown.length);
    if (shown !== '') this.#events.push({ type: 'text-delta', text: shown });
  }

  start(name: string): void {
    this.#space = '';
    this.#events.push({ type: 'tool-start', index: this.#calls, id: this.#newId(), name });
    this.#calls += 1;
  }

  json(json: string): void {
    if (json !== '') this.#events.push({ type: 'tool-delta', index: this.#calls - 1, json });
  }

  end(): void {
    this.#events.push({ type: 'tool-end', index: this.#calls - 1 });
  }

  whole(name: string, json: string): void {
    this.start(name);
    this.json(json);
    this.end();
  }

  /** White space after the last call belongs to nothing. */
  finish(): void {
    if (this.#calls === 0 && this.#space !== '') this.#events.push({ type: 'text-delta', text: this.#space });
    this.#space = '';
  }

  take(): readonly ToolEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }
}
