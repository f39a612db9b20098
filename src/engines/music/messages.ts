import { basename, resolve } from 'node:path';
import type { Settings } from '../../config/flags.ts';
import type { MusicEvent, MusicFacts, MusicRequest } from '../../core/music.ts';
import type { DriverProcess } from '../bare/driver-process.ts';

/** How the worker loads its model. */
export interface MusicOptions {
  readonly facts: MusicFacts;
  /** The parts of an ACE-Step model, by their names in the driver. Absolute paths. */
  readonly files: Readonly<Record<'lmModelPath' | 'textEncModelPath' | 'ditModelPath' | 'vaeModelPath', string>>;
  readonly threads: number;
  readonly gpu: boolean;
  /** Unload each part of the model after its use. */
  readonly lowMemory: boolean;
}

export function musicOptions(settings: Settings, threads: number): MusicOptions {
  const { musicllm, musicembeddings, musicdiffusion, musicvae } = settings;
  return {
    facts: { name: basename(musicdiffusion).replace(/\.gguf$/i, '') },
    files: {
      lmModelPath: resolve(musicllm),
      textEncModelPath: resolve(musicembeddings),
      ditModelPath: resolve(musicdiffusion),
      vaeModelPath: resolve(musicvae),
    },
    threads,
    gpu: !settings.usecpu,
    lowMemory: settings.musiclowvram,
  };
}

/** What the driver is loaded with. */
export interface SongLoad extends Pick<MusicOptions, 'files' | 'threads' | 'gpu'> {
  /** URL of the driver's module. */
  readonly module: string;
  /** Folder of its backends for processors and GPUs. */
  readonly backends: string;
}

/** A song as the driver takes it. */
export interface SongTask {
  /** Fixed when the engine of the driver is created. */
  readonly sampling: { readonly inferenceSteps: number; readonly shift: number };
  readonly job: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly codes: readonly number[];
}

export type SongProgress = Omit<Extract<MusicEvent, { type: 'progress' }>, 'type'>;
export type SongDriver = DriverProcess<SongLoad, SongTask, SongProgress>;

/** Samples of the result: 16 bits, left and right interleaved. */
export const songRate = 48_000;

/** Without lyrics the driver composes the whole song from the caption ("simple mode"); with lyrics it adds what is missing. */
export function songTask(request: MusicRequest): SongTask {
  const { planner, lyrics, codes } = request;
  return {
    sampling: { inferenceSteps: request.steps, shift: request.shift },
    job: {
      type: 'text',
      taskType: 'text2music',
      input: request.caption,
      lyrics: lyrics ?? '',
      // Codes are a finished plan, and then the driver refuses this mode.
      simpleMode: lyrics === undefined && codes.length === 0,
      bpm: request.bpm,
      duration: request.seconds,
      keyscale: request.keyScale,
      timesignature: request.timeSignature,
      vocalLanguage: request.language,
      seed: request.seed,
      lmTemperature: planner.temperature,
      lmTopP: planner.topP,
      lmTopK: planner.topK,
      lmCfgScale: planner.guidance,
      guidanceScale: request.guidance,
    },
    codes,
  };
}
