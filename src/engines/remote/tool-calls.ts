import type { GenerationEvent } from '../../core/events.ts';
import { numberAt, objectAt, textAt } from './json.ts';

interface OpenCall {
  /** As the other side counts, which may begin anywhere. */
  readonly place: number;
  readonly id: string;
  readonly index: number;
}

/**
 * Calls as they come in pieces. A call has begun when its name is there; one ends where the next begins. An engine that
 * counts all its calls as the first is understood by their ids.
 */
export class ToolCalls {
  #open: OpenCall | undefined;
  #begun = 0;
  /** What came before its name did. */
  readonly #early = new Map<number, string>();

  constructor(private readonly newId: () => string) {}

  /** How many have begun. */
  get count(): number {
    return this.#begun;
  }

  read(entries: unknown): GenerationEvent[] {
    // One engine sends a single call without a list around it.
    const list = Array.isArray(entries) ? entries : entries === undefined || entries === null ? [] : [entries];
    return list.flatMap((entry, position) => this.#entry(objectAt(entry), position));
  }

  end(): GenerationEvent[] {
    const open = this.#open;
    this.#open = undefined;
    return open ? [{ type: 'tool-end', index: open.index }] : [];
  }

  #entry(entry: Readonly<Record<string, unknown>>, position: number): GenerationEvent[] {
    const place = numberAt(entry.index) ?? position;
    const id = textAt(entry.id) || undefined;
    const called = objectAt(entry.function);
    const name = textAt(called.name) || undefined;
    const json = argumentsOf(called.arguments);
    const goesOn = this.#open?.place === place && (id === undefined || id === this.#open.id || name === undefined);
    if (goesOn) return this.#delta(json);
    if (name === undefined) {
      this.#early.set(place, (this.#early.get(place) ?? '') + json);
      return [];
    }
    const ended = this.end();
    const call = { place, id: id ?? this.newId(), index: this.#begun };
    this.#open = call;
    this.#begun += 1;
    const before = this.#early.get(place) ?? '';
    this.#early.delete(place);
    return [...ended, { type: 'tool-start', index: call.index, id: call.id, name }, ...this.#delta(before + json)];
  }

  #delta(json: string): GenerationEvent[] {
    return json === '' || !this.#open ? [] : [{ type: 'tool-delta', index: this.#open.index, json }];
  }
}

/** A text, or with some engines the object itself. */
function argumentsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : '';
}
