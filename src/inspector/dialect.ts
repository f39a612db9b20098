import { adminDialect } from '../protocols/admin/access.ts';
import type { DocumentedDialect } from '../protocols/endpoint.ts';

/** The endpoints of the inspector are administration, with responses of their own. */
export const inspectorDialect: DocumentedDialect = { ...adminDialect, responses: () => import('./responses.ts') };
