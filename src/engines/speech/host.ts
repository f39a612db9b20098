import type { SpeechEngine, SpeechEvent, SpeechFacts, SpeechRequest } from '../../core/speech.ts';
import { TaskEngine, type TaskEngineParts } from '../host/task-engine.ts';
import type { VoiceModel } from './sherpa/voice-model.ts';

export type SpeechHostParts = Omit<TaskEngineParts<SpeechOptions, SpeechFacts>, 'capability'>;

/** Host of the speech worker process. */
export class SpeechHost implements SpeechEngine {
  readonly #engine: TaskEngine<SpeechOptions, SpeechFacts, SpeechRequest, SpeechTold>;

  constructor(parts: SpeechHostParts) {
    this.#engine = new TaskEngine({ ...parts, capability: 'speech' });
  }

  get pid(): number | undefined {
    return this.#engine.pid;
  }

  start(): void {
    this.#engine.start();
  }

  stop(): Promise<void> {
    return this.#engine.stop();
  }

  state(): ReturnType<TaskEngine<never, never, never, never>['state']> {
    return this.#engine.state();
  }

  settled(): Promise<void> {
    return this.#engine.settled();
  }

  facts(): SpeechFacts | undefined {
    return this.#engine.facts();
  }

  async *speak(request: SpeechRequest, signal: AbortSignal): AsyncGenerator<SpeechEvent> {
    for await (const { event, attachments } of this.#engine.run(request, signal)) {
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
