import { containsWords } from '../ui/search.ts';

/** The reply of `GET /api/extra/models`; unknown values are null. */
export interface ModelsAnswer {
  readonly models: readonly ModelStatus[];
  /** Free memory of the machine. */
  readonly available_bytes: number;
  /** Whether requests choose a text model by its id. */
  readonly router: boolean;
  readonly admin: {
    readonly enabled: boolean;
    readonly allowed: boolean;
    readonly key_file: boolean;
    /** `page`: whoever opens the page on the machine of the server may administer it. Else why that is not so. */
    readonly owner?: 'page' | 'admin' | 'flag' | 'password' | 'keys' | 'network';
  };
  readonly last_failure: { readonly name: string; readonly reason: string } | null;
  /** What would be better than the present model. */
  readonly advice?: string | null;
}

export type ModelState = 'loaded' | 'loading' | 'unloaded' | 'unloading' | 'failed';

export interface ModelStatus {
  /** For requests that name it; null if there is no choice. */
  readonly id: string | null;
  readonly name: string;
  /** Of a preset, the name of the model that serves it. */
  readonly base?: string | null;
  readonly kind: string;
  /** The kind, for people. */
  readonly label: string;
  readonly default: boolean;
  readonly state: ModelState;
  readonly progress: number | null;
  readonly reason: string | null;
  readonly memory_bytes: number | null;
  readonly file_bytes: number | null;
  readonly parameters: number | null;
  readonly quantization: string | null;
  readonly context: number | null;
  readonly trained_context: number | null;
  readonly active_requests: number;
  /** Whether its engine program has printed something. */
  readonly has_output?: boolean;
  readonly expires_at: string | null;
  /** Not unloaded to make room. */
  readonly pinned?: boolean;
}

/** An entry of `GET /api/admin/models`. */
export interface LibraryEntry {
  readonly filename: string;
  readonly name: string;
  readonly type: 'model' | 'config';
  /** The program that downloaded it; null for files of the admin folder. */
  readonly program: string | null;
  readonly file_bytes: number | null;
  readonly parameters: number | null;
  readonly quantization: string | null;
  readonly trained_context: number | null;
}

/** The name of the built-in model. */
export const embeddedModel = 'parley-mini';

/** A model as the native API names it, without the name of the API in front. */
export function modelName(name: string): string {
  return name.replace(/^koboldcpp\//, '');
}

/** The models to show, those for text first and presets after their bases. The text model is listed as an embedding model only while it is loaded as one. */
export function shownModels({ models }: Pick<ModelsAnswer, 'models'>): ModelStatus[] {
  const texts = new Set(models.flatMap(({ kind, name }) => (kind === 'text' ? [name] : [])));
  const shown = models
    .filter(({ kind, name, state }) => kind !== 'embedding' || state !== 'unloaded' || !texts.has(name))
    .sort((a, b) => Number(b.kind === 'text') - Number(a.kind === 'text'));
  const isPreset = ({ base }: ModelStatus): boolean => base != null && texts.has(base);
  return shown
    .filter((one) => !isPreset(one))
    .flatMap((one) => [
      one,
      ...shown.filter(({ kind, base }) => one.kind === 'text' && kind === 'text' && base === one.name),
    ]);
}

/** The text model that answers: the chosen one, the default one, or the first. */
export function answering(models: readonly ModelStatus[], chosen: string | undefined): ModelStatus | undefined {
  const texts = models.filter(({ kind }) => kind === 'text');
  return texts.find(({ id }) => id !== null && id === chosen) ?? texts.find((one) => one.default) ?? texts[0];
}

/** The models that a page uses, of each kind the one that answers. */
export function modelsFor(
  models: readonly ModelStatus[],
  wanted: readonly string[],
  chosen: string | undefined,
): ModelStatus[] {
  return wanted.flatMap(
    (kind) => (kind === 'text' ? answering(models, chosen) : models.find((one) => one.kind === kind)) ?? [],
  );
}

/** The state to show for several models: the one that needs attention first. */
export function jointState(models: readonly Pick<ModelStatus, 'state'>[]): ModelState {
  const order: readonly ModelState[] = ['failed', 'loading', 'unloading', 'unloaded', 'loaded'];
  return order.find((state) => models.some((one) => one.state === state)) ?? 'unloaded';
}

const sizeUnits: readonly (readonly [number, string])[] = [
  [1e12, 'T'],
  [1e9, 'B'],
  [1e6, 'M'],
];

/** `46M`, `3.2B`: as in the names of models, in every language. Units of languages, such as 10⁴ and 10⁷, would round them. */
export function parametersText(count: number): string {
  const [unit, letter] = sizeUnits.find(([one]) => count >= 0.9995 * one) ?? [1e6, 'M'];
  const size = Math.max(1, count / unit);
  return `${unit > 1e6 && size < 9.95 ? Number(size.toFixed(1)) : Math.round(size)}${letter}`;
}

/** Models on this machine that match every word of the search, those of the admin folder first. */
export function searchLibrary(entries: readonly LibraryEntry[], search: string): LibraryEntry[] {
  return entries.filter(({ name, filename, program, quantization }) =>
    containsWords([name, filename, program, quantization].join(' '), search),
  );
}

/** The end of a switch: the text models have changed, or it has failed. */
export function switchEnded(before: readonly ModelStatus[], now: ModelsAnswer): boolean {
  const namesOf = (models: readonly ModelStatus[]): string =>
    models.flatMap(({ kind, name, default: first }) => (kind === 'text' && first ? [name] : [])).join('\n');
  const isLoading = now.models.some(({ kind, state }) => kind === 'text' && state === 'loading');
  return now.last_failure !== null || (!isLoading && namesOf(before) !== namesOf(now.models));
}
