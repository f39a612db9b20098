import fc from 'fast-check';

/** A schema, a value that it allows, and values that it does not. */
export interface Sample {
  readonly schema: Record<string, unknown> | boolean;
  readonly value: unknown;
  readonly wrong: readonly unknown[];
}

const text = fc.string({ unit: 'grapheme', maxLength: 12 });
const anyJson = fc.jsonValue({ maxDepth: 2, stringUnit: 'grapheme' }).map(settled);
/** Shorter than the digits that the grammar of numbers allows. */
const plainNumber = fc.oneof(
  fc.integer(),
  fc.double({ min: -1e12, max: 1e12, noNaN: true }).map((value) => Number(value.toFixed(9))),
);

/** Nulls and negative zeros make a value differ from its own text; a property named __proto__ gets lost on the way. */
function settled(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, inside) => (key === '__proto__' ? undefined : inside)));
}

const strings: fc.Arbitrary<Sample> = fc
  .record({ value: text, below: fc.nat(3), above: fc.nat(300), bounded: fc.boolean() })
  .map(({ value, below, above, bounded }) => {
    const length = [...value].length;
    const [minLength, maxLength] = [Math.max(0, length - below), length + above];
    const wrong: unknown[] = [1, null, {}];
    if (bounded) wrong.push('y'.repeat(maxLength + 1));
    if (bounded && minLength > 0) wrong.push('y'.repeat(minLength - 1));
    return { schema: { type: 'string', ...(bounded ? { minLength, maxLength } : {}) }, value, wrong };
  });

const integers: fc.Arbitrary<Sample> = fc
  .record({ value: fc.maxSafeInteger(), below: fc.nat(), above: fc.nat(), ends: fc.nat(3), exclusive: fc.boolean() })
  .filter(
    ({ value, below, above }) => Number.isSafeInteger(value - below - 2) && Number.isSafeInteger(value + above + 2),
  )
  .map(({ value, below, above, ends, exclusive }) => {
    const [low, high] = [value - below, value + above];
    const wrong: unknown[] = ['1', 0.5, true];
    if (ends & 1) wrong.push(low - 1);
    if (ends & 2) wrong.push(high + 1);
    const minimum = exclusive ? { exclusiveMinimum: low - 1 } : { minimum: low };
    const maximum = exclusive ? { exclusiveMaximum: high + 1 } : { maximum: high };
    const schema = { type: 'integer', ...(ends & 1 ? minimum : {}), ...(ends & 2 ? maximum : {}) };
    return {
      schema,
      value,
      wrong: wrong.filter((number) => !Number.isInteger(number) || Number.isSafeInteger(number)),
    };
  });

const hundredths = fc.integer({ min: -100_000, max: 100_000 }).map((value) => value / 100);
const numbers: fc.Arbitrary<Sample> = fc.oneof(
  plainNumber.map((value): Sample => ({ schema: { type: 'number' }, value, wrong: ['1', null, [value]] })),
  fc
    .record({ ends: fc.tuple(hundredths, hundredths, hundredths), exclusive: fc.boolean() })
    .map(({ ends, exclusive }): Sample => {
      const [low, value, high] = [...ends].sort((a, b) => a - b) as [number, number, number];
      if (low === value || value === high)
        return { schema: { type: 'number', minimum: low }, value, wrong: [low - 0.5] };
      const schema = exclusive ? { exclusiveMinimum: low, exclusiveMaximum: high } : { minimum: low, maximum: high };
      const outside = [low - 0.125, high + 0.125, ...(exclusive ? [low, high] : [])];
      return { schema, value, wrong: [...outside, 'x'] };
    }),
);

const constants: fc.Arbitrary<Sample> = fc.oneof(
  fc.boolean().map((value): Sample => ({ schema: { type: 'boolean' }, value, wrong: [0, null, 'true'] })),
  fc.constant<Sample>({ schema: { type: 'null' }, value: null, wrong: [0, false, 'null'] }),
  anyJson.map((value): Sample => ({ schema: { const: value }, value, wrong: [[value, value], { other: value }] })),
  fc
    .tuple(fc.uniqueArray(text, { minLength: 1, maxLength: 5 }), fc.nat())
    .map(
      ([values, at]): Sample => ({ schema: { enum: values }, value: values[at % values.length], wrong: [1, [values]] }),
    ),
  anyJson.map((value): Sample => ({ schema: {}, value, wrong: [] })),
);

const name = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 6 }).filter((text) => text !== '__proto__');

export const samples: fc.Arbitrary<Sample> = fc.letrec<{
  any: Sample;
  leaf: Sample;
  array: Sample;
  object: Sample;
  choice: Sample;
}>((tie) => ({
  any: fc.oneof({ maxDepth: 3, depthIdentifier: 'schema' }, tie('leaf'), tie('array'), tie('object'), tie('choice')),
  leaf: fc.oneof(strings, integers, numbers, constants),
  array: fc.oneof(
    fc.record({ item: tie('any'), times: fc.nat(4), more: fc.nat(3) }).map(({ item, times, more }) => ({
      schema: { type: 'array', items: item.schema, minItems: times, maxItems: times + more },
      value: Array(times).fill(item.value),
      wrong: [
        Array(times + more + 1).fill(item.value),
        ...item.wrong.map((wrong) => Array(Math.max(1, times)).fill(wrong)),
      ],
    })),
    fc.array(tie('any'), { minLength: 1, maxLength: 3, depthIdentifier: 'schema' }).map((items) => ({
      schema: { type: 'array', prefixItems: items.map(({ schema }) => schema) },
      value: items.map(({ value }) => value),
      wrong: [[], [...items.map(({ value }) => value), 1]],
    })),
  ),
  object: fc
    .record({
      members: fc.dictionary(name, fc.record({ sample: tie('any'), required: fc.boolean(), written: fc.boolean() }), {
        maxKeys: 4,
        depthIdentifier: 'schema',
        noNullPrototype: true,
      }),
      others: fc.boolean(),
    })
    .map(({ members, others }) => {
      const entries = Object.entries(members);
      const written = entries.filter(([, member]) => member.required || member.written);
      const value = Object.fromEntries(written.map(([key, { sample }]) => [key, sample.value]));
      const broken = written.flatMap(([key, { sample }]) => sample.wrong.map((wrong) => ({ ...value, [key]: wrong })));
      const needed = entries.filter(([, { required }]) => required).map(([key]) => key);
      const short = needed.map((key) => Object.fromEntries(Object.entries(value).filter(([other]) => other !== key)));
      const extra = { ...value, 'not listed': true };
      return {
        schema: {
          type: 'object',
          properties: Object.fromEntries(entries.map(([key, { sample }]) => [key, sample.schema])),
          required: needed,
          additionalProperties: others ? { type: 'boolean' } : false,
        },
        value: others ? extra : value,
        wrong: [...broken, ...short, others ? { ...value, 'not listed': 3 } : extra],
      };
    }),
  choice: fc.record({ one: tie('any'), other: tie('any'), first: fc.boolean() }).map(({ one, other, first }) => ({
    schema: { anyOf: first ? [one.schema, other.schema] : [other.schema, one.schema] },
    value: one.value,
    // What one branch refuses the other may allow.
    wrong: [],
  })),
})).any;
