import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Blend } from './voices.ts';

/** A voice has a style vector for each length of text. */
export const styleLength = 256;

/** Of one voice: the vectors for 1, 2, 3, … tokens. */
type StyleTable = Float32Array;

/** Reads the tables of voices once each. */
export class StyleTables {
  readonly #read = new Map<string, Promise<StyleTable>>();

  constructor(private readonly folder: string) {}

  table(voice: string): Promise<StyleTable> {
    const known = this.#read.get(voice);
    if (known) return known;
    const reading = this.#load(voice);
    this.#read.set(voice, reading);
    reading.catch(() => this.#read.delete(voice));
    return reading;
  }

  async #load(voice: string): Promise<StyleTable> {
    const bytes = await readFile(join(this.folder, `${voice}.bin`));
    if (bytes.length === 0 || bytes.length % (4 * styleLength) !== 0) {
      throw new Error(`the voice ${voice} is damaged. Run: parley pack repair voices`);
    }
    // In memory of its own, whose start is aligned.
    return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  }

  /** The style of a blend for a text of this many tokens. */
  async style(blend: Blend, tokens: number): Promise<Float32Array> {
    const tables = await Promise.all(
      blend.map(async ({ name, weight }) => ({ table: await this.table(name), weight })),
    );
    return blendStyles(tables, tokens);
  }
}

/** The weighted mean of the vectors for this number of tokens. */
export function blendStyles(
  tables: readonly { readonly table: StyleTable; readonly weight: number }[],
  tokens: number,
): Float32Array {
  const total = tables.reduce((sum, { weight }) => sum + weight, 0);
  const style = new Float32Array(styleLength);
  for (const { table, weight } of tables) {
    const last = table.length / styleLength - 1;
    const start = styleLength * Math.min(last, Math.max(0, tokens - 1));
    for (let index = 0; index < styleLength; index++) {
      style[index] = (style[index] as number) + ((table[start + index] as number) * weight) / total;
    }
  }
  return style;
}
