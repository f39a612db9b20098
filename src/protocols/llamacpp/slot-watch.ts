import type { GenerationEvent } from '../../core/events.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { PromptProgress } from '../../core/text-service.ts';
import { settingsBody } from './samplers.ts';

interface Task {
  readonly id: number;
  readonly job: object;
  readonly settings: object;
  promptTokens: number;
  cachedTokens: number;
  processedTokens: number;
  maxTokens: number;
  decoded: number;
  newLine: boolean;
  running: boolean;
}

/** The running generation of each slot, or the last one: figures, no texts. */
export class SlotWatch {
  readonly #slots: (Task | undefined)[];
  #nextId = 0;

  constructor(readonly count = 1) {
    this.#slots = Array.from({ length: count });
  }

  begun(request: GenerationRequest, job: object): void {
    const free = this.#slots.findIndex((task) => !task?.running);
    this.#slots[Math.max(0, free)] = {
      id: this.#nextId++,
      job,
      settings: settingsBody(request),
      promptTokens: 0,
      cachedTokens: 0,
      processedTokens: 0,
      maxTokens: request.maxTokens,
      decoded: 0,
      newLine: false,
      running: true,
    };
  }

  /** It does not name its generation, so it counts only while one is running. */
  promptProgress({ done }: PromptProgress): void {
    const [task, ...others] = this.#slots.filter((each) => each?.running);
    if (task && others.length === 0) task.processedTokens = done;
  }

  /** Requests that are aborted in the queue end without a start. */
  event(event: GenerationEvent, job: object): void {
    const task = this.#slots.find((each) => each?.job === job && each.running);
    if (!task) return;
    if (event.type === 'start') {
      task.promptTokens = event.promptTokens;
      task.cachedTokens = event.cachedTokens;
      task.maxTokens = event.maxTokens;
    } else if (event.type === 'text-delta') {
      task.processedTokens = task.promptTokens - task.cachedTokens;
      task.decoded += event.logprobs?.length ?? 1;
      task.newLine ||= event.text.includes('\n');
    } else if (event.type === 'finish' || event.type === 'error') {
      task.running = false;
      if (event.type === 'finish') task.decoded = event.usage.completionTokens;
    }
  }

  get allBusy(): boolean {
    return this.#slots.every((task) => task?.running);
  }

  report(contextSize: number): readonly object[] {
    return this.#slots.map((task, id) => ({
      id,
      n_ctx: contextSize,
      speculative: false,
      is_processing: task?.running ?? false,
      ...(task && {
        id_task: task.id,
        n_prompt_tokens: task.promptTokens,
        n_prompt_tokens_processed: task.processedTokens,
        n_prompt_tokens_cache: task.cachedTokens,
        params: task.settings,
        next_token: [
          {
            has_next_token: task.running,
            has_new_line: task.newLine,
            n_remain: task.running ? Math.max(0, task.maxTokens - task.decoded) : 0,
            n_decoded: task.decoded,
          },
        ],
      }),
    }));
  }
}
