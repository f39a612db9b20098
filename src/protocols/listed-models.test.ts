import { describe, expect, test } from 'vitest';
import { modelId } from '../core/model-names.ts';
import type { ListedModel } from '../core/models-view.ts';
import { findModel, modelsByName } from './listed-models.ts';

const listed = (name: string, own: Partial<ListedModel> = {}): ListedModel => ({
  name,
  id: modelId(name),
  present: false,
  state: 'unloaded',
  expiresAt: Number.POSITIVE_INFINITY,
  ...own,
});

test('modelsByName: undefined where names choose nothing', async () => {
  const list = async () => [listed('a')];
  expect(await modelsByName({ models: { list, swap: undefined, byName: false } })).toBeUndefined();
  expect(await modelsByName({ models: undefined })).toBeUndefined();
  expect(await modelsByName({ models: { list, swap: undefined, byName: true } })).toMatchObject([{ name: 'a' }]);
});

describe('findModel', () => {
  const models = [
    listed('a', { id: 'koboldcpp/shown' }),
    listed('My model'),
    listed('small.gguf'),
    listed('small.kcpps', { aliases: ['small'] }),
    listed('sub/one', { aliases: ['sub/one.gguf'] }),
  ];

  test.each([
    ['koboldcpp/Mymodel', 'My model'],
    ['my model', 'My model'],
    ['mymodel:latest', 'My model'],
    ['My model.gguf', 'My model'],
    ['shown', 'a'],
    ['small', 'small.kcpps'],
    ['small.gguf', 'small.gguf'],
    ['koboldcpp/sub/one:latest', 'sub/one'],
    ['sub/one.gguf', 'sub/one'],
    ['koboldcpp/subone', 'sub/one'],
  ])('%s is %s', (asked, name) => {
    expect(findModel(models, asked)?.name).toBe(name);
  });

  test('is undefined for a name that no model has', () => {
    expect(findModel(models, 'c')).toBeUndefined();
  });

  test('an alias is looked for after the own names', () => {
    const alias = () => 'small.gguf';
    expect(findModel(models, 'claude-x', alias)?.name).toBe('small.gguf');
    expect(findModel(models, 'a', alias)?.name).toBe('a');
  });
});
