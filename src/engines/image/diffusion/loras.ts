import { readdirSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { AppError } from '../../../core/errors.ts';
import type { AskedLora } from '../../../core/image.ts';

export interface LoraFile {
  readonly name: string;
  readonly path: string;
}

export interface Loras {
  /** Part of every picture. */
  readonly fixed: readonly (LoraFile & { readonly weight: number })[];
  /** For requests that name them. */
  readonly offered: readonly LoraFile[];
}

/** `--sdlora`: files with a strength are always there, those without and all in folders wait until they are asked for. */
export function findLoras(paths: readonly string[], weights: readonly number[]): Loras {
  const fixed: (LoraFile & { weight: number })[] = [];
  const offered: string[] = [];
  for (const [index, given] of paths.entries()) {
    const path = resolve(given);
    const weight = weights[index] ?? weights[0] ?? 1;
    if (isFolder(path)) offered.push(...filesIn(path));
    else if (weight === 0) offered.push(path);
    else fixed.push({ name: nameOfFile(path), path, weight });
  }
  return { fixed, offered: named(offered) };
}

/**
 * The one file that the driver is to use. It takes one at a time and only in full strength: anything else is refused, because
 * a picture without what was asked for would pass for one with it.
 */
export function chosenLora(asked: readonly AskedLora[], { fixed, offered }: Loras): string | undefined {
  const wanted = new Map(fixed.map(({ path, weight }) => [path, weight]));
  for (const { name, weight } of asked) {
    const found = offered.find((each) => isNameOf(each, name));
    if (!found) throw new AppError('invalid-field', { field: 'lora', expected: `one of ${listed(offered)}` });
    wanted.set(found.path, (wanted.get(found.path) ?? 0) + weight);
  }
  const used = [...wanted].filter(([, weight]) => weight !== 0);
  const [first] = used;
  if (used.length > 1) throw refused('More than one LoRA at a time');
  if (first && first[1] !== 1) throw refused(`A LoRA with the weight ${first[1]}`);
  return first?.[0];
}

function refused(feature: string): AppError {
  return new AppError('unsupported', {
    feature,
    instead: 'the image engine applies one LoRA at a time, and only with the weight 1',
  });
}

function isNameOf({ name, path }: LoraFile, asked: string): boolean {
  const plain = asked.toLowerCase();
  return name.toLowerCase() === plain || (path.split(/[/\\]/).at(-1) ?? '').toLowerCase() === plain;
}

function listed(offered: readonly LoraFile[]): string {
  return offered.length === 0 ? 'none: no LoRA is there' : offered.map(({ name }) => name).join(', ');
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:safetensors|gguf)$/i.test(entry.name))
    .map(({ name }) => join(folder, name))
    .sort();
}

/** Two files of one name in different folders get numbers. */
function named(paths: readonly string[]): readonly LoraFile[] {
  const seen = new Map<string, number>();
  return [...new Set(paths)].map((path) => {
    const name = nameOfFile(path);
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return { name: count === 1 ? name : `${name}_${count}`, path };
  });
}

/** The name that a file of weights goes by. */
export function nameOfFile(path: string): string {
  return basename(path).replace(/\.(?:safetensors|gguf|ckpt|pth|pt|bin)$/i, '');
}
