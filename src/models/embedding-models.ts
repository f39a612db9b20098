import { statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { Settings } from '../config/flags.ts';
import type { EmbeddingEngine, EmbeddingFacts } from '../core/embedding.ts';
import type { GpuNeed } from '../core/gpu-memory.ts';
import { sameName } from '../core/model-names.ts';
import { EmbeddingHost, type EmbeddingOptions } from '../engines/embedding/host.ts';
import type { EngineObserver } from '../engines/host/engine-process.ts';
import { loadOptions, type ModelFile, readModelFile } from '../engines/llama/load-options.ts';
import { memoryNeed } from '../engines/llama/memory-fit.ts';
import type { ModelShape } from '../engines/llama/model-shape.ts';
import { embeddingModel as builtInWeights } from '../engines/weights.ts';
import { LoadLog } from '../observe/load-log.ts';
import type { Terminal } from '../observe/terminal.ts';
import { engineConsole } from './engine-console.ts';
import { llamaPackages } from './engine-packages.ts';
import { builtIn, type ModelTools, type TaskModel, workerSpec } from './task-model.ts';
import { displayName, engineThreads, knownBuilds } from './text-engine.ts';

type EmbeddingModel = TaskModel<EmbeddingEngine>;

const noShape: ModelShape = { architecture: '', layers: 0, trainedContext: 0, sizeBytes: 0, cacheBytesPerToken: 0 };

/** The model of `--embeddingsmodel`, or the built-in one. */
export function embeddingModel(settings: Settings, { terminal }: ModelTools): EmbeddingModel {
  const { embeddingsmodel } = settings;
  if (embeddingsmodel === '') {
    // Dated by the installation, because files of packages have no dates.
    const modifiedAt = statSync(worker, { throwIfNoEntry: false })?.ctimeMs ?? 0;
    const { bytes: sizeBytes, architecture } = builtInWeights;
    return { ...builtInEmbedding(settings, terminal), file: () => ({ sizeBytes, modifiedAt, architecture }) };
  }
  const path = resolve(embeddingsmodel);
  const spec = specOf(displayName(path), settings, terminal, { path }, noShape, () => readModelFile(path));
  return {
    spec,
    given: true,
    file: () => {
      const stat = statSync(path, { throwIfNoEntry: false });
      return stat && { sizeBytes: stat.size, modifiedAt: stat.mtimeMs };
    },
  };
}

/** The text model's own file, for embedding requests that name it. */
export function textEmbeddingModel(settings: Settings, { text, terminal }: ModelTools): EmbeddingModel | undefined {
  const { name, file } = text;
  // The name of a config file that sets --embeddingsmodel means that model.
  const isFile = file !== undefined && sameName(displayName(file.path), basename(name));
  if (!file || !(isFile || settings.embeddingsmodel === '')) return undefined;
  const spec = specOf(name, settings, terminal, { path: file.path }, file.shape, async () => file);
  return { given: false, spec: { ...spec, keepMs: builtIn.keepMs } };
}

/** The embedding model that is part of the package. */
export function builtInEmbedding(settings: Settings, terminal: Terminal): EmbeddingModel {
  const spec = specOf(builtInWeights.name, settings, terminal, { builtIn: true }, noShape);
  return { given: false, spec: { ...spec, ...builtIn } };
}

const builtInShape = { sizeBytes: builtInWeights.bytes, cacheBytesPerToken: 0 };

const worker = new URL('../engines/embedding/worker/main.js', import.meta.url);

function needOf({ shape }: ModelFile, { embeddingsmaxctx }: Settings): number {
  const trained = shape.trainedContext || embeddingsmaxctx;
  return memoryNeed(shape, embeddingsmaxctx > 0 ? Math.min(embeddingsmaxctx, trained) : trained, 1);
}

/** Weights, and some for computing. The built-in model is too small to count. */
function embeddingGpuNeed({ shape }: ModelFile, { backend, devices }: EmbeddingOptions): GpuNeed | undefined {
  return backend === 'cpu' ? undefined : { bytes: memoryNeed(shape, 0, 1), devices };
}

/** The flags of embeddings, and those of computation that do not concern the text model alone. */
export function embeddingOptions(
  settings: Settings,
  model: EmbeddingOptions['model'],
  shape: ModelShape,
): EmbeddingOptions {
  const isText = shape !== noShape;
  const facts = { model: '', name: '', shape, threads: engineThreads(0, settings), contextSizeGiven: false };
  const options = loadOptions(settings, facts);
  return {
    ...options,
    ...(isText ? {} : { tensorSplit: [], metadataOverrides: [], tensorOverrides: [] }),
    model,
    maxTokens: settings.embeddingsmaxctx,
    backend: settings.embeddingsgpu ? options.backend : 'cpu',
    gpuLayers: settings.embeddingsgpu ? 'auto' : 0,
    loadMode: 'auto',
  };
}

/** Options are read from the flags when the model is loaded, so that wrong ones do not stop a server that needs no embeddings. */
function specOf(
  name: string,
  settings: Settings,
  terminal: Terminal,
  model: EmbeddingOptions['model'],
  /** The text model's own file has a shape already. */
  shape: ModelShape,
  /** Not of the built-in model. */
  read?: () => Promise<ModelFile>,
): EmbeddingModel['spec'] {
  const options = () => embeddingOptions(settings, model, shape);
  const observer = consoleObserver(name, model, terminal);
  return workerSpec({
    name,
    kind: 'embedding',
    worker,
    options,
    observer,
    host: (parts) => {
      if (parts.options.backend === 'cpu') return new EmbeddingHost(parts);
      const { gpuBuilds: installed, canBuild } = knownBuilds(observer);
      return new EmbeddingHost(parts, { installed, canBuild });
    },
    need: async () => (read ? needOf(await read(), settings) : memoryNeed(builtInShape, 0, 1)),
    ...(read && { gpuNeed: async () => embeddingGpuNeed(await read(), options()) }),
  });
}

function consoleObserver(
  name: string,
  model: EmbeddingOptions['model'],
  terminal: Terminal,
): EngineObserver<EmbeddingFacts> {
  const log = new LoadLog(terminal, name, () => performance.now(), 'Embeddings');
  return {
    ...engineConsole('embedding', name, terminal, {
      advice: '--embeddingsmodel names another model.',
      packages: llamaPackages,
    }),
    starting: () => {
      log.begin('path' in model ? model.path : `${name} (built in)`);
      log.started();
    },
    progress: (fraction) => log.progress(fraction),
    loaded: ({ dimensions, maxTokens, pooling }) =>
      log.done([`${dimensions} dimensions`, `texts of up to ${maxTokens} tokens`, `pooling ${pooling}`]),
    failed: (reason) => log.failed(reason),
  };
}
