import type { GrammarMachine, State } from './machine.ts';

/** Where a text stands in its grammar; the last character may still lack some of its bytes. */
export interface QueueStatus {
  readonly state: State;
  /** What is known of a character that is not whole yet, and how many bytes of it are missing. */
  readonly begun: number;
  readonly missing: number;
  /** How many bytes this character has after its first. */
  readonly length: number;
}

/** The least character that has to be written with so many bytes after the first. */
const least = [0, 0x80, 0x800, 0x10000];

export function startOf({ start }: GrammarMachine): QueueStatus {
  return standingAt(start);
}

/** After a whole character. */
export function standingAt(state: State): QueueStatus {
  return { state, begun: 0, missing: 0, length: 0 };
}

export function mayEnd({ state, missing }: QueueStatus): boolean {
  return state.complete && missing === 0;
}

/** Goes with the bytes of tokens through a grammar, and may be used again and again. */
export class TextWalk {
  #state: State;
  #begun = 0;
  #missing = 0;
  #length = 0;

  constructor(private readonly machine: GrammarMachine) {
    this.#state = machine.start;
  }

  /** Where the text stands after these bytes; undefined where they may not follow, or are no text. */
  after(from: QueueStatus, bytes: Uint8Array): QueueStatus | undefined {
    if (!this.allows(from, bytes)) return undefined;
    return { state: this.#state, begun: this.#begun, missing: this.#missing, length: this.#length };
  }

  /** The same without the trouble of making something. Nothing at all is not allowed: it would lead nowhere. */
  allows(from: QueueStatus, bytes: Uint8Array): boolean {
    this.#state = from.state;
    this.#begun = from.begun;
    this.#missing = from.missing;
    this.#length = from.length;
    for (let index = 0; index < bytes.length; index += 1) if (!this.#read(bytes[index] as number)) return false;
    return bytes.length > 0 && (this.#missing === 0 || this.#mayBecomeWhole());
  }

  #read(byte: number): boolean {
    if (this.#missing > 0) return byte >> 6 === 2 && this.#continue(byte & 0x3f);
    if (byte < 0x80) return this.#step(byte);
    if (byte < 0xc2 || byte > 0xf4) return false;
    this.#missing = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
    this.#length = this.#missing;
    this.#begun = byte & (0x3f >> this.#missing);
    return true;
  }

  #continue(bits: number): boolean {
    this.#begun = (this.#begun << 6) | bits;
    this.#missing -= 1;
    if (this.#missing > 0) return true;
    const code = this.#begun;
    this.#begun = 0;
    return code >= (least[this.#length] as number) && this.#step(code);
  }

  #step(code: number): boolean {
    const next = this.machine.next(this.#state, code);
    if (!next) return false;
    this.#state = next;
    return true;
  }

  #mayBecomeWhole(): boolean {
    const open = 6 * this.#missing;
    const lowest = Math.max(this.#begun << open, least[this.#length] as number);
    const highest = (this.#begun << open) | ((1 << open) - 1);
    return lowest <= highest && this.machine.allowsAny(this.#state, lowest, highest);
  }
}
