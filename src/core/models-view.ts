import type { SourceState } from './engine-source.ts';
import type { GpuUse } from './gpu-memory.ts';
import type { ModelDownloads } from './model-downloads.ts';
import type { TextModel } from './text-service.ts';

/** A model that can be requested by name, loaded or not. */
export interface ListedModel {
  readonly name: string;
  /** Its id in all lists; requests with this id get this model. */
  readonly id: string;
  /** Other names that it answers to. */
  readonly aliases?: readonly string[];
  readonly preset?: PresetFacts | undefined;
  /** Whether it answers requests that name no model. */
  readonly present: boolean;
  readonly state: 'unloaded' | 'loading' | 'ready' | 'failed' | 'leaving';
  /** Its file, where it is known. */
  readonly path?: string | undefined;
  readonly known?: TextModel | undefined;
  /** Memory in bytes, measured or expected. */
  readonly bytes?: number | undefined;
  /** Milliseconds since 1970 when it is unloaded unless it is used; infinite for never. */
  readonly expiresAt: number;
}

/** What a preset changes of the model whose engine serves it. */
export interface PresetFacts {
  /** The name of that model. */
  readonly base: string;
  readonly system: string;
  /** Defaults of requests. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Tokens, for requests that set no length. */
  readonly replyLength?: number;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
}

/** A preset as Ollama's clients describe it. */
export interface NewPreset {
  readonly from: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly system: string;
  /** A Go template; empty for that of the base. */
  readonly template: string;
  readonly messages: readonly unknown[];
}

/** A preset as its file has it. */
interface StoredPreset {
  readonly name: string;
  readonly base: string;
  /** The keys of its config, without `base`. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Why it cannot be used now, a sentence. */
  readonly problem: string | undefined;
}

/** A preset with the keys of a config. */
export interface PresetSettings {
  /** By default the model that is in use. */
  readonly base?: string | undefined;
  readonly settings: Readonly<Record<string, unknown>>;
  /** Whether one of this name may be replaced. */
  readonly replace: boolean;
}

/** The presets of the models folder, as files. */
export interface PresetStore {
  list(): Promise<readonly StoredPreset[]>;
  /** Resolves to its name. Rejects with a sentence. */
  save(name: string, preset: PresetSettings): Promise<string>;
  /** Makes one, or replaces one of this name. Rejects with a sentence. */
  create(name: string, preset: NewPreset): Promise<void>;
  /** False if no preset has this name. */
  remove(name: string): Promise<boolean>;
}

/** What the name of a model means in a request, where it does not simply name a text model. */
type NameRule =
  /** An engine of another kind; a name that no model has means its default model (`tts-1`, `dall-e-3`). */
  | 'any-name'
  /** The same, but an unknown name is refused: vectors of another model would be wrong. */
  | 'own-name'
  /** A text model; an unknown name is refused, even where what is loaded answers at once. */
  | 'known-name';

/** How a request selects its model. */
export interface ModelSelection {
  /** It waits while its model is swapped; otherwise what is loaded answers at once. */
  readonly queued: boolean;
  readonly modelSelection?: NameRule | undefined;
}

export interface ModelSwap {
  readonly options: () => Promise<readonly string[]>;
  /** False if the name is no option, or cannot be served. The swap begins after the answer is sent. */
  readonly reload: (option: string, base: string | undefined) => Promise<boolean>;
  /** Why the last swap failed; undefined after one that succeeded. */
  readonly failure?: () => SwapFailure | undefined;
  readonly load?: ModelLoad;
  /** What would be better than the present model, a sentence. */
  readonly advice?: () => string | undefined;
}

/** How a text model is loaded; null is automatic. */
export interface LoadSettings {
  readonly contextsize: number | null;
  readonly gpulayers: number | null;
  readonly quantkv: string | null;
  readonly flashattention: boolean | null;
}

export interface LoadStatus {
  /** Undefined if no model of this machine is served. */
  readonly model: string | undefined;
  readonly settings: LoadSettings;
  /** Whether a model is being loaded with other settings, or switched to. */
  readonly pending: boolean;
  /** Why the last change failed. */
  readonly failure: string | undefined;
  /** The text model as it was last loaded, and what is in use where nothing was set. */
  readonly known: TextModel | undefined;
  readonly quantkv: string;
  readonly flashattention: boolean;
}

interface ModelLoad {
  readonly status: () => LoadStatus;
  /** Loads the present model again after the answer is sent. Resolves to the reason, a sentence, if that is not possible. */
  readonly change: (settings: Partial<LoadSettings>) => Promise<string | undefined>;
  /** Writes the settings of the present model to a new config. Resolves to its path, and rejects if there is no model. */
  readonly saveConfig: () => Promise<string>;
  /** When the engines of the present model were chosen, in milliseconds since 1970; undefined for the start of the server. */
  readonly preparedAt: () => number | undefined;
}

export interface SwapFailure {
  readonly name: string;
  readonly reason: string;
}

/** The models of a server with several of them. */
export interface ModelsView {
  /** The current list, the default model first. */
  readonly list: () => Promise<readonly ListedModel[]>;
  readonly swap: ModelSwap | undefined;
  /** Whether requests select their model by name. */
  readonly byName: boolean;
  /** Whether the names of presets select them while every other name means the model in use. */
  readonly presetsByName?: boolean;
  readonly presets?: PresetStore | undefined;
}

/** A model of any kind, loaded or not. */
export interface HeldModel {
  readonly name: string;
  readonly kind: string;
  readonly state: SourceState | { readonly type: 'leaving' };
  readonly inUse: number;
  /** Whether it stays loaded where others need room (`--pin`). */
  readonly pinned?: boolean;
  /** Larger for a model that was used later. */
  readonly lastUsed?: number;
  /** Memory in bytes, measured or expected. */
  readonly bytes: number | undefined;
  /** Milliseconds since 1970 when it is unloaded unless it is used; infinite for never. */
  readonly expiresAt: number;
  /** The last lines that its program has printed. */
  readonly output?: () => readonly string[];
}

/** The models that are in memory, or can be. */
export interface ModelMemory {
  list(): readonly HeldModel[];
  /** Rejects if it cannot be loaded. */
  load(kind: string, name: string): Promise<void>;
  /** Resolves when it is unloaded; running requests finish first. */
  unload(kind: string, name: string): Promise<void>;
  /** The GPUs that loaded models use. */
  gpus?(): Promise<readonly GpuUse[]>;
}

/** What the header of a model file says. */
export interface ModelFileFacts {
  readonly bytes: number;
  readonly parameters: number;
  readonly quantization: string;
  /** The context that the model was trained for. */
  readonly context: number | undefined;
}

/** A model file or a config on this machine. */
export interface LibraryModel {
  /** `filename` for `reload_config`. */
  readonly option: string;
  readonly name: string;
  readonly type: 'model' | 'config';
  /** The program that downloaded it; undefined for files of `--admindir`. */
  readonly program: string | undefined;
  readonly facts: ModelFileFacts | undefined;
}

/** A model on the hub. What the hub does not say is null. */
export interface HubModel {
  /** `owner/name`. */
  readonly id: string;
  readonly downloads: number | null;
  readonly likes: number | null;
  /** ISO 8601. */
  readonly changed: string | null;
  /** Whether its terms have to be accepted, and whether its author decides. */
  readonly gated: 'no' | 'terms' | 'author';
  readonly licence: string | null;
  readonly parameters: number | null;
  readonly architecture: string | null;
  /** Whether the library can load this architecture. */
  readonly supported: boolean | null;
  readonly context: number | null;
  readonly tools: boolean;
  readonly thinking: boolean;
  /** It has a projector for pictures or sound. */
  readonly projector: boolean;
}

export const hubOrders = ['downloads', 'likes', 'date'] as const;

export interface HubSearch {
  readonly words: string;
  readonly order: (typeof hubOrders)[number];
  readonly count: number;
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
}

/** One page of models; `next` is the cursor of the one after it. */
export interface HubPage {
  readonly models: readonly HubModel[];
  readonly next: string | undefined;
}

/** Where a model would run: all of it on GPUs, a part of it, all in main memory, or nowhere. */
export const fits = ['card', 'part', 'processor', 'no'] as const;
/** How fast replies are written, roughly: above 40, 12 and 4 tokens a second, or below. */
export const speeds = ['fast', 'good', 'slow', 'very slow'] as const;

/** One quantization of a model on the hub. What is not known is null. */
export interface HubFileChoice {
  /** The tag for a download (`owner/name:Q4_K_M`). */
  readonly name: string;
  /** Of all parts. */
  readonly bytes: number;
  readonly parts: number;
  readonly fit: (typeof fits)[number] | null;
  /** Memory with the context, on GPUs and in main memory together. */
  readonly memoryBytes: number | null;
  /** Layers that fit on GPUs. The output layer counts as one, also in `layers`. */
  readonly cardLayers: number | null;
  readonly layers: number | null;
  readonly speed: (typeof speeds)[number] | null;
  /** It is downloaded when no tag is named. One at most. */
  readonly chosen: boolean;
}

/** The files of a model on the hub. */
export interface HubFiles {
  /** `owner/name`. */
  readonly model: string;
  readonly commit: string;
  readonly architecture: string | null;
  /** Whether the library can load this architecture. */
  readonly supported: boolean | null;
  /** For which the memory was estimated. */
  readonly context: number | null;
  readonly trainedContext: number | null;
  /** Largest quantization first. */
  readonly files: readonly HubFileChoice[];
  /** Why the chosen file was chosen, in a sentence. */
  readonly reason: string;
  /** What is downloaded with it. */
  readonly projector: { readonly bytes: number } | null;
  readonly draft: { readonly bytes: number } | null;
}

/** A model that is recommended for a computer. */
export interface Recommendation {
  readonly purpose: 'chat' | 'code' | 'stories' | 'vision' | 'embeddings' | 'pictures' | 'speech';
  readonly name: string;
  /** `owner/name:TAG` on the hub; null where its files are not certain, or it is no model of the hub. */
  readonly model: string | null;
  /** The file of the model with this tag, and its SHA-256 when the list was made. */
  readonly file: string | null;
  readonly sha256: string | null;
  /** Words that find it on the hub. */
  readonly search: string | null;
  /** The pack that it is, or needs. */
  readonly pack: string | null;
  readonly bytes: number | null;
  readonly licence: string;
  readonly why: string;
}

export interface Recommendations {
  /** When the list was made. */
  readonly date: string;
  /** Of the GPUs, or of the machine where it has none. */
  readonly memoryBytes: number;
  readonly models: readonly Recommendation[];
}

/** The models on this machine, and those of the hub. */
export interface ModelLibrary {
  list(): Promise<readonly LibraryModel[]>;
  /** Rejects with the reason, as a part of a sentence. */
  search(search: HubSearch, signal: AbortSignal): Promise<HubPage>;
  /** The files of `owner/name[@revision]`; undefined if this is no such name. The context is that of the settings unless it is named. Rejects as `search`. */
  files(model: string, context: number | undefined, signal: AbortSignal): Promise<HubFiles> | undefined;
  readonly downloads: ModelDownloads;
  /** Deletes a listed model with all that belongs to it, unless it is one of those that are loaded. Rejects with a sentence. */
  remove(option: string, loaded: readonly string[]): Promise<void>;
  /** Undefined if this is no address of a model file. */
  download(source: string, signal: AbortSignal): ModelDownload | undefined;
}

/** A part of a download that has a digest of its own. */
export interface LayerProgress {
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
  readonly done: number;
  readonly total: number;
}

/** Downloads while it is iterated, and throws if that fails. */
export type ModelDownload = AsyncIterable<{
  readonly done: number;
  readonly total: number | undefined;
  readonly layer?: LayerProgress | undefined;
}>;
