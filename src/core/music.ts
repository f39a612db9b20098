import type { RequestContext } from './request-context.ts';

export const songFormats = ['wav', 'mp3'] as const;
export type SongFormat = (typeof songFormats)[number];

/** A song to generate. The language model of the engine chooses what is undefined. */
export interface MusicRequest {
  /** Style, in words. */
  readonly caption: string;
  /** Undefined: written by the language model. */
  readonly lyrics: string | undefined;
  readonly bpm: number | undefined;
  readonly seconds: number | undefined;
  readonly keyScale: string | undefined;
  /** Beats per bar. */
  readonly timeSignature: string | undefined;
  /** Language of the lyrics, a code of two letters. */
  readonly language: string;
  readonly seed: number;
  /** Sampling of the language model. */
  readonly planner: {
    readonly temperature: number;
    readonly topP: number;
    readonly topK: number;
    readonly guidance: number;
  };
  /** Audio codes of an earlier plan, 5 per second; if there are any, the language model is not used. */
  readonly codes: readonly number[];
  /** Diffusion; 0 is the default of the model. */
  readonly steps: number;
  readonly shift: number;
  readonly guidance: number;
  readonly stereo: boolean;
  readonly format: SongFormat;
}

export type MusicEvent =
  /** `stage` is the part of the model that works: `lm`, `dit` or `vae`. */
  | { readonly type: 'progress'; readonly stage: string; readonly step: number; readonly steps: number }
  /** A piece of the file. */
  | { readonly type: 'audio'; readonly bytes: Uint8Array }
  | { readonly type: 'finish'; readonly seconds: number };

export interface MusicFacts {
  readonly name: string;
}

/** Generates songs in the order of the queue. */
export interface MusicService {
  /** Name of the model. */
  readonly name: string;
  generate(request: MusicRequest, context: RequestContext): AsyncIterable<MusicEvent>;
}

export interface MusicEngine {
  /** Undefined until it is loaded. */
  facts(): MusicFacts | undefined;
  generate(request: MusicRequest, signal: AbortSignal): AsyncIterable<MusicEvent>;
}

declare module './task-services.ts' {
  interface TaskServices {
    readonly music?: MusicService;
  }
}
