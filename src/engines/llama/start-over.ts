import type { ChildExit } from '../host/child.ts';
import { nextGpuBuild, withLowerCpuBuild } from './gpu-builds.ts';
import {
  cardMemoryFailure,
  type FailedBuild,
  fallBackNote,
  fewerLayers,
  fewerLayersNote,
  gpuFailure,
  type Known,
} from './gpu-failure.ts';
import type { GpuBuild, LoadOptions } from './load-options.ts';

/** The options that a worker is started again with. */
type Restartable = Pick<LoadOptions, 'backend' | 'gpuLayers' | 'layersBefore' | 'failedGpuBuilds' | 'skipCpuVariants'>;

/** Facts about the worker that has ended. */
interface WorkerFacts extends Known {
  /** Layers that it put on GPUs; undefined if it did not get that far. */
  readonly gpuLayers: number | undefined;
  /** Whether a model was loaded before with this build. */
  readonly hasWorked: boolean;
}

export interface StartOver<Options> {
  readonly options: Options;
  readonly note?: string;
  readonly failed?: FailedBuild;
}

/**
 * How to restart a worker after this exit: with the next lower CPU build after an illegal instruction, with fewer layers after the
 * memory of a GPU was full, or with the next GPU build. Undefined for any other exit.
 */
export function startOver<Options extends Restartable>(
  exit: ChildExit,
  options: Options,
  facts: WorkerFacts,
): StartOver<Options> | undefined {
  const lower = withLowerCpuBuild(exit, options);
  if (lower) return { options: lower };
  return withFewerLayers(exit, options, facts) ?? withOtherBuild(exit, options, facts);
}

function withFewerLayers<Options extends Restartable>(
  { lastLines }: ChildExit,
  options: Options,
  { gpuLayers = 0 }: WorkerFacts,
): StartOver<Options> | undefined {
  const failure = cardMemoryFailure(lastLines);
  if (failure === undefined || gpuLayers === 0) return undefined;
  const layersBefore = options.layersBefore ?? gpuLayers;
  const next = fewerLayers(gpuLayers, layersBefore);
  if (next === undefined) return undefined;
  return {
    options: { ...options, gpuLayers: next, layersBefore },
    note: fewerLayersNote(failure, gpuLayers, next),
  };
}

/** Undefined if the GPU has worked before: it is tried again. */
function withOtherBuild<Options extends Restartable>(
  exit: ChildExit,
  options: Options,
  facts: WorkerFacts,
): StartOver<Options> | undefined {
  const failed = failedBuild(exit, options, facts);
  if (!failed || facts.hasWorked) return undefined;
  const others = { ...options, failedGpuBuilds: [...options.failedGpuBuilds, failed.build] };
  const next = currentBuild(others, facts);
  if (next === undefined) return undefined;
  return { options: others, note: fallBackNote(failed.build, failed.reason, next, facts), failed };
}

/** The GPU build that crashed the worker; undefined if its exit has another cause. */
export function failedBuild(
  { lastLines }: ChildExit,
  options: Restartable,
  { installed }: Pick<Known, 'installed'>,
): FailedBuild | undefined {
  const build = currentBuild(options, { installed });
  const reason = gpuFailure(lastLines);
  return reason === undefined || build === undefined || build === 'none' ? undefined : { build, reason };
}

function currentBuild(
  { backend, failedGpuBuilds }: Restartable,
  { installed }: Pick<Known, 'installed'>,
): GpuBuild | undefined {
  return nextGpuBuild(backend, installed, failedGpuBuilds);
}
