import type { GenerationEvent } from '../../core/events.ts';
import type { ToolCall } from '../../core/fold.ts';

export type Finish = Extract<GenerationEvent, { type: 'finish' }>;

/** One reply of the model on the way to the answer: what it says is told on, what it calls is kept. */
export class Turn {
  readonly #calls: ToolCall[] = [];
  text = '';
  reasoning = '';
  finish: Finish | undefined;
  failed = false;

  constructor(
    private readonly tell: (event: GenerationEvent) => void,
    private readonly isFirst: boolean,
    /** Between what was said before it and what it says. */
    private readonly separator: string,
  ) {}

  take(event: GenerationEvent): void {
    switch (event.type) {
      case 'start':
        // The reply has one beginning, whatever it takes.
        if (this.isFirst) this.tell(event);
        return;
      case 'tool-start':
        this.#calls[event.index] = { id: event.id, name: event.name, json: '' };
        return;
      case 'tool-delta': {
        const call = this.#calls[event.index];
        if (call) call.json += event.json;
        return;
      }
      case 'tool-end':
        return;
      case 'finish':
        this.finish = event;
        return;
      case 'error':
        this.failed = true;
        break;
      case 'text-delta':
        if (this.text === '' && event.text !== '' && this.separator !== '') {
          this.tell({ type: 'text-delta', text: this.separator });
        }
        this.text += event.text;
        break;
      case 'reasoning-delta':
        this.reasoning += event.text;
        break;
      default:
        break;
    }
    this.tell(event);
  }

  /** To be run, in the order in which they were made; none where the reply ended in another way. */
  get calls(): readonly ToolCall[] {
    return this.finish?.reason === 'tool-calls' ? this.#calls.filter(Boolean) : [];
  }

  /** Calls that did not become whole. */
  get cutCalls(): readonly ToolCall[] {
    return this.finish?.reason === 'tool-calls' ? [] : this.#calls.filter(Boolean);
  }
}
