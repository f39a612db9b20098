import type { GenerationEvent } from '../../core/events.ts';
import type { ChatRequest } from '../request.ts';
import { shortened } from './result-content.ts';

const maxCharacters = 400;

/**
 * Reports the calls in the thinking of the reply, which every dialect has: between tags in the text if the client does not
 * separate thinking, and not at all inside an answer that has to be JSON.
 */
export class Notes {
  readonly #separate: boolean;
  readonly #silent: boolean;
  #open = false;

  constructor(
    { reasoning, output }: Pick<ChatRequest, 'reasoning' | 'output'>,
    private readonly emit: (event: GenerationEvent) => void,
  ) {
    this.#separate = reasoning.separate;
    this.#silent = !reasoning.separate && output.type !== 'text';
  }

  called(name: string, json: string): void {
    this.#write(`Calling the tool ${name} ${shortened(json, maxCharacters)}\n`);
  }

  /** The end of the model's thinking, or a sign of life. */
  mark(text: '\n' | '.'): void {
    if (this.#separate) this.#write(text);
  }

  gave(name: string, text: string): void {
    this.#write(`\n${name}: ${shortened(text, maxCharacters)}\n`);
  }

  done(): void {
    if (!this.#open) return;
    this.#open = false;
    this.emit({ type: 'text-delta', text: '</think>\n' });
  }

  #write(text: string): void {
    if (this.#silent) return;
    if (this.#separate) {
      this.emit({ type: 'reasoning-delta', text });
      return;
    }
    this.emit({ type: 'text-delta', text: this.#open ? text : `<think>\n${text}` });
    this.#open = true;
  }
}
