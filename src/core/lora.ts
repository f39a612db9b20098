import { AppError } from './errors.ts';

/** How strongly a LoRA adapter of a text model applies: by its index among those that were loaded, or by its name. */
export interface AdapterScale {
  readonly adapter: number | string;
  readonly scale: number;
}

/** `style` of `/models/style.gguf`. */
const adapterName = (path: string): string => path.replace(/^.*[/\\]/, '').replace(/\.gguf$/i, '');

/** `--lora` and `--loramult`: one scale for each file, or the last one for all that follow. */
export function loraFiles({
  lora,
  loramult,
}: {
  readonly lora: readonly string[] | null;
  readonly loramult: readonly number[];
}) {
  return (lora ?? []).map((path, index) => ({ path, scale: loramult[index] ?? loramult.at(-1) ?? 1 }));
}

/** As requests have them. */
export const encodeAdapters = (adapters: readonly AdapterScale[]) =>
  adapters.map(({ adapter, scale }) => ({ [typeof adapter === 'number' ? 'id' : 'name']: adapter, scale }));

/** The scale of each loaded adapter: 0 for those that are not named. Throws for one that is not loaded. */
export function adapterScales(sent: readonly AdapterScale[], paths: readonly string[]): number[] {
  const scales = paths.map(() => 0);
  for (const { adapter, scale } of sent) {
    const index = typeof adapter === 'number' ? adapter : paths.findIndex((path) => adapterName(path) === adapter);
    if (!(index in scales)) {
      const loaded = paths.map((path, id) => `${id} (${adapterName(path)})`).join(', ');
      const expected = loaded === '' ? 'empty: the model has no adapters (--lora)' : `with id or name of ${loaded}`;
      throw new AppError('invalid-field', { field: 'lora', expected });
    }
    scales[index] = scale;
  }
  return scales;
}

/** The adapters of a text model, and the scales of requests that choose none. */
export class LoraScales {
  #scales: readonly number[] | undefined;

  constructor(private readonly loaded: readonly { readonly path: string; readonly scale: number }[]) {}

  list(): readonly { readonly id: number; readonly path: string; readonly scale: number }[] {
    return this.loaded.map(({ path, scale }, id) => ({ id, path, scale: this.#scales?.[id] ?? scale }));
  }

  /** For all further requests that choose none, until the server ends. Others get 0. */
  set(sent: readonly AdapterScale[]): void {
    this.#scales = adapterScales(
      sent,
      this.loaded.map(({ path }) => path),
    );
  }

  /** Undefined while they are those of the start. */
  changed(): readonly AdapterScale[] | undefined {
    return this.#scales?.map((scale, adapter) => ({ adapter, scale }));
  }
}
