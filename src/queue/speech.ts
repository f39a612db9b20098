import type { SpeechEngine, SpeechService, Voice } from '../core/speech.ts';
import { type TaskParts, tasks } from './tasks.ts';

export interface SpeechParts extends Omit<TaskParts<SpeechEngine>, 'kind'> {
  /** Those of the model, without loading it. */
  readonly voices: () => Promise<readonly Voice[]>;
  readonly maxWords: number;
}

export function speechService({ voices, maxWords, ...parts }: SpeechParts): SpeechService {
  const { stream } = tasks({ ...parts, kind: 'speech' });
  return {
    name: parts.source.name,
    maxWords,
    voices,
    speak: (request, ticket) => stream(ticket, ({ engine, signal }) => engine.speak(request, signal), { paced: true }),
  };
}
