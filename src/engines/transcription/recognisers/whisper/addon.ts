import { createRequire } from 'node:module';
import { packageFolder } from '../../../package-folder.ts';

/** What we use of the addon, which is whisper.cpp for one system in one file. */
export interface WhisperAddon {
  readonly WhisperContext: new (options: {
    readonly filePath: string;
    readonly useGpu: boolean;
    readonly useFlashAttn: boolean;
  }) => WhisperContext;
}

export interface WhisperContext {
  /** 16 bits a sample, 16 kHz, one channel. */
  transcribeData(
    samples: ArrayBuffer,
    options: WhisperOptions,
  ): { readonly promise: Promise<WhisperResult>; stop(): Promise<void> };
  release(): Promise<void>;
}

interface WhisperOptions {
  readonly language: string;
  readonly translate: boolean;
  readonly maxThreads: number;
  readonly temperature: number;
  readonly prompt?: string;
  /** The longest segment, in letters; 1 for a segment for each token. */
  readonly maxLen?: number;
  readonly tokenTimestamps?: boolean;
}

export interface WhisperResult {
  readonly language?: string;
  /** Times in milliseconds. */
  readonly segments: readonly { readonly text: string; readonly t0: number; readonly t1: number }[];
}

export interface LoadedAddon {
  readonly addon: WhisperAddon;
  readonly gpu: boolean;
}

/** Builds for graphics cards are packs; where one is installed but does not start, the next is tried. */
const variants = ['-cuda', '-vulkan', ''] as const;

export interface AddonParts {
  /** Whether GPU builds are disabled. */
  readonly cpuOnly: boolean;
  readonly note: (text: string) => void;
  readonly find?: (name: string) => string | undefined;
  readonly load?: (folder: string) => unknown;
  readonly system?: Pick<NodeJS.Process, 'platform' | 'arch'>;
}

export function loadWhisperAddon({
  cpuOnly,
  note,
  find = packageFolder,
  load = createRequire(import.meta.url),
  system = process,
}: AddonParts): LoadedAddon {
  const base = `@fugood/node-whisper-${system.platform}-${system.arch}`;
  for (const variant of cpuOnly ? ([''] as const) : variants) {
    const folder = find(`${base}${variant}`);
    if (folder === undefined) continue;
    try {
      return { addon: load(folder) as WhisperAddon, gpu: variant !== '' };
    } catch (error) {
      const [reason] = (error as Error).message.split('\n');
      if (variant === '') throw new Error(`${base} could not be loaded: ${reason}`, { cause: error });
      note(`whisper${variant} could not be used: ${reason}`);
    }
  }
  throw new Error(
    `${base} is not installed, or there is none for this system; without the flag a small model hears English`,
  );
}
