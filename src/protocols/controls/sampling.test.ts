import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defaultSamplerOrder, type SamplingName, samplingFields } from '../../core/sampling-fields.ts';
import { readControls } from './decode.ts';
import { type AdapterDefaults, decodeSampling as decodeRead } from './sampling.ts';

const decodeSampling = (body: object, adapter: object, loaded: AdapterDefaults) =>
  decodeRead(readControls({ ...body, adapter }), loaded);

const names = Object.keys(samplingFields) as SamplingName[];

test('nothing said gives every default', () => {
  const sampling = decodeSampling({}, {}, {});
  for (const name of names) expect(sampling[name], name).toBe(samplingFields[name].default);
  expect(sampling).toMatchObject({ order: defaultSamplerOrder, dryBreakers: [] });
});

test('null is nothing said, under every name', () => {
  const body = Object.fromEntries(names.flatMap((name) => samplingFields[name].wire).map((wire) => [wire, null]));
  expect(decodeSampling({ ...body, sampler_order: null }, {}, {})).toEqual(decodeSampling({}, {}, {}));
});

test.each(names.filter((name) => samplingFields[name].wire.length > 1 && name !== 'repetitionPenalty'))(
  'of the names of %s the first that is there counts',
  (name) => {
    const [first, second] = samplingFields[name].wire as unknown as [string, string];
    expect(decodeSampling({ [first]: 2, [second]: 3 }, {}, {})[name]).toBe(2);
    expect(decodeSampling({ [second]: 3 }, {}, {})[name]).toBe(3);
    expect(decodeSampling({ [first]: null, [second]: 3 }, {}, {})[name]).toBe(3);
  },
);

test('of the names of the repetition penalty the strongest counts', () => {
  const penalty = (body: object) => decodeSampling({ ...body }, {}, {}).repetitionPenalty;
  expect(penalty({ rep_pen: 1.1, repetition_penalty: 1.3, repeat_penalty: 1.2 })).toBe(1.3);
  expect(penalty({ rep_pen: 0.5 })).toBe(1);
});

test.each([
  [{ temperature: -1 }, 'temperature', 0],
  [{ temperature: '0.3' }, 'temperature', 0.3],
  [{ temperature: 'hot' }, 'temperature', 0.7],
  [{ top_k: 40.9 }, 'topK', 40],
  [{ rep_pen_range: 0 }, 'repetitionRange', 1],
  [{ rep_pen_slope: 3 }, 'repetitionSlope', 1],
  [{ rep_pen_slope: 0 }, 'repetitionSlope', 1],
  [{ rep_pen_slope: 0.5 }, 'repetitionSlope', 0.5],
  [{ adaptive_decay: 5 }, 'adaptiveDecay', 0.99],
  [{ sampler_seed: 2 ** 32 - 1 }, 'seed', 2 ** 32 - 1],
  [{ sampler_seed: 1e20 }, 'seed', 2 ** 32 - 1],
  [{ sampler_seed: -99 }, 'seed', -1],
] as const)('%j sets %s to %d', (body, name, value) => {
  expect(decodeSampling(body, {}, {})[name]).toBe(value);
});

test('the adapter of the request gives a default, and before it that of the server', () => {
  const loaded = { temperature: 0.1, topK: 11 };
  expect(decodeSampling({}, {}, loaded)).toMatchObject({ temperature: 0.1, topK: 11, topP: 0.9 });
  expect(decodeSampling({}, { temperature: 0.2 }, loaded)).toMatchObject({ temperature: 0.2, topK: 11 });
  expect(decodeSampling({ temperature: 0.3 }, { temperature: 0.2 }, loaded)).toMatchObject({ temperature: 0.3 });
  expect(decodeSampling({}, { seed: 5, typical: 0.2 }, {})).toMatchObject({ seed: -1, typical: 1 });
});

test.each([
  [
    [6, 0],
    ['repetition', 'top-k'],
  ],
  [
    ['5', 2.9],
    ['temperature', 'top-p'],
  ],
  [[9, 1, 'x'], ['top-a']],
  [[], defaultSamplerOrder],
  [[0, 1, 2, 3, 4, 5, 6, 0], defaultSamplerOrder],
])('the order %j is %j', (sampler_order, order) => {
  expect(decodeSampling({ sampler_order }, {}, {}).order).toEqual(order);
});

test('an order that is none is refused', () => {
  expect(() => decodeSampling({ sampler_order: '6,0' }, {}, {})).toThrow('sampler_order must be an array');
});

test('breakers are cut to forty bytes, and never inside of a character', () => {
  const { dryBreakers } = decodeSampling(
    { dry_sequence_breakers: ['.', 'é'.repeat(30), `a${'é'.repeat(30)}`] },
    {},
    {},
  );
  expect(dryBreakers).toEqual(['.', 'é'.repeat(20), `a${'é'.repeat(19)}`]);
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }), (text) => {
      const [cut = ''] = decodeSampling({ dry_sequence_breakers: [text] }, {}, {}).dryBreakers;
      expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(40);
      expect(text.startsWith(cut)).toBe(true);
    }),
  );
});

test('whatever is sent, every control is a finite number', () => {
  const wires = names.flatMap((name) => [...samplingFields[name].wire]);
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...wires), fc.jsonValue()), (body) => {
      const sampling = decodeSampling(body as never, {}, {});
      for (const name of names) expect(Number.isFinite(sampling[name]), name).toBe(true);
    }),
  );
});
