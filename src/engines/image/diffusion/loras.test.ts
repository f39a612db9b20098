import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { chosenLora, findLoras } from './loras.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-loras-'));
afterAll(() => rmSync(folder, { recursive: true }));
const [one, two] = [join(folder, 'one'), join(folder, 'two')];
for (const each of [one, two]) {
  mkdirSync(join(each, 'deeper'), { recursive: true });
  for (const name of ['film.safetensors', 'fog.gguf', 'readme.txt', 'deeper/hidden.gguf']) {
    writeFileSync(join(each, name), '');
  }
}
const film = join(one, 'film.safetensors');
const names = (found: ReturnType<typeof findLoras>) => found.offered.map(({ name }) => name);

describe('LoRAs of the command line', () => {
  test('with a strength are always there', () => {
    expect(findLoras([film], [1])).toEqual({ fixed: [{ name: 'film', path: film, weight: 1 }], offered: [] });
    expect(findLoras([film, join(one, 'fog.gguf')], [0.5]).fixed.map(({ weight }) => weight)).toEqual([0.5, 0.5]);
  });

  test('without one, and all of a folder, wait for requests', () => {
    expect(findLoras([film], [0])).toEqual({ fixed: [], offered: [{ name: 'film', path: film }] });
    expect(names(findLoras([one], [1]))).toEqual(['film', 'fog']);
  });

  test('of the same name get numbers', () => {
    expect(names(findLoras([one, two], [1]))).toEqual(['film', 'fog', 'film_2', 'fog_2']);
  });

  test('may be none at all', () => {
    expect(findLoras([], [1])).toEqual({ fixed: [], offered: [] });
  });
});

describe('the one that is used', () => {
  const offered = findLoras([one], [1]);
  const path = (asked: { name: string; weight: number }[], loras = offered) => chosenLora(asked, loras);

  test('is the one that was asked for, by name or file, in any case', () => {
    expect(path([{ name: 'Film', weight: 1 }])).toBe(film);
    expect(path([{ name: 'film.safetensors', weight: 1 }])).toBe(film);
  });

  test('is none where nobody asked, or with no weight', () => {
    expect(path([])).toBeUndefined();
    expect(path([{ name: 'film', weight: 0 }])).toBeUndefined();
  });

  test('has the sum of its weights', () => {
    const half = { name: 'film', weight: 0.5 };
    expect(path([half, half])).toBe(film);
  });

  test('is the fixed one where no other is wanted', () => {
    expect(path([], findLoras([film], [1]))).toBe(film);
  });

  test('is refused with a weight that the engine cannot do, rather than used with another', () => {
    expect(() => path([{ name: 'film', weight: 0.8 }])).toThrow('A LoRA with the weight 0.8 is not possible');
    expect(() => path([], findLoras([film], [0.5]))).toThrow('the weight 0.5');
  });

  test('is refused beside another', () => {
    const both = ['film', 'fog'].map((name) => ({ name, weight: 1 }));
    expect(() => path(both)).toThrow('More than one LoRA at a time is not possible');
    expect(() => path([{ name: 'fog', weight: 1 }], findLoras([film, join(one, 'fog.gguf')], [1, 0]))).toThrow('More');
  });

  test('is refused where it is not there, with those that are', () => {
    expect(() => path([{ name: 'rain', weight: 1 }])).toThrow('lora must be one of film, fog.');
    expect(() => path([{ name: 'rain', weight: 1 }], findLoras([], []))).toThrow('no LoRA is there');
  });
});
