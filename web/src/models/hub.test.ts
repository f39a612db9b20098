import { expect, test } from 'vitest';
import { downloadBytes, type HubFile, type HubModel, modelAddress, repositoryOf } from './hub.ts';
import { fileLine, hubFacts, whyChosen } from './hub-texts.ts';

test.each([
  ['owner/name/file.gguf', 'hf.co/owner/name/file.gguf'],
  ['hf.co/owner/name@main/sub/file.gguf', 'hf.co/owner/name@main/sub/file.gguf'],
  [' Qwen/Qwen3-8B-GGUF ', 'hf.co/Qwen/Qwen3-8B-GGUF'],
  ['owner/name:Q4_K_M', 'hf.co/owner/name:Q4_K_M'],
  ['https://huggingface.co/Qwen/Qwen3-8B-GGUF', 'https://huggingface.co/Qwen/Qwen3-8B-GGUF'],
  ['https://host/a/file.gguf?download=true', 'https://host/a/file.gguf?download=true'],
  ['http://host/file.gguf', undefined],
  ['https://host/page.html', undefined],
  ['qwen3:8b', 'qwen3:8b'],
  ['https://ollama.com/library/qwen3:8b', 'https://ollama.com/library/qwen3:8b'],
  ['Qwen3 8B', undefined],
  ['llama3', undefined],
])('modelAddress: %s is %j', (text, expected) => {
  expect(modelAddress(text)).toBe(expected);
});

test.each([
  ['hf.co/Qwen/Qwen3-8B-GGUF', 'Qwen/Qwen3-8B-GGUF'],
  ['https://huggingface.co/Qwen/Qwen3-8B-GGUF', 'Qwen/Qwen3-8B-GGUF'],
  ['https://huggingface.co/Qwen/Qwen3-8B-GGUF/tree/main', 'Qwen/Qwen3-8B-GGUF'],
  ['hf.co/owner/name:Q4_K_M', undefined],
  ['hf.co/owner/name@main', undefined],
  ['https://huggingface.co/owner/name/blob/main/file.gguf', undefined],
  ['https://host/owner/name', undefined],
])('repositoryOf: %s is %j', (address, expected) => {
  expect(repositoryOf(address)).toBe(expected);
});

const entry: HubModel = {
  id: 'a/b',
  gated: 'no',
  tools: false,
  thinking: false,
  projector: false,
  downloads: null,
  likes: null,
  changed: null,
  parameters: null,
  architecture: null,
  context: null,
  supported: null,
  licence: null,
};

test('hubFacts: shows only what is known, and warns of consent and of architectures that cannot be loaded', () => {
  expect(hubFacts(entry)).toEqual({ facts: [], warnings: [] });
  const full = { ...entry, parameters: 8e9, architecture: 'qwen3', context: 40_960, licence: 'mit', tools: true };
  expect(hubFacts({ ...full, downloads: 12_345, changed: '2026-10-01T12:00:00.000Z' }).facts).toEqual([
    '8B parameters',
    'qwen3',
    'context 40,960',
    'tools',
    'mit',
    '12K downloads',
    'changed Oct 2026',
  ]);
  expect(hubFacts({ ...entry, gated: 'author', supported: false }).warnings).toEqual([
    'cannot be loaded by this version',
    'needs consent',
  ]);
});

const file: HubFile = {
  name: 'Q4_K_M',
  bytes: 1e9,
  fit: null,
  memory_bytes: null,
  card_layers: null,
  layers: null,
  speed: null,
  chosen: true,
};

test('fileLine: says where the file would run, how fast, and what it needs', () => {
  expect(fileLine(file)).toBe('1.0 GB');
  const part = { fit: 'part', card_layers: 12, layers: 33, speed: 'good', memory_bytes: 2e9 } as const;
  expect(fileLine({ ...file, ...part })).toBe(
    '1.0 GB · 12 of 33 layers on the graphics card · good speed · 2.0 GB of memory',
  );
  expect(fileLine({ ...file, fit: 'no', speed: 'very slow' })).toBe('1.0 GB · too large for this computer');
});

test('downloadBytes: counts what is downloaded with the file', () => {
  const answer = { model: 'a/b', supported: true, context: 1, files: [file], draft: null };
  expect(downloadBytes(file, { ...answer, projector: { bytes: 5 } })).toBe(1e9 + 5);
});

test.each([
  [{}, null, 'Whether it fits is not known before the download.'],
  [{ fit: 'card', speed: 'fast' }, 8192, 'fits wholly on the graphics card with a context of 8,192.'],
  [{ fit: 'part', speed: 'good' }, 8192, 'fits in memory at a good speed with a context of 8,192.'],
  [{ fit: 'processor', speed: 'slow' }, 8192, 'a smaller model is faster.'],
  [{ fit: 'no' }, 8192, 'does not fit in the memory that is free now with a context of 8,192.'],
] as const)('whyChosen: %j with a context of %j', (fields, context, end) => {
  expect(whyChosen({ ...file, ...fields }, context)).toMatch(new RegExp(`${end}$`));
});
