import type { SpeechRequest, Voice } from '../../core/speech.ts';
import type { TaskTools } from '../host/task-worker.ts';

export interface Sound {
  /** Mono, from -1 to 1. */
  readonly samples: Float32Array;
  /** Samples per second. */
  readonly rate: number;
}

/** What can say a sentence. Only this differs between engines of speech. */
export interface Synthesiser {
  readonly voices: readonly Voice[];
  /** The text as it can read it, and what it cannot, as sentences. Throws where it can say nothing of it. */
  readable(text: string): { readonly text: string; readonly notes: readonly string[] };
  /** What of the rest of a request it cannot do. */
  unheeded(request: SpeechRequest): readonly string[];
  say(sentence: string, manner: Manner, watch: TaskTools<never>['watch']): Promise<Sound>;
}

export type Manner = Pick<SpeechRequest, 'voice' | 'speed'>;
