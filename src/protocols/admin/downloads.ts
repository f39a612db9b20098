import type { ModelDownloads } from '../../core/model-downloads.ts';
import type { ModelLibrary, ModelsView } from '../../core/models-view.ts';
import { json, type Reply } from '../../http/call.ts';
import type { DialectParts } from '../dialect.ts';
import { bodyOf, type ModelEndpoint, type PlainEndpoint } from '../endpoint.ts';
import { honoured, readFields, readName } from '../fields.ts';
import { snakeCase } from '../snake-case.ts';
import { type AdminAccess, adminReadRow, adminRow, allowed, changeReply } from './access.ts';

interface DownloadServices {
  readonly access: AdminAccess;
  readonly library?: (() => Promise<Pick<ModelLibrary, 'downloads' | 'remove'>>) | undefined;
  readonly models?: Pick<ModelsView, 'list'> | undefined;
}

type DownloadContext = Pick<DialectParts, 'text'>;

const deleteFields = { filename: honoured(readName, 'Of GET /api/admin/models.') };
const downloadFields = {
  model: honoured(
    readName,
    'As parley pull takes it: owner/name, owner/name:Q4_K_M, owner/name/file.gguf, or an address.',
  ),
};

const noModel =
  'This is not the name of a model. Use owner/name, owner/name:Q4_K_M or the address of its page or file (https).';

export function deletionEndpoint({ access, library, models }: DownloadServices): ModelEndpoint<DownloadContext> {
  return adminRow(
    '/api/admin/models/delete',
    'Delete a model of the models folder with all that belongs to it. One that is loaded is not deleted.',
    async (call, { text }: DownloadContext): Promise<Reply> => {
      const { remove } = await allowed(library, access, call)();
      const { filename } = readFields(deleteFields, await bodyOf(call));
      return changeReply(async () => remove(filename, await loadedFiles(text, models)));
    },
    { fields: deleteFields },
  );
}

/** Downloads of models, which go on without the client. */
export function downloadEndpoints({ access, library }: DownloadServices): PlainEndpoint[] {
  const changing = (
    path: string,
    summary: string,
    change: (downloads: ModelDownloads, name: string) => Promise<unknown>,
  ) =>
    adminRow(
      path,
      summary,
      async (call): Promise<Reply> => {
        const { downloads } = await allowed(library, access, call)();
        const { model } = readFields(downloadFields, await bodyOf(call));
        return changeReply(() => change(downloads, model));
      },
      // The body names a model that is not there yet.
      { fields: downloadFields, modelNamed: () => undefined },
    );
  return [
    adminReadRow(
      '/api/admin/downloads',
      'The downloads of models: those of now, and the unfinished ones.',
      async (call) => {
        const { downloads } = await allowed(library, access, call)();
        return json({ downloads: snakeCase(await downloads.list()) });
      },
    ),
    changing(
      '/api/admin/downloads',
      'Start or resume the download of a model with all that belongs to it.',
      async (own, name) => {
        const model = await own.start(name);
        if (model === undefined) throw new Error(noModel);
        return { model };
      },
    ),
    changing('/api/admin/downloads/stop', 'Stop a download. What was downloaded is kept.', async (own, name) =>
      mustBeThere(await own.stop(name)),
    ),
    changing(
      '/api/admin/downloads/remove',
      'Take a download off the list, and delete its files unless it is complete.',
      async (own, name) => mustBeThere(await own.remove(name)),
    ),
  ];
}

function mustBeThere(isThere: boolean): void {
  if (!isThere) throw new Error('There is no such download.');
}

async function loadedFiles(
  text: DownloadContext['text'],
  models: DownloadServices['models'],
): Promise<readonly string[]> {
  const listed = ((await models?.list()) ?? []).filter(({ state }) => state !== 'unloaded' && state !== 'failed');
  const now = text.state();
  const own = now.type === 'ready' && text.loaded?.() !== false ? [now.model.path] : [];
  return [...listed.map(({ path, known }) => path ?? known?.path), ...own].filter((path) => path !== undefined);
}
