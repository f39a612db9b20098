import { expect, test } from 'vitest';
import type { HeldModel, ModelMemory } from '../../core/models-view.ts';
import { callOf } from '../testing/doubles.ts';
import { find, llamacppParts } from './testing/world.ts';

function held(kind: string, name: string): HeldModel {
  return { kind, name, state: { type: 'ready' }, inUse: 0, bytes: 1, expiresAt: Number.POSITIVE_INFINITY };
}

function world() {
  const log: string[] = [];
  const memory: ModelMemory = {
    list: () => [held('text', 'mini'), held('image', 'sketch'), held('embedding', 'mini')],
    load: async (kind, name) => void log.push(`load ${kind} ${name}`),
    unload: async (kind, name) => {
      log.push(`unload ${kind} ${name}`);
      throw new Error('it was lost');
    },
  };
  const parts = llamacppParts({ memory });
  return { log, ask: (path: string, body: object) => find(parts, 'POST', path).handle(callOf('/models', body)) };
}

test.each([
  ['/models/load', 'sketch', 'load image sketch'],
  ['/models/load', 'koboldcpp/mini', 'load text mini'],
  ['/models/unload', 'mini.gguf', 'unload text mini'],
])('%s: %s', async (path, model, expected) => {
  const { log, ask } = world();
  expect(await ask(path, { model })).toMatchObject({ status: 200, body: '{"success":true}' });
  expect(log).toEqual([expected]);
});

test('/models/load: refuses unknown names and missing ones', async () => {
  const { log, ask } = world();
  await expect(ask('/models/load', { model: 'other' })).rejects.toMatchObject({ code: 'model-not-found' });
  await expect(ask('/models/load', {})).rejects.toThrow(/model/);
  await expect(
    find(llamacppParts(), 'POST', '/models/unload').handle(callOf('/models', { model: 'mini' })),
  ).rejects.toThrow();
  expect(log).toEqual([]);
});
