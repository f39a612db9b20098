import { expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import { scriptedEmbedding, scriptedOthers } from '../testing/embedding.ts';
import { answering } from './service.ts';

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
