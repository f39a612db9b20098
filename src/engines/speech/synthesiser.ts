import type { SpeechRequest, Voice } from '../../core/speech.ts';
import type { TaskTools } from '../host/task-worker.ts';

export interface Sound {
  /** Mono, from -1 to 1. */
  readonly samples: Float32Array;
  /** Samples per second. */
  readonly rate: number;
}

/** Synthesises sentences; implemented by each speech engine. */
export interface Synthesiser {
  readonly voices: readonly Voice[];
  /** The text in readable form, and notes about what is dropped. Throws if nothing is left. */
  readable(text: string): { readonly text: string; readonly notes: readonly string[] };
  /** Notes about ignored fields of the request. */
  unheeded(request: SpeechRequest): readonly string[];
  say(sentence: string, manner: Manner, watch: TaskTools<never>['watch']): Promise<Sound>;
}

export type Manner = Pick<SpeechRequest, 'voice' | 'speed'>;
