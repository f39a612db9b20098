import type { PresetStore } from '../../core/models-view.ts';
import { json } from '../../http/call.ts';
import { bodyOf, type PlainEndpoint } from '../endpoint.ts';
import { honoured, optionalFlag, optionalName, readFields, readName, readObject } from '../fields.ts';
import { type AdminAccess, adminReadRow, adminRow, allowed, changeReply } from './access.ts';

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

/** Presets: generation settings as models with names of their own. */
export function presetEndpoints({ access, presets }: PresetServices): PlainEndpoint[] {
  const path = '/api/admin/presets';
  return [
    adminReadRow(path, 'The presets of the models folder, also those that cannot be used now.', async (call) => {
      const found = await allowed(presets, access, call).list();
      return json({ presets: found.map((one) => ({ ...one, problem: one.problem ?? null })) });
    }),
    adminRow(
      path,
      'Save generation settings as a preset: a model with a name of its own.',
      async (call) => {
        const store = allowed(presets, access, call);
        const { name, base, settings, replace = false } = readFields(saveFields, await bodyOf(call));
        return changeReply(async () => ({ name: await store.save(name, { base, settings, replace }) }));
      },
      { fields: saveFields, modelNamed: noName },
    ),
    adminRow(
      `${path}/delete`,
      'Delete a preset.',
      async (call) => {
        const store = allowed(presets, access, call);
        const { name } = readFields(deleteFields, await bodyOf(call));
        return changeReply(async () => {
          if (!(await store.remove(name))) throw new Error(`There is no preset ${name}.`);
        });
      },
      { fields: deleteFields, modelNamed: noName },
    ),
  ];
}

/** A preset that cannot be used can still be replaced and deleted. */
const noName = async () => undefined;
