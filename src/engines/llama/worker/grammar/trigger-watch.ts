import type { GrammarTrigger } from '../../../../core/request.ts';
import { Utf8Characters } from '../../../../patterns/characters.ts';
import { compilePattern, PatternSearch } from '../../../../patterns/search.ts';

/** A part of the text that the grammar has to be told of: a whole token, or the last bytes of one. */
export type Overdue = { readonly token: number } | { readonly bytes: Uint8Array };

interface Read {
  readonly token: number;
  readonly bytes: Uint8Array;
  /** Of its first byte, in the text since the watch began. */
  readonly place: number;
}

/** Reads a text until something in it says that the grammar begins. Each character is looked at once. */
export class TriggerWatch {
  readonly #searches: readonly PatternSearch[];
  readonly #tokens: ReadonlySet<number>;
  readonly #characters = new Utf8Characters();
  readonly #read: Read[] = [];
  #place = 0;

  constructor(triggers: readonly GrammarTrigger[]) {
    const patterns = triggers.flatMap((trigger) => patternOf(trigger) ?? []);
    this.#searches = patterns.map((pattern) => new PatternSearch(compilePattern(pattern)));
    this.#tokens = new Set(triggers.flatMap((trigger) => (trigger.type === 'token' ? [trigger.token] : [])));
  }

  /** What the grammar rules of the text so far, beginning where the trigger does; undefined while there is none. */
  push(token: number, bytes: Uint8Array): readonly Overdue[] | undefined {
    if (this.#tokens.has(token)) return [{ token }];
    this.#read.push({ token, bytes, place: this.#place });
    for (const byte of bytes) {
      this.#characters.push(byte, this.#place, (code, place) => {
        for (const search of this.#searches) search.push(code, place);
      });
      this.#place += 1;
    }
    for (const search of this.#searches) {
      const start = search.found(this.#place);
      if (start !== undefined) return this.#since(start);
    }
    return undefined;
  }

  #since(start: number): readonly Overdue[] {
    return this.#read.flatMap(({ token, bytes, place }): Overdue[] => {
      if (place + bytes.length <= start) return [];
      return [place >= start ? { token } : { bytes: bytes.subarray(start - place) }];
    });
  }
}

function patternOf(trigger: GrammarTrigger): string | undefined {
  if (trigger.type === 'token') return undefined;
  return trigger.type === 'pattern' ? trigger.source : trigger.text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
