import type { EmbeddingEngine } from '../core/embedding.ts';
import type { EngineSource } from '../core/engine-source.ts';
import type { ImageFacts } from '../core/image.ts';
import type { SpeechEngine, SpeechService } from '../core/speech.ts';
import type { TranscriptionEngine } from '../core/transcription.ts';
import type { ConditionedEngine } from '../engines/image/host.ts';
import type { EngineLifecycle, HostedEngine, TextLifecycle } from './engine-lifecycle.ts';
import type { ModelSpec } from './lifecycle.ts';

/** All kinds of engines beside that for text, by what they can be asked. */
export interface TaskEngines {
  readonly embedding: EmbeddingEngine;
  /** Its prompts are read by an embedding engine. */
  readonly image: ConditionedEngine;
  readonly speech: SpeechEngine;
  readonly transcription: TranscriptionEngine;
}

export type TaskEngineKind = keyof TaskEngines;

/** What the registry keeps. */
export type ModelKinds = { readonly text: TextLifecycle } & {
  readonly [Kind in TaskEngineKind]: EngineLifecycle<TaskEngines[Kind] & HostedEngine>;
};

/** A model of another kind than text, by its file or built in. */
export interface TaskModel<Kind extends TaskEngineKind> {
  readonly spec: ModelSpec<Kind, ModelKinds[Kind]>;
  /** Named by a flag: then it is loaded at the start, and the program ends where it cannot be. */
  readonly given: boolean;
  /** The rest is served without it where it cannot be loaded at the start; those who ask for it hear why. */
  readonly optional?: boolean;
  /** The file that it comes from. */
  readonly file?: NonNullable<EngineSource<unknown>['file']>;
  /** How much of it may be done at once, where that is more than is usual. */
  readonly atOnce?: () => number;
}

export interface TaskModels {
  readonly embedding?: TaskModel<'embedding'>;
  /** The text model's own file, for embeddings by whoever names it. */
  readonly textEmbedding?: TaskModel<'embedding'>;
  readonly image?: TaskModel<'image'> & {
    readonly facts: ImageFacts;
    /** Its prompts are read by the encoder. */
    readonly encoded?: boolean;
  };
  /** What reads the prompts for pictures: always the model that they were learnt with. */
  readonly encoder?: TaskModel<'embedding'>;
  readonly speech?: TaskModel<'speech'> & Pick<SpeechService, 'voices' | 'maxWords'>;
  readonly transcription?: TaskModel<'transcription'>;
}
