import type { PresetStore } from '../../core/models-view.ts';
import type { PlainEndpoint } from '../endpoint.ts';
import { honoured, optionalFlag, optionalName, readName, readObject } from '../fields.ts';
import { type AdminAccess, administered, noModel } from './access.ts';

interface PresetServices {
  readonly access: AdminAccess;
  readonly presets?: PresetStore | undefined;
}

const saveFields = {
  name: honoured(readName, 'The name of the preset: `terse`, or `base:terse`.'),
  base: honoured(optionalName, 'The model that it is for; by default the one in use.'),
  settings: honoured(
    readObject,
    'As in its file: gendefaults, gendefaultsoverwrite, systemprompt, reasoningeffort, jinjathink, jinja_kwargs, defaultgenamt, contextoverflow, mcpserverloop, mcptools, memory, messages. Other keys of the file stay.',
  ),
  replace: honoured(optionalFlag, 'Replace the preset of this name; without it, one that exists is an error.'),
};
const deleteFields = { name: honoured(readName, 'Of GET /api/admin/presets.') };

const path = '/api/admin/presets';

/** Presets: generation settings as models with names of their own. */
export function presetEndpoints({ access, presets }: PresetServices): PlainEndpoint[] {
  const { show, change } = administered(access, presets && (() => presets));
  return [
    show(path, 'The presets of the models folder, also those that cannot be used now.', 'presets', async (store) => ({
      presets: (await store.list()).map((one) => ({ ...one, problem: one.problem ?? null })),
    })),
    change(
      path,
      'Save generation settings as a preset: a model with a name of its own.',
      saveFields,
      async (store, { name, base, settings, replace = false }) => ({
        name: await store.save(name, { base, settings, replace }),
      }),
      { ...noModel, response: 'addPreset' },
    ),
    change(
      `${path}/delete`,
      'Delete a preset.',
      deleteFields,
      async (store, { name }) => {
        if (!(await store.remove(name))) throw new Error(`There is no preset ${name}.`);
      },
      noModel,
    ),
  ];
}
