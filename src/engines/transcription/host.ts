import type {
  TranscriptionEngine,
  TranscriptionEvent,
  TranscriptionFacts,
  TranscriptionRequest,
} from '../../core/transcription.ts';
import { TaskEngine } from '../host/task-engine.ts';

/** Host of the transcription worker process. */
export class TranscriptionHost
  extends TaskEngine<RecogniserOptions, TranscriptionFacts, TranscriptionRequest, TranscriptionEvent>
  implements TranscriptionEngine
{
  async *transcribe(request: TranscriptionRequest, signal: AbortSignal): AsyncGenerator<TranscriptionEvent> {
    yield* this.run(request, signal);
  }
}

/** Load options of a recogniser. */
export type RecogniserOptions =
  | { readonly type: 'moonshine'; readonly threads: number }
  | {
      readonly type: 'whisper-onnx';
      /** Of a model of a pack. */
      readonly folder: string;
      readonly name: string;
      readonly threads: number;
    }
  | {
      readonly type: 'whisper';
      readonly model: string;
      readonly name: string;
      readonly threads: number;
      /** Ignores installed GPU builds. */
      readonly cpuOnly: boolean;
    };

export type TranscriptionTask = Omit<TranscriptionRequest, 'recording'>;
