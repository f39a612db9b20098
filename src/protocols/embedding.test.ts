import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import {
  answering,
  listText,
  maxInputs,
  oneEach,
  readInputs,
  shaped,
  total,
  truncatedHeader,
  vectorText,
} from './embedding.ts';
import { scriptedEmbedding, scriptedOthers } from './testing/embedding.ts';

const read = (value: unknown) => readInputs(value, 'input');
const texts = fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 8 });
const tokens = fc.array(fc.nat(100_000), { minLength: 1, maxLength: 8 });

describe('readInputs', () => {
  test('reads a text', () => expect(read('Hi')).toEqual(['Hi']));

  test('reads several texts', () => {
    fc.assert(
      fc.property(texts, (list) => {
        expect(read(list)).toEqual(list);
      }),
    );
  });

  test('reads token numbers as one input', () => {
    fc.assert(
      fc.property(tokens, (list) => {
        expect(read(list)).toEqual([list]);
      }),
    );
  });

  test('reads lists of token numbers, also beside texts', () => {
    fc.assert(
      fc.property(fc.array(tokens, { minLength: 1, maxLength: 4 }), texts, (lists, words) => {
        expect(read([...lists, ...words])).toEqual([...lists, ...words]);
      }),
    );
  });

  test('accepts 2048 inputs and refuses more', () => {
    const list = (length: number) => Array.from({ length }, () => 'x');
    expect(read(list(maxInputs))).toHaveLength(maxInputs);
    expect(() => read(list(maxInputs + 1))).toThrow('input must be an array of at most 2048 inputs.');
    // These are the tokens of one text.
    expect(read(Array.from({ length: 5000 }, () => 1))).toHaveLength(1);
  });
});

test.each<[unknown, string]>([
  [undefined, 'input must be a string, an array of strings'],
  [null, 'input must be a string'],
  [5, 'input must be a string'],
  [{}, 'input must be a string'],
  [true, 'input must be a string'],
  ['', 'input must be a text that is not empty'],
  [[], 'and not empty'],
  [['a', ''], 'input[1] must be a text that is not empty'],
  [['a', null], 'input must be a string, an array of strings'],
  [['a', 5], 'input must be a string, an array of strings'],
  [['a', []], 'input[1] must be made of token numbers'],
  [[[1], ['a']], 'input[1] must be made of token numbers'],
  [[-1], 'input must be made of token numbers'],
  [[1.5], 'input must be made of token numbers'],
  [[2 ** 31], 'input must be made of token numbers'],
])('refuses %j: %s', (value, reason) => expect(() => read(value)).toThrow(reason));

const parts = { taskServices: scriptedOthers().taskServices, modelName: () => 'koboldcpp/mini' };

test.each([undefined, '', 'text-embedding-3-small', 'tiny-embed', 'minimal'])(
  'answering: the embeddings model answers to %j, under its own name',
  (asked) => {
    const { service, model } = answering(parts, asked);
    expect([service.name, model]).toEqual(['tiny-embed', 'tiny-embed']);
  },
);

test.each(['mini', 'koboldcpp/mini', 'MINI', 'mini.gguf', 'mini:latest'])(
  'answering: the text model answers to %j',
  (asked) => {
    const { service, model } = answering(parts, asked);
    expect([service.name, model]).toEqual(['mini', 'koboldcpp/mini']);
  },
);

test('answering: an alias means its target, unless it is the name of a model', () => {
  const aliased = { ...parts, alias: () => 'mini' };
  expect(answering(aliased, 'text-embedding-3-small').service.name).toBe('mini');
  expect(answering(aliased, 'tiny-embed').service.name).toBe('tiny-embed');
  expect(answering({ ...parts, alias: () => 'tiny-embed' }, 'mini').service.name).toBe('mini');
});

test('answering: a text model that failed still answers to its name', () => {
  const { service, model } = answering({ ...parts, modelName: () => 'inactive' }, 'mini');
  expect([service.name, model]).toEqual(['mini', 'koboldcpp/mini']);
});

test('answering: without a text model every name means the embeddings model', () => {
  const alone = { taskServices: { embedding: scriptedEmbedding().service }, modelName: () => 'inactive' };
  expect(answering(alone, 'inactive').service.name).toBe('tiny-embed');
});

test('answering: throws model-missing without any model', () => {
  const none = () => answering({ modelName: () => 'mini' }, 'mini');
  expect(none).toThrow(AppError);
  expect(none).toThrow('No embeddings model is loaded. Start the server with --embeddingsmodel FILE.');
});

const never = new AbortController().signal;
const entries = fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), { maxLength: 20 });
const of = (...numbers: number[]): Float32Array => Float32Array.from(numbers);
const plain = (vectors: readonly Float32Array[]): number[][] => vectors.map((vector) => Array.from(vector));

describe('vectorText', () => {
  test('has exactly the numbers of the vector', () => {
    fc.assert(
      fc.property(entries, (numbers) => {
        const vector = Float32Array.from(numbers);
        expect(Float32Array.from(JSON.parse(vectorText(vector)))).toEqual(vector.map((entry) => entry + 0));
      }),
    );
  });

  test('base64: decodes to the same numbers', () => {
    fc.assert(
      fc.property(entries, (numbers) => {
        const vector = Float32Array.from(numbers);
        const bytes = Buffer.from(JSON.parse(vectorText(vector, 'base64')), 'base64');
        expect(Array.from(numbers, (_, index) => bytes.readFloatLE(index * 4))).toEqual(Array.from(vector));
        expect(bytes.length).toBe(numbers.length * 4);
      }),
    );
  });

  test('encodes a view of a larger array', () => {
    const part = of(9, 1, 2).subarray(1);
    expect(vectorText(part)).toBe('[1,2]');
    expect(Buffer.from(JSON.parse(vectorText(part, 'base64')), 'base64').readFloatLE(0)).toBe(1);
  });
});

describe('shaped', () => {
  test('normalises to length 1 by default', () => {
    expect(plain(shaped([of(3, 4)], {}))).toEqual([[Math.fround(0.6), Math.fround(0.8)]]);
    expect(plain(shaped([of(3, 4)], { norm: -1 }))).toEqual([[3, 4]]);
  });

  test('cuts and normalises again', () => {
    expect(plain(shaped([of(2, 5, 5), of(-4, 1, 1)], { dimensions: 1 }))).toEqual([[1], [-1]]);
    expect(plain(shaped([of(3, 4)], { dimensions: 2, norm: -1 }))).toEqual([[3, 4]]);
  });

  test('refuses more dimensions than the model has', () => {
    expect(() => shaped([of(1, 2)], { dimensions: 3 })).toThrow('dimensions must be at most 2');
  });
});

describe('oneEach', () => {
  const embedded = { tokens: [1], truncated: [] };

  test('returns the pooled vectors', () => {
    expect(oneEach({ ...embedded, vectors: [[of(1)], [of(2)]], pooling: 'cls' })).toEqual([of(1), of(2)]);
  });

  test('refuses a model with one vector per token', () => {
    expect(() => oneEach({ ...embedded, vectors: [[of(1), of(2)]], pooling: 'none' })).toThrow('use POST /embedding');
  });
});

describe('listText', () => {
  test('is the same as JSON', async () => {
    const text = await listText([1, 2, 3], (entry, index) => JSON.stringify({ entry, index }), never);
    expect(JSON.parse(text)).toEqual([1, 2, 3].map((entry, index) => ({ entry, index })));
    expect(await listText([], String, never)).toBe('[]');
  });

  test('yields to other requests, and ends when aborted', async () => {
    const gone = new AbortController();
    let written = 0;
    const work = listText(
      Array.from({ length: 1_000_000 }, (_, index) => index),
      (index) => {
        written += 1;
        return JSON.stringify({ index, text: 'some text that takes a moment' });
      },
      gone.signal,
    );
    setImmediate(() => gone.abort(new Error('left')));
    await expect(work).rejects.toThrow('left');
    expect(written).toBeLessThan(1_000_000);
  });
});

test('truncatedHeader: names the inputs that were cut', () => {
  expect(truncatedHeader([0, 3], 'input')).toEqual({ 'x-parley-truncated': 'input[0], input[3]' });
  expect(truncatedHeader([], 'input')).toEqual({});
  const all = truncatedHeader(
    Array.from({ length: 2048 }, (_, index) => index),
    'input',
  );
  expect(all['x-parley-truncated']).toMatch(/, \d+ more$/);
});

test('total: adds up tokens', () => expect([total([]), total([1, 2, 3])]).toEqual([0, 6]));
