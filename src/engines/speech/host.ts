import type { SpeechEngine, SpeechEvent, SpeechFacts, SpeechRequest } from '../../core/speech.ts';
import { TaskEngine, type TaskEngineParts } from '../host/task-engine.ts';
import type { VoiceModel } from './sherpa/voice-model.ts';

/** Host of the speech worker process. */
export class SpeechHost
  extends TaskEngine<SpeechOptions, SpeechFacts, SpeechRequest, SpeechTold>
  implements SpeechEngine
{
  constructor(parts: Omit<TaskEngineParts<SpeechOptions, SpeechFacts>, 'capability'>) {
    super({ ...parts, capability: 'speech' });
  }

  async *speak(request: SpeechRequest, signal: AbortSignal): AsyncGenerator<SpeechEvent> {
    for await (const { event, attachments } of this.run(request, signal)) {
      if (event.type !== 'audio') yield event;
      else for (const bytes of attachments) yield { type: 'audio', bytes };
    }
  }
}

export interface SpeechOptions {
  /** Display name. */
  readonly name: string;
  readonly engine: FliteOptions | SherpaOptions;
}

export interface FliteOptions {
  readonly type: 'flite';
  /** The WebAssembly program, which contains its voices. */
  readonly path: string;
}

export interface SherpaOptions {
  readonly type: 'sherpa';
  readonly model: VoiceModel;
  readonly threads: number;
}

/** Events of a task; the bytes of an audio event are its attachment. */
export type SpeechTold = Exclude<SpeechEvent, { type: 'audio' }> | { readonly type: 'audio' };
