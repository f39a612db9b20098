import { readLoadSettings } from '../../config/load-settings.ts';
import { AppError } from '../../core/errors.ts';
import type { LoadStatus, ModelSwap } from '../../core/models-view.ts';
import { json } from '../../http/call.ts';
import { bodyOf, type ModelEndpoint } from '../endpoint.ts';
import { aside, withSchema } from '../fields.ts';
import { type AdminAccess, adminReadRow, adminRow, mayAdminister } from './access.ts';

const path = '/api/admin/load_settings';

const setting = (type: string, note: string) =>
  withSchema({ type: [type, 'null'] }, aside('honoured', `${note} Null is automatic; without it the setting stays.`));

const loadSettingsFields = {
  contextsize: setting('integer', 'As --contextsize.'),
  gpulayers: setting('integer', 'As --gpulayers.'),
  quantkv: setting('string', 'As --quantkv.'),
  flashattention: setting('boolean', 'False as --noflashattention.'),
};

/** How the present text model is loaded, and loading it again with other settings. */
export function loadSettingsEndpoints({
  access,
  swap,
}: {
  readonly access: AdminAccess;
  readonly swap?: ModelSwap | undefined;
}): ModelEndpoint<unknown>[] {
  return [
    adminReadRow(path, 'How the text model is loaded: its settings, and what is in use now.', (call) => {
      if (!swap?.load || !mayAdminister(access, call)) throw new AppError('admin-only', {});
      return json(statusReply(swap.load.status()));
    }),
    adminRow(
      path,
      'Load the text model again with other settings.',
      async (call) => {
        if (!swap?.load || !mayAdminister(access, call)) throw new AppError('admin-only', {});
        const reading = readLoadSettings(await bodyOf(call, 'object'));
        const error = reading.ok ? await swap.load.change(reading.value) : reading.expected;
        return json({ success: error === undefined, ...(error === undefined ? {} : { error }) });
      },
      { fields: loadSettingsFields },
    ),
    adminRow(
      '/api/admin/save_config',
      'Write all settings of the text model to a new config in the models folder.',
      async (call) => {
        if (!swap?.load || !mayAdminister(access, call)) throw new AppError('admin-only', {});
        try {
          return json({ success: true, path: await swap.load.saveConfig() });
        } catch (error) {
          return json({ success: false, error: `The config could not be saved: ${(error as Error).message}.` });
        }
      },
    ),
  ];
}

function statusReply({ model, settings, pending, failure, known, quantkv, flashattention }: LoadStatus) {
  return {
    model: model ?? null,
    ...settings,
    pending,
    error: failure ?? null,
    in_use: {
      context: known?.contextSize ?? null,
      trained_context: known?.trainedContext ?? null,
      layers: known?.layers?.all ?? null,
      gpu_layers: known?.layers?.onCards ?? null,
      quantkv,
      flashattention,
    },
  };
}
