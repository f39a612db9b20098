import { AppError } from '../../core/errors.ts';
import { hubOrders, type ModelLibrary, type Recommendations } from '../../core/models-view.ts';
import { type Call, json } from '../../http/call.ts';
import type { PlainEndpoint } from '../endpoint.ts';
import { snakeCase } from '../snake-case.ts';
import { type AdminAccess, adminReadRow, allowed } from './access.ts';

export interface HubServices {
  readonly access: AdminAccess;
  readonly library?: (() => Promise<Pick<ModelLibrary, 'list' | 'search' | 'files'>>) | undefined;
  /** The models that are recommended for this computer. */
  readonly recommended?: (() => Promise<Recommendations>) | undefined;
}

/** Models that can be downloaded. */
export function hubEndpoints({ access, library, recommended }: HubServices): PlainEndpoint[] {
  return [
    adminReadRow('/api/admin/search', 'Models on the hub by words, in pages.', async (call: Call) => {
      const { search } = await allowed(library, access, call)();
      const { query } = call;
      const order = hubOrders.find((one) => one === query.get('sort')) ?? 'downloads';
      const cursor = query.get('cursor') ?? undefined;
      try {
        const wanted = { words: query.get('q') ?? '', order, count: searchCount, cursor };
        const { models, next = null } = await search(wanted, call.signal);
        return json({ models, next });
      } catch (error) {
        return json({ success: false, error: `The hub could not be searched: ${(error as Error).message}.` }, 502);
      }
    }),
    adminReadRow(
      '/api/admin/search/files',
      'The files of a model on the hub: whether they fit here, and which one is downloaded by default.',
      async (call: Call) => {
        const context = Number(call.query.get('context') || Number.NaN);
        const files = (await allowed(library, access, call)()).files(
          call.query.get('model') ?? '',
          Number.isSafeInteger(context) && context > 0 ? context : undefined,
          call.signal,
        );
        if (!files)
          throw new AppError('invalid-field', { field: 'model', expected: 'owner/name of a model on the hub' });
        try {
          return json(snakeCase(await files));
        } catch (error) {
          return json({ success: false, error: `The files cannot be listed: ${(error as Error).message}.` }, 502);
        }
      },
    ),
    adminReadRow('/api/admin/recommended', 'Models that are recommended for this computer.', async (call: Call) => {
      return json(snakeCase(await allowed(library && recommended, access, call)()));
    }),
  ];
}

/** Models on a page of a search. */
const searchCount = 20;
