import { readLoadSettings } from '../../config/load-settings.ts';
import type { LoadStatus, ModelSwap } from '../../core/models-view.ts';
import { bodyOf, type PlainEndpoint } from '../endpoint.ts';
import { type AdminAccess, administered, adminRow, allowed, changeReply, field } from './access.ts';

const path = '/api/admin/load_settings';

const setting = (type: string, note: string) =>
  field({ type: [type, 'null'] }, `${note} Null is automatic; without it the setting stays.`);

const loadSettingsFields = {
  contextsize: setting('integer', 'As --contextsize.'),
  gpulayers: setting('integer', 'As --gpulayers.'),
  quantkv: setting('string', 'As --quantkv.'),
  flashattention: setting('boolean', 'False as --noflashattention.'),
};

/** How the present text model is loaded, and loading it again with other settings. */
export function loadSettingsEndpoints(access: AdminAccess, load: ModelSwap['load'] | undefined): PlainEndpoint[] {
  const { show } = administered(access, load && (() => load));
  return [
    show(path, 'How the text model is loaded: its settings, and what is in use now.', 'loadSettings', (own) =>
      statusBody(own.status()),
    ),
    adminRow(
      path,
      'Load the text model again with other settings.',
      async (call) => {
        const own = allowed(load, access, call);
        const reading = readLoadSettings(await bodyOf(call, 'object'));
        return changeReply(async () => {
          const error = reading.ok ? await own.change(reading.value) : reading.expected;
          if (error !== undefined) throw new Error(error);
        });
      },
      { fields: loadSettingsFields, response: 'change' },
    ),
    adminRow(
      '/api/admin/save_config',
      'Write all settings of the text model to a new config in the models folder.',
      async (call) => {
        const own = allowed(load, access, call);
        return changeReply(async () => ({
          path: await own.saveConfig().catch((error: Error) => {
            throw new Error(`The config could not be saved: ${error.message}`);
          }),
        }));
      },
      { response: 'saveConfig' },
    ),
  ];
}

function statusBody({ model, settings, pending, failure, known, quantkv, flashattention }: LoadStatus) {
  return {
    model: model ?? null,
    ...settings,
    pending,
    error: failure ?? null,
    in_use: {
      context: known?.contextSize ?? null,
      trained_context: known?.trainedContext ?? null,
      layers: known?.layers?.all ?? null,
      gpu_layers: known?.layers?.onGpus ?? null,
      quantkv,
      flashattention,
    },
  };
}
