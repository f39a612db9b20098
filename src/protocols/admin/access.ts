import { AppError } from '../../core/errors.ts';
import { type Call, type Family, json, type Reply } from '../../http/call.ts';
import { busyDetail, retryHeaders } from '../../http/error-reply.ts';
import { isSameSecret } from '../../http/guard.ts';
import { admin, adminRead } from '../access.ts';
import { endpointRow } from '../endpoint.ts';

/** Refusals are replies with status 200; this is for all other errors. */
export const adminFamily: Family = {
  name: 'admin',
  title: 'Administration',
  errorReply: (error) =>
    json({ success: false, error: error.message, ...busyDetail(error) }, error.status, retryHeaders(error)),
};

const shape = { family: adminFamily, recorded: false } as const;
/** Builds the rows of endpoints that show what only administrators may see, and of those that change something. */
export const adminReadRow = endpointRow(adminRead, { method: 'GET', ...shape });
export const adminRow = endpointRow(admin, { method: 'POST', ...shape });

/** Whether the admin endpoints are enabled, and their password. */
export interface AdminAccess {
  readonly enabled: boolean;
  readonly password: string | undefined;
  /** The token of our own page, where whoever opens it on this machine may administer the server. */
  readonly ownerToken?: string | undefined;
}

/** The header with that token. */
const ownerHeader = 'x-parley-owner';

/** The number that clients read: 0 closed, 1 open, 2 open with the admin password. */
export function adminLevel({ enabled, password }: AdminAccess): 0 | 1 | 2 {
  if (!enabled) return 0;
  return password === undefined ? 1 : 2;
}

type Caller = Pick<Call, 'headers' | 'key' | 'isAdmin'>;

/** A key of `--keyfile` needs the scope `admin`, and no password beside it. */
export function mayAdminister(access: AdminAccess, call: Caller): boolean {
  const { enabled, password, ownerToken } = access;
  const { headers, key, isAdmin } = call;
  const token = headers[ownerHeader];
  if (ownerToken !== undefined && typeof token === 'string') return isSameSecret(token, ownerToken);
  if (!enabled || key) return enabled && key?.scopes.includes('admin') === true;
  if (password === undefined || isAdmin) return true;
  const sent = /^bearer\s+(.*)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
  return isSameSecret(sent, password);
}

/** What only administrators may use: refused to all others, and where the server does not have it. */
export function allowed<Value>(value: Value | undefined, access: AdminAccess, call: Caller): Value {
  if (value === undefined || !mayAdminister(access, call)) throw new AppError('admin-only', {});
  return value;
}

/** What a change answers beside its success, or the sentence that it throws. */
export async function changeReply(change: () => Promise<unknown>): Promise<Reply> {
  try {
    return json({ success: true, ...((await change()) as object | undefined) });
  } catch (error) {
    return json({ success: false, error: (error as Error).message.replace(/\.?$/, '.') });
  }
}
