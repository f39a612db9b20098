import type { EngineSource } from '../core/engine-source.ts';
import type { SpeechEngine, SpeechService } from '../core/speech.ts';
import { type TaskParts, tasks } from './tasks.ts';

/** The voices are known without loading the model. */
export type SpeechSource = EngineSource<SpeechEngine> & Pick<SpeechService, 'voices' | 'maxWords'>;

export function speechService(parts: TaskParts<SpeechEngine, SpeechSource>): SpeechService {
  const { stream } = tasks(parts);
  const { name, voices, maxWords } = parts.source;
  return {
    name,
    maxWords,
    voices,
    speak: (request, ticket) => stream(ticket, ({ engine, signal }) => engine.speak(request, signal), { paced: true }),
  };
}
