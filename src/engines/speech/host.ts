import type { SpeechEngine, SpeechEvent, SpeechFacts, SpeechRequest, Voice } from '../../core/speech.ts';
import { TaskEngine } from '../host/task-engine.ts';
import type { VoiceModel } from './sherpa/voice-model.ts';

/** Host of the speech worker process. */
export class SpeechHost
  extends TaskEngine<SpeechOptions, SpeechFacts, SpeechRequest, SpeechEvent>
  implements SpeechEngine
{
  async *speak(request: SpeechRequest, signal: AbortSignal): AsyncGenerator<SpeechEvent> {
    yield* this.run(request, signal);
  }
}

export interface SpeechOptions {
  readonly name: string;
  readonly engine: FliteOptions | SherpaOptions | KokoroOptions;
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

export interface KokoroOptions {
  readonly type: 'kokoro';
  /** Folders with the parts of the model, with the voices, and with eSpeak. */
  readonly model: string;
  readonly voices: string;
  readonly espeak: string;
  readonly threads: number;
}

/** Voices of Flite, the best first. A sixth one, `awb_time`, can only say the time of day. */
export const fliteVoices: readonly Voice[] = [
  { name: 'slt', language: 'en', sound: 'female', description: 'American woman' },
  { name: 'rms', language: 'en', sound: 'male', description: 'American man' },
  { name: 'awb', language: 'en', sound: 'male', description: 'Scottish man' },
  { name: 'kal16', language: 'en', sound: 'male', description: 'American man, older technique' },
  { name: 'kal', language: 'en', sound: 'male', description: 'American man, older technique, like a telephone' },
];
