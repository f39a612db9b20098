import type { Settings } from '../config/flags.ts';
import type { EngineSource } from '../core/engine-source.ts';
import { type ImageSource, imageService, type RunningDrawings } from '../queue/image.ts';
import { textWork, type WorkKind } from '../queue/queue.ts';
import type { RequestQueue } from '../queue/request-queue.ts';
import {
  embeddingService,
  musicService,
  type SpeechSource,
  speechService,
  type TranscriptionSource,
  transcriptionService,
} from '../queue/task-services.ts';
import { laneOf, type TaskObserver } from '../queue/tasks.ts';
import { embeddingModel, textEmbeddingModel } from './embedding-models.ts';
import { imageModel } from './image-model.ts';
import { encodedImageSource } from './image-source.ts';
import { musicModel } from './music-model.ts';
import type { Registry } from './registry.ts';
import { engineSourceOf, type LoadTimeout } from './registry-source.ts';
import { type SpeechModel, speechModel } from './speech-model.ts';
import type { ImageModel, ModelTools, TaskModel } from './task-model.ts';
import { type TranscriptionModel, transcriptionModel } from './transcription-model.ts';

/** How the server refers to a kind of engine. */
interface KindNames {
  /** In the console line of a finished task. */
  readonly noun: string;
  /** In the list of modules at the start. */
  readonly module?: string;
  /** In `/api/extra/version`. */
  readonly feature?: string;
  /** In `/api/extra/perf`: how many tasks were done. */
  readonly counter?: string;
}

/** A kind of engine that does tasks. */
interface TaskKind<Model extends AnyTaskModel, Source, Service> extends KindNames {
  /** Cost and concurrency in the queue. */
  readonly work: WorkKind;
  /** The model that the settings name, or the built-in one; undefined if there is none. Loads nothing. */
  readonly model: (settings: Settings, tools: ModelTools) => Model | undefined;
  /** Other models that its engine uses. */
  readonly uses?: (model: Model) => readonly AnyTaskModel[];
  /** Provides its engine; `sourceOf` adds a model to the registry. */
  readonly source: (model: Model, sourceOf: SourceOf) => Source;
  /** What endpoints use. Tasks run in the order of the queue. */
  readonly service: (parts: ServiceParts & { readonly work: WorkKind; readonly source: Source }) => Service;
}

// biome-ignore lint/suspicious/noExplicitAny: the engine's type differs from row to row.
type AnyTaskModel = TaskModel<any>;

type SourceOf = <Engine>(model: TaskModel<Engine>) => EngineSource<Engine>;

/** Shared by the services of all models. */
export interface ServiceParts {
  readonly requestQueue: RequestQueue;
  readonly observer?: TaskObserver;
  readonly drawings: RunningDrawings;
}

/** Infers the types of a row. */
const row = <Model extends AnyTaskModel, Source, Service>(kind: TaskKind<Model, Source, Service>) => kind;

const embedding = {
  work: { name: 'embedding', cost: 0.1, firstGuessSeconds: 0.2, atOnce: 8 },
  noun: 'Embedding',
  service: embeddingService,
} as const;

/** Everything that the server needs to know about the kinds of engines. A new kind is a new row. */
export const engineKinds = {
  text: { work: textWork, module: 'TextGeneration', noun: 'Text', feature: 'llm' },
  image: row({
    work: { name: 'image', cost: 2, firstGuessSeconds: 20 },
    module: 'ImageGeneration',
    noun: 'Image',
    feature: 'txt2img',
    counter: 'total_img_gens',
    model: imageModel,
    uses: ({ encoder }: ImageModel) => (encoder ? [encoder] : []),
    source: (model: ImageModel, sourceOf): ImageSource => ({
      ...(model.encoder ? encodedImageSource(sourceOf(model), sourceOf(model.encoder)) : sourceOf(model)),
      facts: model.facts,
    }),
    service: imageService,
  }),
  transcription: row({
    work: { name: 'transcription', cost: 1, firstGuessSeconds: 5 },
    module: 'VoiceRecognition',
    noun: 'Transcription',
    feature: 'transcribe',
    counter: 'total_transcribe_gens',
    model: transcriptionModel,
    source: (model: TranscriptionModel, sourceOf): TranscriptionSource => {
      const { languages } = model;
      return { ...sourceOf(model), ...(languages && { languages }) };
    },
    service: transcriptionService,
  }),
  speech: row({
    work: { name: 'speech', cost: 0.5, firstGuessSeconds: 2 },
    module: 'TextToSpeech',
    noun: 'Speech',
    feature: 'tts',
    counter: 'total_tts_gens',
    model: speechModel,
    source: (model: SpeechModel, sourceOf): SpeechSource => {
      const { voices, maxWords, exactVoices = false } = model;
      return { ...sourceOf(model), voices, maxWords, exactVoices };
    },
    service: speechService,
  }),
  embedding: row({
    ...embedding,
    module: 'VectorEmbeddings',
    feature: 'embeddings',
    model: embeddingModel,
    source: (model, sourceOf) => sourceOf(model),
  }),
  /** Embeddings by the text model, for requests that name it. */
  textEmbedding: row({ ...embedding, model: textEmbeddingModel, source: (model, sourceOf) => sourceOf(model) }),
  music: row({
    work: { name: 'music', cost: 4, firstGuessSeconds: 60 },
    module: 'MusicGen',
    noun: 'Music',
    feature: 'music',
    model: musicModel,
    source: (model, sourceOf) => sourceOf(model),
    service: musicService,
  }),
};

type TaskRows = Omit<typeof engineKinds, 'text'>;
type TaskName = keyof TaskRows;

const { text: _, ...taskRows } = engineKinds;
/** Rows as functions over all kinds see them. */
type AnyTaskKind = TaskKind<AnyTaskModel, never, unknown>;
const taskKinds = Object.entries(taskRows) as unknown as readonly (readonly [TaskName, AnyTaskKind])[];

/** The models of a configuration other than the text model, by their row. */
export type TaskModels = { readonly [Name in TaskName]?: NonNullable<ReturnType<TaskRows[Name]['model']>> };
/** Their engines. */
export type TaskSources = { readonly [Name in TaskName]?: ReturnType<TaskRows[Name]['source']> };
/** What endpoints use of them. */
export type EngineServices = { readonly [Name in TaskName]?: ReturnType<TaskRows[Name]['service']> };

/** The models that the settings name, or the built-in ones. Loads nothing. */
export function taskModels(settings: Settings, tools: ModelTools): TaskModels {
  return perKind((_name, kind) => kind.model(settings, tools));
}

/** Engine sources of a model context. Adds the specs to the registry. */
export function taskSources(registry: Registry, models: TaskModels, timeout?: LoadTimeout): TaskSources {
  const sourceOf: SourceOf = ({ spec, given, atOnce, file, available }) => {
    registry.add(spec);
    const source = engineSourceOf(registry, spec, { timeout });
    const own = { ...(atOnce && { atOnce }), ...(file && { file }), ...(available && { available }) };
    return { ...source, ...own, builtIn: !given };
  };
  return perKind((name, kind) => models[name] && kind.source(models[name], sourceOf));
}

/** A service for each available engine. */
export function createTaskServices(sources: TaskSources, parts: ServiceParts): EngineServices {
  return perKind(
    (name, kind) => sources[name] && kind.service({ ...parts, work: kind.work, source: sources[name] as never }),
  );
}

/** How many tasks may run at once, by lane. */
export function taskCapacities(sources: TaskSources): readonly (readonly [lane: string, capacity: () => number])[] {
  return taskKinds.flatMap(([name, { work }]) => {
    const source = sources[name];
    return source ? [[laneOf(work, source.name), source.atOnce ?? (() => work.atOnce ?? 1)] as const] : [];
  });
}

/** `/api/extra/version`: whether there is an engine of each kind. */
export function taskFeatures(sources: TaskSources): Readonly<Record<string, boolean>> {
  const isAvailable = (source: TaskSources[TaskName]): boolean =>
    source !== undefined && (source.available?.() ?? true);
  return Object.fromEntries(
    taskKinds.flatMap(([name, { feature }]) => (feature ? [[feature, isAvailable(sources[name])]] : [])),
  );
}

/** `/api/extra/perf`: how many tasks of each kind were done. */
export function taskCounters(requestQueue: RequestQueue): Readonly<Record<string, number>> {
  return Object.fromEntries(
    taskKinds.flatMap(([, { work, counter }]) => (counter ? [[counter, requestQueue.count(work.name).done]] : [])),
  );
}

/** The words for each kind on the console. */
export const taskNouns = Object.fromEntries(taskKinds.map(([, { work, noun }]) => [work.name, noun]));

/** The modules of the start-up line. */
export function kindModules(models: TaskModels, withText: boolean): Readonly<Record<string, boolean>> {
  const rows = taskKinds.flatMap(([name, { module }]) =>
    module ? [[module, models[name] !== undefined] as const] : [],
  );
  return { [engineKinds.text.module]: withText, ...Object.fromEntries(rows) };
}

/** The name of a kind in the list of modules. */
export function moduleOf(kind: string): string | undefined {
  return Object.entries<KindNames>(engineKinds).find(([name]) => name === kind)?.[1].module;
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
