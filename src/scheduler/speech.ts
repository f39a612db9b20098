import type { SpeechEngine, SpeechService, Voice } from '../core/speech.ts';
import { type TaskParts, tasks } from './tasks.ts';

export interface SpeechParts extends Omit<TaskParts<SpeechEngine>, 'kind'> {
  /** Those of the model, without loading it. */
  readonly voices: () => Promise<readonly Voice[]>;
}

export function speechService({ voices, ...parts }: SpeechParts): SpeechService {
  const { stream } = tasks({ ...parts, kind: 'speech' });
  return {
    name: parts.source.name,
    voices,
    speak: (request, ticket) => stream(ticket, ({ engine, signal }) => engine.speak(request, signal)),
  };
}
