import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { attempt } from '../core/attempt.ts';
import type { EmbeddingEngine } from '../core/embedding.ts';
import type { EngineSource } from '../core/engine-source.ts';
import type { ImageFacts } from '../core/image.ts';
import type { SpeechEngine, SpeechService } from '../core/speech.ts';
import type { TranscriptionEngine } from '../core/transcription.ts';
import { spawnChild } from '../engines/host/child.ts';
import type { EngineObserver } from '../engines/host/engine-process.ts';
import type { TaskEngineDeps } from '../engines/host/task-engine.ts';
import type { ConditionedEngine } from '../engines/image/host.ts';
import type { ModelFile } from '../engines/llama/load-options.ts';
import type { Terminal } from '../observe/terminal.ts';
import type { TranscriptionSource } from '../queue/task-services.ts';
import { EngineLifecycle, engineTimer, type HostedEngine, type ModelSpec } from './lifecycle.ts';

/** A model of another kind than text: from a file, built in, or on a remote backend. */
export interface TaskModel<Engine> {
  readonly spec: ModelSpec<EngineLifecycle<Engine & HostedEngine>>;
  /** Set by a flag: it is loaded at the start, and the program ends if it cannot be. */
  readonly given: boolean;
  /** The server starts without it if it cannot be loaded; requests for it get the reason. */
  readonly optional?: boolean;
  /** False while the pack of its engine is not installed. */
  readonly available?: () => boolean;
  /** Size and date of its file. */
  readonly file?: NonNullable<EngineSource<unknown>['file']>;
  /** The part of a loaded engine that does these tasks; the engine itself without it. */
  readonly pick?: (engine: never) => Engine;
  /** How many of its tasks may run at once, if more than the default. */
  readonly concurrency?: () => number;
}

export interface ImageModel extends TaskModel<ConditionedEngine> {
  /** Known without loading the model. */
  readonly facts: ImageFacts;
  /** Encodes its prompts, if the model does not: the embedding model that it was trained with. */
  readonly encoder?: TaskModel<EmbeddingEngine>;
}

export type SpeechModel = TaskModel<SpeechEngine> & Pick<SpeechService, 'voices' | 'maxWords' | 'exactVoices'>;

export type TranscriptionModel = TaskModel<TranscriptionEngine> & Pick<TranscriptionSource, 'languages'>;

/** What the models of one configuration are made with. */
export interface ModelTools {
  readonly terminal: Terminal;
  /** The text model of the same configuration. */
  readonly text: { readonly name: string; readonly file: ModelFile | undefined };
}

/** Built-in models are small, and are unloaded ten minutes after their last use. */
export const builtIn = { auxiliary: true, keepMs: 10 * 60_000 } as const;

/** Models on remote backends use no memory here. */
export const remoteSpec = { auxiliary: true, pinned: true, need: async (): Promise<number> => 0 } as const;

/** Whether a pack is not installed; `find` throws then. */
export function isMissing(find: () => unknown): boolean {
  return attempt(find, undefined) === undefined;
}

export interface WorkerModel<Engine, Options, Facts> extends Omit<ModelSpec, 'make'> {
  readonly host: (parts: TaskEngineDeps<Options, Facts>) => Engine;
  /** The program of the process. */
  readonly worker: URL;
  /** Read at each load. */
  readonly options: () => Options;
  readonly observer: EngineObserver<Facts>;
}

/** A model in a worker process. After the first successful load, a failed load counts as temporary. */
export function workerSpec<Engine extends HostedEngine, Options, Facts>({
  host,
  worker,
  options,
  observer,
  ...spec
}: WorkerModel<Engine, Options, Facts>): ModelSpec<EngineLifecycle<Engine>> {
  let proven = false;
  const loaded = (): void => {
    proven = true;
  };
  const shared = { capability: spec.kind, spawn: spawnChild, startTimer: engineTimer, entry: fileURLToPath(worker) };
  const make = () => new EngineLifecycle(host({ ...shared, proven, options: options(), observer }), loaded);
  return { ...spec, make };
}

/** Of all these files together. */
export async function bytesOf(paths: readonly string[]): Promise<number> {
  const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
