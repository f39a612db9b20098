import fc from 'fast-check';
import { anyCharacter } from '../../src/core/testing/any-character.ts';
import { strangeNumbers, strangeTexts as usualTexts } from '../../src/protocols/testing/random-bodies.ts';
import type { Schema } from './schema.ts';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** One pixel, and a fifth of a second of silence. */
export const image = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
export const recording = wav(3200).toString('base64');

function wav(samples: number): Buffer {
  const file = Buffer.alloc(44 + 2 * samples);
  file.write('RIFF', 0).toString();
  file.writeUInt32LE(36 + 2 * samples, 4);
  file.write('WAVEfmt ', 8);
  for (const [offset, value] of [
    [16, 16],
    [24, 16_000],
    [28, 32_000],
    [40, 2 * samples],
  ] as const) {
    file.writeUInt32LE(value, offset);
  }
  for (const [offset, value] of [
    [20, 1],
    [22, 1],
    [32, 2],
    [34, 16],
  ] as const)
    file.writeUInt16LE(value, offset);
  file.write('data', 36);
  return file;
}

const plainText = fc.constantFrom('Once upon a time', 'Hi', 'x', '{"a": 1}', 'Name three colours.', 'a red house', '7');

/** Beside those, what only the whole server could mistake for something else. */
const strangeTexts = [...usualTexts, ...['../../etc/passwd', 'file:///etc/passwd', '<|im_end|>', 'word '.repeat(5000)]];
const nested = (depth: number): Json =>
  depth === 0 ? 1 : depth % 2 === 0 ? [nested(depth - 1)] : { a: nested(depth - 1) };
const strangeValues: readonly Json[] = [null, true, [], {}, [[]], [null], [{}], { a: null }, nested(60), nested(200)];

/** What no careful client sends. */
export const strange: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(...strangeNumbers),
  fc.constantFrom<Json>(...strangeTexts),
  fc.constantFrom<Json>(...strangeValues),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.string({ unit: anyCharacter, maxLength: 30 }),
  fc.array(fc.constantFrom<Json>(...strangeNumbers, ...strangeTexts, null), { maxLength: 5 }),
  fc.constantFrom<Json>(Array(2000).fill(0), Array(2000).fill('x'), Array(2000).fill(null)),
  fc.dictionary(fc.string({ maxLength: 6 }), fc.constantFrom<Json>(...strangeNumbers, ...strangeTexts), { maxKeys: 4 }),
);

/** Values by the name of their field, where its schema says less than the server expects. */
const byName: Readonly<Record<string, fc.Arbitrary<Json>>> = {
  role: fc.constantFrom('user', 'assistant', 'system', 'tool'),
  genkey: fc.constantFrom('', 'KCPP1', 'k'),
  grammar: fc.constantFrom(
    '',
    'root ::= "a"',
    'root ::= [a-z]+',
    'root ::= root',
    'root ::= ("a"',
    '{"type":"object"}',
  ),
  image: fc.constant(image),
  images: fc.constantFrom<Json>([], [image]),
  init_images: fc.constantFrom<Json>([image], []),
  imageList: fc.constant([{ data: image, name: 'a' }]),
  mask: fc.constant(image),
  file: fc.constant(recording),
  audio_data: fc.constant(recording),
  size: fc.constantFrom('64x64', 'auto', '1x1', '9x'),
  stream: fc.boolean(),
};

/** A value that fits the schema. */
export function fitting(schema: Schema, name = ''): fc.Arbitrary<Json> {
  if (Object.hasOwn(byName, name)) return byName[name] as fc.Arbitrary<Json>;
  if (Array.isArray(schema.enum)) return fc.constantFrom(...(schema.enum as Json[]));
  if (Array.isArray(schema.anyOf)) return fc.oneof(...schema.anyOf.map((one: Schema) => fitting(one)));
  const types = [(schema.type ?? ['string', 'integer', 'boolean']) as string | readonly string[]].flat();
  return fc.oneof(...types.map((type) => ofType(type, schema)));
}

function ofType(type: string, schema: Schema): fc.Arbitrary<Json> {
  const { minimum: min, maximum: max } = schema as { minimum?: number; maximum?: number };
  switch (type) {
    case 'integer':
      return fc.integer({ min: min ?? 0, max: max ?? Math.max(4, (min ?? 0) + 4) });
    case 'number':
      return fc.double({ min: min ?? 0, max: max ?? Math.max(2, (min ?? 0) + 2), noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array': {
      const items = fitting((schema.items ?? {}) as Schema);
      return fc.array(items, { minLength: Number(schema.minItems ?? 0), maxLength: Number(schema.minItems ?? 0) + 2 });
    }
    case 'object':
      return objectOf(schema);
    default:
      return schema.contentEncoding === 'base64' ? fc.constantFrom(image, recording) : plainText;
  }
}

/** All required members, and a few of the others. */
export function objectOf(schema: Schema): fc.Arbitrary<{ readonly [key: string]: Json }> {
  const properties = Object.entries((schema.properties ?? {}) as Readonly<Record<string, Schema>>);
  const required = (schema.required ?? []) as readonly string[];
  const members = Object.fromEntries(properties.map(([name, one]) => [name, fitting(one, name)]));
  const needed = Object.fromEntries(Object.entries(members).filter(([name]) => required.includes(name)));
  const names = properties.map(([name]) => name).filter((name) => !required.includes(name));
  if (names.length === 0) return fc.record(needed);
  const some = fc.subarray(names, { maxLength: Math.min(6, names.length) });
  const more = some.chain((chosen) =>
    fc.record(Object.fromEntries(chosen.map((name) => [name, members[name] as fc.Arbitrary<Json>]))),
  );
  return fc.tuple(fc.record(needed), more).map(([one, other]) => ({ ...one, ...other }));
}

/** A change of one place: the numbers lead to it. */
interface Change {
  readonly way: readonly number[];
  readonly kind: 'replace' | 'delete' | 'wrap' | 'repeat' | 'add';
  readonly value: Json;
}

export const change: fc.Arbitrary<Change> = fc.record({
  way: fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 4 }),
  kind: fc.oneof(
    { weight: 6, arbitrary: fc.constant('replace' as const) },
    fc.constantFrom('delete' as const, 'wrap' as const, 'repeat' as const, 'add' as const),
  ),
  value: strange,
});

/** The body with one thing wrong. */
export function changed(body: Json, { way: [next, ...rest], kind, value }: Change): Json {
  const entries = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  if (next === undefined || entries.length === 0) return replaced(body, kind, value);
  const index = next % entries.length;
  const [name = '', old = null] = entries[index] ?? [];
  const isHere = rest.length === 0 || typeof old !== 'object' || old === null;
  if (isHere && kind === 'delete') entries.splice(index, 1);
  else entries[index] = [name, isHere ? replaced(old, kind, value) : changed(old, { way: rest, kind, value })];
  if (Array.isArray(body)) return entries.map(([, one]) => one);
  return Object.fromEntries(
    isHere && kind === 'add' ? [...entries, [`${name}2`, value], ['__proto__', value]] : entries,
  );
}

function replaced(old: Json, kind: Change['kind'], value: Json): Json {
  if (kind === 'wrap') return [old];
  return kind === 'repeat' ? Array(50).fill(old) : kind === 'replace' ? value : old;
}
