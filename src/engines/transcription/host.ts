import type {
  TranscriptionEngine,
  TranscriptionEvent,
  TranscriptionFacts,
  TranscriptionRequest,
} from '../../core/transcription.ts';
import { TaskEngine, type TaskEngineParts } from '../host/task-engine.ts';
import type { TranscriptionOptions, TranscriptionTask } from './messages.ts';

type Parts = Omit<TaskEngineParts<TranscriptionOptions, TranscriptionFacts>, 'capability'>;

/** Speech to text in a process of its own. */
export class TranscriptionHost
  extends TaskEngine<TranscriptionOptions, TranscriptionFacts, TranscriptionTask, TranscriptionEvent>
  implements TranscriptionEngine
{
  constructor(parts: Parts) {
    super({ ...parts, capability: 'transcription' });
  }

  async *transcribe(
    { recording, ...task }: TranscriptionRequest,
    signal: AbortSignal,
  ): AsyncGenerator<TranscriptionEvent> {
    for await (const { event } of this.run(task, signal, [recording])) yield event;
  }
}
