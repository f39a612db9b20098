import type { Settings } from '../config/flags.ts';
import type { EngineSource } from '../core/engine-source.ts';
import type { Terminal } from '../observe/terminal.ts';
import type { Sources } from '../queue/task-services.ts';
import type { LoadTimeout } from './arrival.ts';
import { builtInSpec, embeddingModels, type TextModelFile } from './embedding-models.ts';
import { imageModel } from './image-model.ts';
import { encodedImageSource, imageSource } from './image-source.ts';
import type { ModelKinds, TaskEngineKind, TaskEngines, TaskModel, TaskModels } from './kinds.ts';
import type { Registry } from './registry.ts';
import { engineSourceOf } from './registry-source.ts';
import { remoteImage } from './remote-others.ts';
import { speechModel } from './speech-model.ts';
import { transcriptionModel } from './transcription-model.ts';

export interface OtherModelTools {
  readonly terminal: Terminal;
  /** The text model of the same configuration. */
  readonly text: TextModelFile;
}

/** The models that the settings name, or the built-in ones. Loads nothing. */
export function taskModels(settings: Settings, tools: OtherModelTools): TaskModels {
  const speech = speechModel(settings, tools);
  return {
    ...embeddingModels(settings, tools.text, tools.terminal),
    ...(speech ? { speech } : {}),
    transcription: transcriptionModel(settings, tools.terminal),
    image: remoteImage(settings, tools.terminal) ?? imageModel(settings, tools.terminal),
    encoder: { spec: builtInSpec(settings, tools.terminal), given: false },
  };
}

/** Engine sources of a model context. Adds the specs to the registry. */
export function taskSources(
  registry: Registry<ModelKinds>,
  { embedding, textEmbedding, image, encoder, speech, transcription }: TaskModels,
  timeout?: LoadTimeout,
): Sources {
  const kept = <Kind extends TaskEngineKind>({
    spec,
    atOnce,
    file,
  }: TaskModel<Kind>): EngineSource<TaskEngines[Kind]> => {
    registry.add(spec as Parameters<typeof registry.add>[0]);
    const source = engineSourceOf(registry, spec.kind, spec.name, { timeout });
    return { ...source, ...(atOnce ? { atOnce } : {}), ...(file ? { file } : {}) };
  };
  const drawing = (model: NonNullable<TaskModels['image']>, reader: TaskModel<'embedding'>) =>
    model.encoded ? encodedImageSource(kept(model), kept(reader)) : imageSource(kept(model));
  return {
    ...(embedding ? { embedding: kept(embedding) } : {}),
    ...(textEmbedding ? { textEmbedding: kept(textEmbedding) } : {}),
    ...(image && encoder ? { image: { ...drawing(image, encoder), facts: image.facts } } : {}),
    ...(speech ? { speech: { ...kept(speech), voices: speech.voices, maxWords: speech.maxWords } } : {}),
    ...(transcription ? { transcription: kept(transcription) } : {}),
  };
}

/** The models that flags name. */
export function givenModels(models: TaskModels): readonly TaskModel<TaskEngineKind>[] {
  return Object.values(models).filter(({ given }: TaskModel<TaskEngineKind>) => given);
}

/**
 * Whether a model beside the text model counts for `--multiuser 0`, which then acts like 2. One that a flag names does from the start. A
 * built-in one is offered by every server: it counts only while it is in memory, or 0 would never mean what it says.
 */
export function countsOthers(
  models: TaskModels,
  listed: readonly { readonly kind: string; readonly resident: boolean }[],
): boolean {
  return givenModels(models).length > 0 || listed.some(({ kind, resident }) => kind !== 'text' && resident);
}

export function specsOf(models: TaskModels): readonly TaskModel<TaskEngineKind>['spec'][] {
  return Object.values(models).map(({ spec }: TaskModel<TaskEngineKind>) => spec);
}
