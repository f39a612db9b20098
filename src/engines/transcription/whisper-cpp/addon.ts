import { unlessAborted } from '../../../core/abort.ts';
import type { WhisperDriver, WhisperResult } from './driver.ts';

/** whisper.cpp as an addon of Node. */
export function openAddon({ WhisperContext }: WhisperAddon, model: string, gpu: boolean): WhisperDriver {
  const context = new WhisperContext({ filePath: model, useGpu: gpu, useFlashAttn: true });
  return {
    suppressesNonSpeech: false,
    transcribe: (samples, { words, threads, prompt, ...task }, signal) => {
      const running = context.transcribeData(sixteenBits(samples), {
        ...task,
        maxThreads: threads,
        ...(prompt ? { prompt } : {}),
        // A segment per token.
        ...(words ? { tokenTimestamps: true, maxLen: 1 } : {}),
      });
      return unlessStopped(running, signal);
    },
    close: () => context.release(),
  };
}

/** The addon never settles the promise of a stopped run. */
export async function unlessStopped<Result>(
  { promise, stop }: { readonly promise: Promise<Result>; stop(): Promise<void> },
  signal: AbortSignal,
): Promise<Result> {
  try {
    return await unlessAborted(promise, signal);
  } catch (error) {
    if (signal.aborted) await stop();
    throw error;
  }
}

function sixteenBits(samples: Float32Array): ArrayBuffer {
  const whole = new Int16Array(samples.length);
  for (const [index, sample] of samples.entries()) whole[index] = Math.max(-1, Math.min(1, sample)) * 32_767;
  return whole.buffer;
}

/** The used part of the addon, which has no types. */
export interface WhisperAddon {
  readonly WhisperContext: new (options: object) => WhisperContext;
}

interface WhisperContext {
  /** 16-bit samples, 16 kHz, mono. */
  transcribeData(samples: ArrayBuffer, options: object): { promise: Promise<WhisperResult>; stop(): Promise<void> };
  release(): Promise<void>;
}
