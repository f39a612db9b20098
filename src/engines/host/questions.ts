import { AppError } from '../../core/errors.ts';
import { tickMs } from './stall.ts';

interface Question {
  readonly resolve: (value: never) => void;
  readonly reject: (error: AppError) => void;
  waitedMs: number;
}

/** To count the tokens of a book takes seconds; nothing that is asked takes minutes. */
const longestAnswerMs = 120_000;

/** What was asked of an engine and is not answered yet. Each question ends: with its answer, an error, or its time. */
export class Questions {
  readonly #open = new Map<number, Question>();

  constructor(private readonly capability: string) {}

  ask<Answer>(id: number): Promise<Answer> {
    return new Promise((resolve, reject) => this.#open.set(id, { resolve, reject, waitedMs: 0 }));
  }

  answer(id: number, value: unknown): void {
    this.#close(id)?.resolve(value as never);
  }

  refuse(id: number, error: AppError): void {
    this.#close(id)?.reject(error);
  }

  refuseAll(error: AppError): void {
    for (const id of [...this.#open.keys()]) this.refuse(id, error);
  }

  /** Half a second has passed; a step that is being done may take so long. */
  tick(patienceMs: number): void {
    for (const [id, question] of [...this.#open]) {
      question.waitedMs += tickMs;
      if (question.waitedMs <= Math.max(longestAnswerMs, patienceMs)) continue;
      this.refuse(id, new AppError('engine-silent', { capability: this.capability }));
    }
  }

  #close(id: number): Question | undefined {
    const question = this.#open.get(id);
    this.#open.delete(id);
    return question;
  }
}
