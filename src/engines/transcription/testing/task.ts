import type { TranscriptionTask } from '../host.ts';

/** A task without any wishes. */
export const plainTask = {
  language: undefined,
  translate: false,
  prompt: '',
  temperature: 0,
  words: false,
  suppressNonSpeech: false,
} as const satisfies TranscriptionTask;
