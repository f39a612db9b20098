import type { Headers } from './call.ts';

export type EventFormat = 'sse' | 'ndjson';

/** The format of a stream of events by its content type; undefined for sound, pages and whole bodies. */
export function eventFormat(headers: Headers = {}): EventFormat | undefined {
  const type = Object.entries(headers).find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? '';
  if (type.startsWith('text/event-stream')) return 'sse';
  return type.startsWith('application/x-ndjson') ? 'ndjson' : undefined;
}

const separators: Record<EventFormat, string> = { sse: '\n\n', ndjson: '\n' };
const colon = 58;
const brace = 123;

/**
 * Splits a stream into its events and numbers them from 1: an `id` line in front of a frame, a field `i` in front of the others of a
 * line. Comments and empty lines have no number; they precede the next event.
 */
export class EventNumbers {
  #last = 0;
  /** Comments before the next event, and a piece of it that is not complete. */
  #rest = '';
  readonly #separator: string;

  constructor(private readonly format: EventFormat) {
    this.#separator = separators[format];
  }

  /** The events that are complete with this piece. */
  push(piece: string): string[] {
    const text = this.#rest + piece;
    const events: string[] = [];
    let start = 0;
    let at = 0;
    for (;;) {
      const end = text.indexOf(this.#separator, at);
      if (end === -1) break;
      const next = end + this.#separator.length;
      if (this.#isEvent(text, at)) {
        events.push(text.slice(start, at) + this.#numbered(text.slice(at, next)));
        start = next;
      }
      at = next;
    }
    this.#rest = text.slice(start);
    return events;
  }

  /** What follows the last event. */
  end(): string {
    const rest = this.#rest;
    this.#rest = '';
    return rest;
  }

  #isEvent(text: string, at: number): boolean {
    const first = text.charCodeAt(at);
    return this.format === 'sse' ? first !== colon && first !== 10 : first === brace;
  }

  #numbered(event: string): string {
    this.#last += 1;
    if (this.format === 'sse') return `id: ${this.#last}\n${event}`;
    return `{"i":${this.#last}${event.startsWith('{}') ? '' : ','}${event.slice(1)}`;
  }
}
