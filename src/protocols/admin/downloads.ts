import { AppError } from '../../core/errors.ts';
import type { EndpointFidelity } from '../../core/fidelity.ts';
import type { DownloadStatus, ModelDownloads } from '../../core/model-downloads.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { bodyOf, type PlainEndpoint } from '../endpoint.ts';
import { aside, fidelityOf, readName, textSchema, withSchema } from '../fields.ts';
import { type AdminAccess, adminReadRow, adminRow, mayAdminister } from './access.ts';

interface DownloadServices {
  readonly access: AdminAccess;
  readonly downloads?: ModelDownloads | undefined;
}

const model = withSchema(
  textSchema,
  aside('honoured', 'As parley pull takes it: owner/name, owner/name:Q4_K_M, owner/name/file.gguf, or an address.'),
);

export const downloadFidelity: readonly EndpointFidelity[] = [
  fidelityOf('Admin', 'POST /api/admin/downloads, /api/admin/downloads/stop, /api/admin/downloads/remove', { model }),
];

const noModel =
  'This is not the name of a model. Use owner/name, owner/name:Q4_K_M or the address of its page or file (https).';
const noDownload = 'There is no such download.';

/** Downloads of models, which go on without the client. */
export function downloadEndpoints({ access, downloads }: DownloadServices): PlainEndpoint[] {
  const allowed = (call: Call): ModelDownloads => {
    if (!downloads || !mayAdminister(access, call)) throw new AppError('admin-only', {});
    return downloads;
  };
  const changing = (
    path: string,
    summary: string,
    change: (own: ModelDownloads, name: string) => Promise<{ readonly error?: string; readonly model?: string }>,
  ) =>
    adminRow(
      path,
      summary,
      async (call): Promise<Reply> => {
        const own = allowed(call);
        const name = readName((await bodyOf(call)).model, 'model');
        try {
          const answer = await change(own, name);
          return json({ success: answer.error === undefined, ...answer });
        } catch (error) {
          return json({ success: false, error: `${(error as Error).message}.` });
        }
      },
      // The body names a model that is not there yet.
      { modelNamed: () => undefined },
    );
  return [
    adminReadRow(
      '/api/admin/downloads',
      'The downloads of models: those of now, and the unfinished ones.',
      async (call) => json({ downloads: (await allowed(call).list()).map(downloadEntry) }),
    ),
    changing(
      '/api/admin/downloads',
      'Start or resume the download of a model with all that belongs to it.',
      async (own, name) => {
        const started = await own.start(name);
        return started === undefined ? { error: noModel } : { model: started };
      },
    ),
    changing('/api/admin/downloads/stop', 'Stop a download. What was downloaded is kept.', async (own, name) =>
      (await own.stop(name)) ? {} : { error: noDownload },
    ),
    changing(
      '/api/admin/downloads/remove',
      'Take a download off the list, and delete its files unless it is complete.',
      async (own, name) => ((await own.remove(name)) ? {} : { error: noDownload }),
    ),
  ];
}

function downloadEntry({ model, state, doneBytes, totalBytes, bytesPerSecond, reason, path }: DownloadStatus) {
  return {
    model,
    state,
    done_bytes: doneBytes,
    total_bytes: totalBytes ?? null,
    bytes_per_second: bytesPerSecond,
    reason: reason ?? null,
    path: path ?? null,
  };
}
