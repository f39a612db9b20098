import type { PackInstalls } from '../../core/pack-installs.ts';
import type { PlainEndpoint } from '../endpoint.ts';
import { honoured, readName } from '../fields.ts';
import { snakeCase } from '../snake-case.ts';
import { type AdminAccess, administered } from './access.ts';

interface PackServices {
  readonly access: AdminAccess;
  readonly packs: () => Promise<PackInstalls>;
}

const packFields = { name: honoured(readName, 'The name of a pack of GET /api/admin/packs.') };

/** The optional engines of the catalogue, which go on being installed without the client. */
export function packEndpoints({ access, packs }: PackServices): PlainEndpoint[] {
  const { show, change } = administered(access, packs);
  const changing = (path: string, summary: string, action: 'add' | 'remove') =>
    change(path, summary, packFields, async (own, { name }) => {
      if (!(await own[action](name))) throw new Error(`There is no pack ${name} for this system.`);
    });
  return [
    show(
      '/api/admin/packs',
      'The optional engines: what each brings, and which are installed.',
      'packs',
      async (own) => ({
        packs: snakeCase(await own.list()),
      }),
    ),
    changing('/api/admin/packs/add', 'Download and install a pack; GET /api/admin/packs shows its progress.', 'add'),
    changing('/api/admin/packs/remove', 'Delete a pack, or end its installation.', 'remove'),
  ];
}
