import { describe, expect, test } from 'vitest';
import type { ListedModel, ModelsView } from '../core/models-view.ts';
import type { TextState } from '../core/text-service.ts';
import { findModel, modelsByName } from './listed-models.ts';
import { scriptedText } from './testing/doubles.ts';

const listed = (name: string, own: Partial<ListedModel> = {}): ListedModel => ({
  name,
  state: 'unloaded',
  expiresAt: Number.POSITIVE_INFINITY,
  ...own,
});

function models(names: readonly string[], own: { state?: TextState; byName?: boolean; shown?: string } = {}) {
  const { state = { type: 'loading', name: 'x', progress: 0 }, byName = true, shown = 'koboldcpp/shown' } = own;
  const view: ModelsView = { list: async () => names.map((name) => listed(name)), swap: undefined, byName };
  return modelsByName({ text: scriptedText([], { state: () => state }).text, modelName: () => shown, models: view });
}

describe('the models by name', () => {
  test('are not told where names choose nothing', async () => {
    expect(await models(['a'], { byName: false })).toBeUndefined();
    const { text } = scriptedText([]);
    expect(await modelsByName({ text, modelName: () => 'koboldcpp/a', models: undefined })).toBeUndefined();
  });

  test('begin with the present one, under the name that the server shows for it', async () => {
    expect(await models(['a', 'My model'])).toMatchObject([
      { id: 'koboldcpp/shown', name: 'a', present: true },
      { id: 'koboldcpp/Mymodel', name: 'My model', present: false },
    ]);
  });

  test('keep the name of a present one that could not be loaded', async () => {
    const state: TextState = { type: 'failed', name: 'a', reason: 'no memory' };
    expect(await models(['a'], { state, shown: 'inactive' })).toMatchObject([{ id: 'koboldcpp/a', present: true }]);
  });

  test('are all others where the server has none of its own', async () => {
    const found = await models(['a', 'b'], { state: { type: 'none' }, shown: 'inactive' });
    expect(found).toMatchObject([
      { id: 'koboldcpp/a', present: false },
      { id: 'koboldcpp/b', present: false },
    ]);
  });

  test('are found by id, by name, and with the usual tag', async () => {
    const found = (await models(['a', 'My model'])) ?? [];
    for (const asked of ['koboldcpp/Mymodel', 'my model', 'mymodel:latest', 'My model.gguf']) {
      expect(findModel(found, asked)?.name, asked).toBe('My model');
    }
    expect(findModel(found, 'shown')?.name).toBe('a');
    expect(findModel(found, 'c')).toBeUndefined();
  });
});
