import type { Settings } from '../config/flags.ts';
import type { EngineSource } from '../core/engine-source.ts';
import type { ImageFacts } from '../core/image.ts';
import type { SpeechService } from '../core/speech.ts';
import type { Terminal } from '../observe/terminal.ts';
import type { Held, Registry } from '../registry/registry.ts';
import type { Sources } from '../scheduler/other-services.ts';
import { builtInRecipe, embeddingModels, type TextModelFile } from './embedding-models.ts';
import { imageModel } from './image-model.ts';
import { imageSource } from './image-source.ts';
import type { Patience } from './in-time.ts';
import { keptEngine } from './kept-engine.ts';
import type { ModelKinds, OtherEngines, OtherKind, OtherModel } from './kinds.ts';
import { remoteImage } from './remote-others.ts';
import { speechModel } from './speech-model.ts';
import { transcriptionModel } from './transcription-model.ts';

export interface OtherModels {
  readonly embedding?: OtherModel<'embedding'>;
  /** The text model's own file, for embeddings by whoever names it. */
  readonly textEmbedding?: OtherModel<'embedding'>;
  readonly image?: OtherModel<'image'> & { readonly facts: ImageFacts };
  /** What reads the prompts for pictures: always the model that they were learnt with. */
  readonly encoder?: OtherModel<'embedding'>;
  readonly speech?: OtherModel<'speech'> & Pick<SpeechService, 'voices' | 'maxWords'>;
  readonly transcription?: OtherModel<'transcription'>;
}

export interface OtherModelTools {
  readonly terminal: Terminal;
  /** The text model that they stand beside. */
  readonly text: TextModelFile;
}

/** What the settings name, or else what is built in; nothing is loaded for it. */
export function otherModels(settings: Settings, tools: OtherModelTools): OtherModels {
  const speech = speechModel(settings, tools);
  return {
    ...embeddingModels(settings, tools.text, tools.terminal),
    ...(speech ? { speech } : {}),
    transcription: transcriptionModel(settings, tools.terminal),
    image: remoteImage(settings, tools.terminal) ?? imageModel(settings, tools.terminal),
    encoder: { recipe: builtInRecipe(settings, tools.terminal), given: false },
  };
}

/** Where the engines of a room are to be had. The registry learns of them, if it does not know them yet. */
export function otherSources(
  registry: Registry<ModelKinds>,
  { embedding, textEmbedding, image, encoder, speech, transcription }: OtherModels,
  patience?: Patience,
): Sources {
  const kept = <Kind extends OtherKind>(
    { recipe, atOnce }: OtherModel<Kind>,
    holding: readonly Held[] = [],
  ): EngineSource<OtherEngines[Kind]> => {
    registry.add(recipe as Parameters<typeof registry.add>[0]);
    const source = keptEngine(registry, recipe.kind, recipe.name, { patience, holding });
    return atOnce ? { ...source, atOnce } : source;
  };
  return {
    ...(embedding ? { embedding: kept(embedding) } : {}),
    ...(textEmbedding ? { textEmbedding: kept(textEmbedding) } : {}),
    ...(image && encoder
      ? { image: { ...imageSource(kept(image), kept(encoder, [image.recipe])), facts: image.facts } }
      : {}),
    ...(speech ? { speech: { ...kept(speech), voices: speech.voices, maxWords: speech.maxWords } } : {}),
    ...(transcription ? { transcription: kept(transcription) } : {}),
  };
}

/** Those that a flag names. */
export function givenModels(models: OtherModels): readonly OtherModel<OtherKind>[] {
  return Object.values(models).filter(({ given }: OtherModel<OtherKind>) => given);
}

export function recipesOf(models: OtherModels): readonly OtherModel<OtherKind>['recipe'][] {
  return Object.values(models).map(({ recipe }: OtherModel<OtherKind>) => recipe);
}
