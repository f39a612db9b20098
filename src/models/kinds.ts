import type { EmbeddingEngine } from '../core/embedding.ts';
import type { EngineSource } from '../core/engine-source.ts';
import type { ImageFacts } from '../core/image.ts';
import type { SpeechEngine, SpeechService } from '../core/speech.ts';
import type { TranscriptionEngine } from '../core/transcription.ts';
import type { ConditionedEngine } from '../engines/image/host.ts';
import type { EngineLifecycle, HostedEngine, TextLifecycle } from './engine-lifecycle.ts';
import type { ModelSpec } from './lifecycle.ts';

/** The engine kinds other than text. */
export interface TaskEngines {
  readonly embedding: EmbeddingEngine;
  /** Its prompts are read by an embedding engine. */
  readonly image: ConditionedEngine;
  readonly speech: SpeechEngine;
  readonly transcription: TranscriptionEngine;
}

export type TaskEngineKind = keyof TaskEngines;

/** The registry's entries, by kind. */
export type ModelKinds = { readonly text: TextLifecycle } & {
  readonly [Kind in TaskEngineKind]: EngineLifecycle<TaskEngines[Kind] & HostedEngine>;
};

/** A model of another kind than text, from a file or built in. */
export interface TaskModel<Kind extends TaskEngineKind> {
  readonly spec: ModelSpec<Kind, ModelKinds[Kind]>;
  /** Set by a flag: it is loaded at the start, and the program ends if it cannot be. */
  readonly given: boolean;
  /** The server starts without it if it cannot be loaded; requests for it get the reason. */
  readonly optional?: boolean;
  /** Size and date of its file. */
  readonly file?: NonNullable<EngineSource<unknown>['file']>;
  /** How many of its tasks may run at once, if more than the default. */
  readonly atOnce?: () => number;
}

export interface TaskModels {
  readonly embedding?: TaskModel<'embedding'>;
  /** The text model's own file, for embedding requests that name it. */
  readonly textEmbedding?: TaskModel<'embedding'>;
  readonly image?: TaskModel<'image'> & {
    readonly facts: ImageFacts;
    /** Its prompts are read by the encoder. */
    readonly encoded?: boolean;
  };
  /** Encodes the prompts of the built-in image model: the model that it was trained with. */
  readonly encoder?: TaskModel<'embedding'>;
  readonly speech?: TaskModel<'speech'> & Pick<SpeechService, 'voices' | 'maxWords'>;
  readonly transcription?: TaskModel<'transcription'>;
}
