import type { SpeechEvent } from '../../core/speech.ts';
import type { VoiceModel } from './sherpa/voice-model.ts';

export interface SpeechOptions {
  /** As people call it. */
  readonly name: string;
  readonly engine: FliteOptions | SherpaOptions;
}

export interface FliteOptions {
  readonly type: 'flite';
  /** The compiled program, which holds its voices. */
  readonly path: string;
}

export interface SherpaOptions {
  readonly type: 'sherpa';
  readonly model: VoiceModel;
  readonly threads: number;
}

/** What a task tells; the bytes of a piece of sound are attached. */
export type SpeechTold = Exclude<SpeechEvent, { type: 'audio' }> | { readonly type: 'audio' };
