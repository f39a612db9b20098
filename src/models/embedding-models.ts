import { statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Settings } from '../config/flags.ts';
import type { EmbeddingFacts } from '../core/embedding.ts';
import { sameName } from '../core/model-names.ts';
import { EmbeddingHost } from '../engines/embedding/host.ts';
import type { EmbeddingOptions } from '../engines/embedding/messages.ts';
import { spawnChild } from '../engines/host/child.ts';
import { lossLine } from '../engines/host/engine-state.ts';
import type { TaskObserver } from '../engines/host/task-engine.ts';
import {
  loadOptions,
  type ModelFile,
  type ModelShape,
  memoryNeed,
  readModelFile,
} from '../engines/llama/load-options.ts';
import { embeddingModel } from '../engines/weights.ts';
import { LoadLog } from '../observe/load-log.ts';
import type { Terminal } from '../observe/terminal.ts';
import { EngineLifecycle } from './engine-lifecycle.ts';
import type { TaskModel } from './kinds.ts';
import { remoteEmbedding } from './remote-others.ts';
import { displayName, engineThreads, engineTimer } from './text-engine.ts';

/** The text model that embeddings may be asked of. */
export interface TextModelFile {
  readonly name: string;
  readonly file: ModelFile | undefined;
}

type EmbeddingModel = TaskModel<'embedding'>;

/** What is not used for so long gives its memory back. */
const keepMs = 600_000;

const noShape: ModelShape = { architecture: '', layers: 0, trainedContext: 0, sizeBytes: 0, cacheBytesPerToken: 0 };

/** The model of `--embeddingsmodel` or else the built-in one, and beside it the text model's own file. */
export function embeddingModels(
  settings: Settings,
  text: TextModelFile,
  terminal: Terminal,
): { readonly embedding: EmbeddingModel; readonly textEmbedding?: EmbeddingModel } {
  const { file } = text;
  // A config that names a model for embeddings is asked for that one by its own name.
  const isFile = file !== undefined && sameName(displayName(file.path), basename(text.name));
  const own =
    file && (isFile || settings.embeddingsmodel === '')
      ? { textEmbedding: { spec: fileSpec(text.name, file, settings, terminal), given: false } }
      : {};
  return { embedding: chosenModel(settings, terminal), ...own };
}

function chosenModel(settings: Settings, terminal: Terminal): EmbeddingModel {
  const elsewhere = remoteEmbedding(settings, terminal);
  if (elsewhere) return elsewhere;
  const { embeddingsmodel } = settings;
  if (embeddingsmodel === '') return { spec: builtInSpec(settings, terminal), given: false, file: builtInFileFacts };
  const path = resolve(embeddingsmodel);
  const options = () => embeddingOptions(settings, { path }, noShape);
  const need = async (): Promise<number> => needOf(await readModelFile(path), settings);
  const name = displayName(path);
  return {
    spec: { name, kind: 'embedding', need, make: maker(name, options, terminal) },
    given: true,
    file: () => fileFacts(path),
  };
}

function fileFacts(path: string): ReturnType<NonNullable<EmbeddingModel['file']>> {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat && { sizeBytes: stat.size, modifiedAt: stat.mtimeMs };
}

/** The program that serves it. */
const entry = fileURLToPath(new URL('../engines/embedding/worker/main.js', import.meta.url));

/** It came with this program, and is as old as its installation: packages have no times of their own for their files. */
function builtInFileFacts(): ReturnType<NonNullable<EmbeddingModel['file']>> {
  const stat = statSync(entry, { throwIfNoEntry: false });
  return { sizeBytes: embeddingModel.bytes, modifiedAt: stat?.ctimeMs ?? 0 };
}

/** What comes along, whatever else is named. */
export function builtInSpec(settings: Settings, terminal: Terminal): EmbeddingModel['spec'] {
  const { name, bytes } = embeddingModel;
  const options = () => embeddingOptions(settings, { builtIn: true }, noShape);
  const need = async (): Promise<number> => memoryNeed({ sizeBytes: bytes, cacheBytesPerToken: 0 }, 0, 1);
  return { name, kind: 'embedding', besides: true, keepMs, need, make: maker(name, options, terminal) };
}

function fileSpec(name: string, file: ModelFile, settings: Settings, terminal: Terminal): EmbeddingModel['spec'] {
  const options = () => embeddingOptions(settings, { path: file.path }, file.shape);
  return {
    name,
    kind: 'embedding',
    keepMs,
    need: async () => needOf(file, settings),
    make: maker(name, options, terminal),
  };
}

function needOf({ shape }: ModelFile, { embeddingsmaxctx }: Settings): number {
  const trained = shape.trainedContext || embeddingsmaxctx;
  return memoryNeed(shape, embeddingsmaxctx > 0 ? Math.min(embeddingsmaxctx, trained) : trained, 1);
}

/** The flags about embeddings, and those about computing as far as they are not about the text model alone. */
export function embeddingOptions(
  settings: Settings,
  model: EmbeddingOptions['model'],
  shape: ModelShape,
): EmbeddingOptions {
  const isText = shape !== noShape;
  const facts = { model: '', name: '', shape, threads: engineThreads(0, settings), contextSizeGiven: false };
  const said = loadOptions(settings, facts);
  return {
    model,
    maxTokens: settings.embeddingsmaxctx,
    backend: settings.embeddingsgpu ? said.backend : 'cpu',
    gpuLayers: settings.embeddingsgpu ? 'auto' : 0,
    devices: said.devices,
    mainGpu: said.mainGpu,
    tensorSplit: isText ? said.tensorSplit : [],
    splitMode: said.splitMode,
    loadMode: 'auto',
    metadataOverrides: isText ? said.metadataOverrides : [],
    tensorOverrides: isText ? said.tensorOverrides : [],
    threads: said.threads,
    flashAttention: said.flashAttention,
    cpuLevel: said.cpuLevel,
    cpuBuild: said.cpuBuild,
    skipCpuVariants: 0,
    failedGpuBuilds: [],
  };
}

/** What the flags ask for is made of them when somebody needs it: a server without embeddings has nothing to say to it. */
function maker(name: string, options: () => EmbeddingOptions, terminal: Terminal): EmbeddingModel['spec']['make'] {
  let proven = false;
  return () => {
    const said = options();
    const observer = consoleObserver(name, said, terminal);
    const parts = { entry, options: said, spawn: spawnChild, startTimer: engineTimer, proven, observer };
    return new EngineLifecycle(new EmbeddingHost(parts), () => {
      proven = true;
    });
  };
}

function consoleObserver(name: string, { model }: EmbeddingOptions, terminal: Terminal): TaskObserver<EmbeddingFacts> {
  const log = new LoadLog(terminal, name, () => performance.now(), 'Embeddings');
  return {
    starting: () => {
      log.begin('path' in model ? model.path : `${name} (built in)`);
      log.started();
    },
    progress: (fraction) => log.progress(fraction),
    loaded: ({ dimensions, maxTokens, pooling }) =>
      log.done([`${dimensions} dimensions`, `texts of up to ${maxTokens} tokens`, `pooling ${pooling}`]),
    failed: (reason) => log.failed(reason),
    lost: (loss) => terminal.line(lossLine('embedding', loss, '--embeddingsmodel names another model.')),
    note: (text) => terminal.line(text),
  };
}
