import { adminFamily } from '../protocols/admin/access.ts';
import type { Dialect } from '../protocols/endpoint.ts';

/** The endpoints of the inspector are administration, with responses of their own. */
export const inspectorDialect: Dialect = { ...adminFamily, responses: () => import('./responses.ts') };
