import { AppError } from '../../core/errors.ts';
import { hubOrders, type ModelLibrary, type ModelsView, type Recommendations } from '../../core/models-view.ts';
import { json } from '../../http/call.ts';
import type { DialectContext } from '../dialect.ts';
import type { ModelEndpoint, PlainEndpoint } from '../endpoint.ts';
import { honoured, readName } from '../fields.ts';
import { snakeCase } from '../snake-case.ts';
import { type AdminAccess, administered, adminReadRow, allowed, noModel } from './access.ts';

/** The models folder, and the hub that its models come from. */
interface LibraryServices<Used extends keyof ModelLibrary> {
  readonly access: AdminAccess;
  readonly library?: (() => Promise<Pick<ModelLibrary, Used>>) | undefined;
}

export interface HubServices extends LibraryServices<'list' | 'search' | 'files'> {
  /** The models that are recommended for this computer. */
  readonly recommended?: (() => Promise<Recommendations>) | undefined;
}

/** Models on a page of a search. */
const searchCount = 20;

/** Models that can be downloaded. */
export function hubEndpoints({ access, library, recommended }: HubServices): PlainEndpoint[] {
  const failed = (failure: string, error: unknown) =>
    json({ success: false, error: `${failure}: ${(error as Error).message}.` }, 502);
  return [
    adminReadRow(
      '/api/admin/search',
      'Models on the hub by words, in pages.',
      async (call) => {
        const { search } = await allowed(library, access, call)();
        const { query } = call;
        const order = hubOrders.find((one) => one === query.get('sort')) ?? 'downloads';
        const cursor = query.get('cursor') ?? undefined;
        try {
          const options = { words: query.get('q') ?? '', order, count: searchCount, cursor };
          const { models, next = null } = await search(options, call.signal);
          return json({ models, next });
        } catch (error) {
          return failed('The hub could not be searched', error);
        }
      },
      { response: 'search' },
    ),
    adminReadRow(
      '/api/admin/search/files',
      'The files of a model on the hub: whether they fit here, and which one is downloaded by default.',
      async (call) => {
        const { query, signal } = call;
        const models = await allowed(library, access, call)();
        const context = Number(query.get('context') || Number.NaN);
        const isContext = Number.isSafeInteger(context) && context > 0;
        const listed = models.files(query.get('model') ?? '', isContext ? context : undefined, signal);
        if (!listed)
          throw new AppError('invalid-field', { field: 'model', expected: 'owner/name of a model on the hub' });
        return listed.then(
          (files) => json(snakeCase(files)),
          (error: unknown) => failed('The files cannot be listed', error),
        );
      },
      { response: 'searchFiles' },
    ),
    administered(access, library && recommended).show(
      '/api/admin/recommended',
      'Models that are recommended for this computer.',
      'recommended',
      snakeCase,
    ),
  ];
}

const downloadFields = {
  model: honoured(
    readName,
    'As parley pull takes it: owner/name, owner/name:Q4_K_M, owner/name/file.gguf, or an address.',
  ),
};

const notAModel =
  'This is not the name of a model. Use owner/name, owner/name:Q4_K_M or the address of its page or file (https).';

/** Downloads of models, which go on without the client. */
export function downloadEndpoints({ access, library }: LibraryServices<'downloads'>): PlainEndpoint[] {
  const { show, change } = administered(access, library && (async () => (await library()).downloads));
  const ending = (path: string, summary: string, action: 'stop' | 'remove') =>
    change(
      path,
      summary,
      downloadFields,
      async (downloads, { model }) => {
        if (!(await downloads[action](model))) throw new Error('There is no such download.');
      },
      noModel,
    );
  return [
    show(
      '/api/admin/downloads',
      'The downloads of models: those of now, and the unfinished ones.',
      'downloads',
      async (downloads) => ({ downloads: snakeCase(await downloads.list()) }),
    ),
    change(
      '/api/admin/downloads',
      'Start or resume the download of a model with all that belongs to it.',
      downloadFields,
      async (downloads, sent) => {
        const model = await downloads.start(sent.model);
        if (model === undefined) throw new Error(notAModel);
        return { model };
      },
      { ...noModel, response: 'download' },
    ),
    ending('/api/admin/downloads/stop', 'Stop a download. What was downloaded is kept.', 'stop'),
    ending(
      '/api/admin/downloads/remove',
      'Take a download off the list, and delete its files unless it is complete.',
      'remove',
    ),
  ];
}

interface DeletionServices extends LibraryServices<'remove'> {
  readonly models?: Pick<ModelsView, 'list'> | undefined;
}

type DeletionContext = Pick<DialectContext, 'text'>;

const deleteFields = { filename: honoured(readName, 'Of GET /api/admin/models.') };

export function deletionEndpoint({ access, library, models }: DeletionServices): ModelEndpoint<DeletionContext> {
  return administered(access, library).change(
    '/api/admin/models/delete',
    'Delete a model of the models folder with all that belongs to it. One that is loaded is not deleted.',
    deleteFields,
    async ({ remove }, { filename }, { text }: DeletionContext) => remove(filename, await loadedFiles(text, models)),
  );
}

async function loadedFiles(text: DeletionContext['text'], models: DeletionServices['models']) {
  const listed = ((await models?.list()) ?? []).filter(
    (model) => model.state !== 'unloaded' && model.state !== 'failed',
  );
  const now = text.state();
  const own = now.type === 'ready' && text.loaded?.() !== false ? [now.model.path] : [];
  return [...listed.map(({ path, known }) => path ?? known?.path), ...own].filter((path) => path !== undefined);
}
