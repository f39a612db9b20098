import type { PackInstalls } from '../../core/pack-installs.ts';
import { json } from '../../http/call.ts';
import { bodyOf, type PlainEndpoint } from '../endpoint.ts';
import { honoured, readFields, readName } from '../fields.ts';
import { snakeCase } from '../snake-case.ts';
import { type AdminAccess, adminReadRow, adminRow, allowed, changeReply } from './access.ts';

interface PackServices {
  readonly access: AdminAccess;
  readonly packs: () => Promise<PackInstalls>;
}

const packFields = { name: honoured(readName, 'The name of a pack of GET /api/admin/packs.') };

/** The optional engines of the catalogue, which go on being installed without the client. */
export function packEndpoints({ access, packs }: PackServices): PlainEndpoint[] {
  const changing = (
    path: string,
    summary: string,
    change: (own: PackInstalls, name: string) => boolean | Promise<boolean>,
  ) =>
    adminRow(
      path,
      summary,
      async (call) => {
        const own = await allowed(packs, access, call)();
        const { name } = readFields(packFields, await bodyOf(call));
        return changeReply(async () => {
          if (!(await change(own, name))) throw new Error(`There is no pack ${name} for this system.`);
        });
      },
      { fields: packFields },
    );
  return [
    adminReadRow('/api/admin/packs', 'The optional engines: what each brings, and which are installed.', async (call) =>
      json({ packs: snakeCase(await (await allowed(packs, access, call)()).list()) }),
    ),
    changing(
      '/api/admin/packs/add',
      'Download and install a pack; GET /api/admin/packs shows its progress.',
      (own, name) => own.add(name),
    ),
    changing('/api/admin/packs/remove', 'Delete a pack, or end its installation.', (own, name) => own.remove(name)),
  ];
}
