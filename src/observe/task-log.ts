import type { AppError } from '../core/errors.ts';
import { printable } from './printable.ts';
import type { Terminal } from './terminal.ts';

interface Task {
  readonly number: number;
  readonly kind: string;
}

const nouns: Readonly<Record<string, string>> = {
  embedding: 'Embedding',
  speech: 'Speech',
  transcription: 'Transcription',
  image: 'Image',
};

/** One line for each piece of work beside text: what it was, and how long it took or why it came to nothing. */
export class TaskLog {
  constructor(private readonly terminal: Terminal) {}

  ended({ number, kind }: Task, milliseconds: number, error: AppError | undefined): void {
    const what = `${nouns[kind] ?? kind} #${number}`;
    const seconds = `${(milliseconds / 1000).toFixed(2)} s`;
    if (!error) this.terminal.line(`${what} took ${seconds}`);
    else if (error.code === 'stopped') this.terminal.line(`${what} was stopped after ${seconds}`);
    else this.terminal.line(`${what} failed after ${seconds}: ${printable(error.message, 1000)}`);
  }
}
