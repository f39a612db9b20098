import type { GenerationEvent } from '../../core/events.ts';
import type { ChatRequest } from '../request.ts';
import { shortened } from './result-content.ts';

const shownCharacters = 400;

/**
 * What the server does for a reply is told in its thinking, which every dialect has a place for; between tags where the client
 * wants no place of its own for it, and not at all inside of an answer that has to be JSON.
 */
export class Notes {
  readonly #separate: boolean;
  readonly #silent: boolean;
  #open = false;

  constructor(
    { reasoning, output }: Pick<ChatRequest, 'reasoning' | 'output'>,
    private readonly tell: (event: GenerationEvent) => void,
  ) {
    this.#separate = reasoning.separate;
    this.#silent = !reasoning.separate && output.type !== 'text';
  }

  /** What the model thought itself ends here. */
  endLine(): void {
    if (this.#separate) this.#write('\n');
  }

  called(name: string, json: string): void {
    this.#write(`Calling the tool ${name} ${shortened(json, shownCharacters)}\n`);
  }

  /** A sign of life, where silence might be taken for the end. */
  stillRunning(): void {
    if (this.#separate) this.#write('.');
  }

  gave(name: string, words: string): void {
    this.#write(`\n${name}: ${shortened(words, shownCharacters)}\n`);
  }

  done(): void {
    if (!this.#open) return;
    this.#open = false;
    this.tell({ type: 'text-delta', text: '</think>\n' });
  }

  #write(words: string): void {
    if (this.#silent) return;
    if (this.#separate) {
      this.tell({ type: 'reasoning-delta', text: words });
      return;
    }
    this.tell({ type: 'text-delta', text: this.#open ? words : `<think>\n${words}` });
    this.#open = true;
  }
}
