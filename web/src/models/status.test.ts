import { describe, expect, test } from 'vitest';
import { factsLine, libraryLine } from './panel-texts.ts';
import {
  answering,
  jointState,
  type LibraryEntry,
  type ModelStatus,
  type ModelsAnswer,
  modelsFor,
  parametersText,
  searchLibrary,
  shownModels,
  switchEnded,
} from './status.ts';
import { stateText } from './texts.ts';

function model(own: Partial<ModelStatus> = {}): ModelStatus {
  return {
    id: null,
    name: 'mini',
    kind: 'text',
    label: 'Text',
    default: false,
    state: 'loaded',
    progress: null,
    reason: null,
    memory_bytes: null,
    file_bytes: null,
    parameters: null,
    quantization: null,
    context: null,
    trained_context: null,
    active_requests: 0,
    expires_at: null,
    ...own,
  };
}

function answer(models: readonly ModelStatus[], own: Partial<ModelsAnswer> = {}): ModelsAnswer {
  return {
    models,
    available_bytes: 0,
    router: false,
    admin: { enabled: true, allowed: true, key_file: false },
    last_failure: null,
    ...own,
  };
}

test('shownModels: text first, and shows the text model as an embedding model only while it is loaded', () => {
  const embedding = model({ kind: 'embedding', state: 'unloaded' });
  const speech = model({ kind: 'speech', name: 'flite' });
  expect(shownModels({ models: [embedding, speech, model()] })).toEqual([model(), speech]);
  const loaded = { ...embedding, state: 'loaded' as const };
  expect(shownModels({ models: [loaded, model()] })).toEqual([model(), loaded]);
});

describe('answering', () => {
  const a = model({ id: 'a', name: 'a', default: true });
  const b = model({ id: 'b', name: 'b' });
  test.each([
    ['b', b],
    ['gone', a],
    [undefined, a],
  ])('chosen %j', (chosen, expected) => {
    expect(answering([b, a], chosen)).toBe(expected);
  });

  test('modelsFor: the model of each kind', () => {
    const image = model({ kind: 'image', name: 'sketch' });
    expect(modelsFor([a, b, image], ['image', 'text', 'speech'], 'b')).toEqual([image, b]);
  });
});

test.each([
  [['loaded', 'loading'], 'loading'],
  [['loaded', 'unloaded', 'failed'], 'failed'],
  [['loaded', 'loaded'], 'loaded'],
  [[], 'unloaded'],
] as const)('jointState: %j is %s', (states, expected) => {
  expect(jointState(states.map((state) => ({ state })))).toBe(expected);
});

test.each([
  [400, '1M'],
  [46_150_144, '46M'],
  [999_600_000, '1B'],
  [4.2e9, '4.2B'],
  [9.97e9, '10B'],
  [70.6e9, '71B'],
  [999.7e9, '1T'],
  [1.04e12, '1T'],
])('parametersText: %i is %s', (count, expected) => {
  expect(parametersText(count)).toBe(expected);
});

test('factsLine: memory in use or needed, and only what is known', () => {
  const known = model({
    parameters: 8e9,
    quantization: 'Q4_K_M',
    context: 4096,
    memory_bytes: 5e9,
    active_requests: 1,
  });
  expect(factsLine(known)).toBe('8B parameters · Q4_K_M · context 4,096 · 5.0 GB in memory · 1 request running');
  expect(factsLine(model({ state: 'unloaded', memory_bytes: 5e9 }))).toBe('needs 5.0 GB');
  expect(factsLine(model({ trained_context: 2048, file_bytes: 40e6 }))).toBe('trained for 2,048 tokens · 40 MB');
  expect(factsLine(model())).toBe('');
});

test('stateText: shows the progress of a load', () => {
  expect(stateText(model({ state: 'loading', progress: 0.421 }))).toBe('loading, 42 %');
  expect(stateText(model({ state: 'unloaded' }))).toBe('loads on first use');
});

const entry = (own: Partial<LibraryEntry>): LibraryEntry => ({
  filename: 'a.gguf',
  name: 'a.gguf',
  type: 'model',
  program: null,
  file_bytes: null,
  parameters: null,
  quantization: null,
  trained_context: null,
  ...own,
});

test('searchLibrary: finds every word in name, program or quantization', () => {
  const list = [entry({ name: 'Qwen3', program: 'Ollama', quantization: 'Q4_K_M' }), entry({ name: 'gemma' })];
  expect(searchLibrary(list, 'q4 ollama')).toEqual([list[0]]);
  expect(searchLibrary(list, ' ')).toEqual(list);
  expect(searchLibrary(list, 'qwen lm studio')).toEqual([]);
});

test('libraryLine: names the program, or the models folder', () => {
  expect(libraryLine(entry({ type: 'config' }))).toBe('config · models folder');
  expect(libraryLine(entry({ parameters: 1e9, file_bytes: 1e9, program: 'Ollama' }))).toBe(
    '1B parameters · 1.0 GB · Ollama',
  );
});

test('switchEnded: when the default model is another one and loaded, or the switch has failed', () => {
  const before = [model({ default: true })];
  expect(switchEnded(before, answer(before))).toBe(false);
  const next = model({ name: 'next', default: true });
  expect(switchEnded(before, answer([{ ...next, state: 'loading' }]))).toBe(false);
  expect(switchEnded(before, answer([next]))).toBe(true);
  expect(switchEnded(before, answer([]))).toBe(true);
  expect(switchEnded(before, answer(before, { last_failure: { name: 'x', reason: 'y' } }))).toBe(true);
});
