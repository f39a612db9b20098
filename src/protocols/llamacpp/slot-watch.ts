import type { GenerationEvent } from '../../core/events.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { PromptProgress } from '../../core/text-engine.ts';
import { settingsBody } from './settings.ts';

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

/** Follows the generation that runs, or the last one that did: figures only, never a word of its texts. */
export class SlotWatch {
  #task: Task | undefined;
  #nextId = 0;

  begun(request: GenerationRequest, job: object): void {
    this.#task = {
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

  promptProgress({ done }: PromptProgress): void {
    if (this.#task) this.#task.processedTokens = done;
  }

  /** Others may end without ever having begun: they gave up while they waited. */
  event(event: GenerationEvent, job: object): void {
    const task = this.#task;
    if (!task || task.job !== job) return;
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

  get busy(): boolean {
    return this.#task?.running ?? false;
  }

  /** As the dialect tells it; before the first task it has nothing to tell. */
  report(contextSize: number): object {
    const task = this.#task;
    const slot = { id: 0, n_ctx: contextSize, speculative: false, is_processing: this.busy };
    if (!task) return slot;
    return {
      ...slot,
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
    };
  }
}
