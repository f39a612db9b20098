import { AppError } from '../../core/errors.ts';
import type { JsonSchema } from '../../core/fidelity.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { busyDetail, retryHeaders } from '../../http/error-reply.ts';
import { isSameSecret } from '../../http/guard.ts';
import { admin, adminRead } from '../access.ts';
import { bodyOf, type DocumentedDialect, type EndpointShape, endpointRow } from '../endpoint.ts';
import { aside, type Fields, readFields, type Table, withSchema } from '../fields.ts';

/** Refusals are replies with status 200; this is for all other errors. */
export const adminDialect: DocumentedDialect = {
  name: 'admin',
  title: 'Administration',
  responses: () => import('./responses.ts'),
  errorReply: (error) =>
    json({ success: false, error: error.message, ...busyDetail(error) }, error.status, retryHeaders(error)),
};

const shape = { dialect: adminDialect, recorded: false } as const;
/** Builds the rows of endpoints that show what only administrators may see, and of those that change something. */
export const adminReadRow = endpointRow(adminRead, { method: 'GET', ...shape });
export const adminRow = endpointRow(admin, { method: 'POST', ...shape });

/** A field that its handler reads by itself. */
export const field = (schema: JsonSchema, note: string) => withSchema(schema, aside('honoured', note));

/** Whether the admin endpoints are enabled, and their password. */
export interface AdminAccess {
  readonly enabled: boolean;
  readonly password: string | undefined;
  /** The token of our own page, where everybody who opens it on this machine may administer the server. */
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

/** Builds the rows of endpoints about a service that is loaded for administrators only. */
export function administered<Service>(access: AdminAccess, load: (() => Service | Promise<Service>) | undefined) {
  return {
    show: (path: string, summary: string, response: string, answer: (service: Service, call: Call) => unknown) =>
      adminReadRow(path, summary, async (call: Call) => json(await answer(await allowed(load, access, call)(), call)), {
        response,
      }),
    /** The fields are those of the body. What the change returns is answered beside its success, and what it throws is a sentence. */
    change: <const Declared extends Table, Context>(
      path: string,
      summary: string,
      fields: Declared,
      change: (service: Service, sent: Fields<Declared>, context: Context) => unknown,
      own: Partial<EndpointShape> = {},
    ) =>
      adminRow(
        path,
        summary,
        async (call: Call, context: Context) => {
          const service = await allowed(load, access, call)();
          const sent = readFields(fields, await bodyOf(call));
          return changeReply(async () => change(service, sent, context));
        },
        { fields, response: 'change', ...own },
      ),
  };
}

export const moment = (time: number): string => new Date(time).toISOString();

/** The body of these calls may name a model that is not there, or one that cannot be used. */
export const noModel = { modelNamed: () => undefined } as const;

/** What a change answers beside its success, or the sentence that it throws. */
export async function changeReply(change: () => Promise<unknown>): Promise<Reply> {
  try {
    return json({ success: true, ...((await change()) as object | undefined) });
  } catch (error) {
    return json({ success: false, error: (error as Error).message.replace(/\.?$/, '.') });
  }
}
