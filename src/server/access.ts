import { AppError } from '../core/errors.ts';
import type { AccessRule, EndpointInfo } from '../http/call.ts';
import type { SocketEndpoint } from '../http/web-socket.ts';
import { type AdminAccess, mayAdminister } from '../protocols/admin/access.ts';
import type { ModelEndpoint } from '../protocols/endpoint.ts';

/** Rules by `METHOD path`, as the rows declare them; a WebSocket has the method `SOCKET`. */
export type AccessTable = ReadonlyMap<string, AccessRule & Pick<EndpointInfo, 'family'>>;

interface Rows {
  readonly endpoints: readonly EndpointInfo[];
  readonly sockets: readonly SocketEndpoint[];
}

/** Files of the web client; their names change with each build. */
const pageFile = /\.(js|css|svg|png|woff2?|wasm|onnx|json|txt|webmanifest|html)$/;

/** The access rules of all rows, without the files of the web client, which are open. */
export function accessTable({ endpoints, sockets }: Rows): AccessTable {
  const listed = endpoints.filter(({ family, path }) => family.name !== 'pages' || !pageFile.test(path));
  const rows = [...listed, ...sockets.map((socket) => ({ ...socket, method: 'SOCKET' }))];
  return new Map(rows.map((row) => [`${row.method} ${row.path}`, row]));
}

/** Those that are for administrators only refuse all others before their handlers are called. */
export function forAdministrators<Context>(
  endpoints: readonly ModelEndpoint<Context>[],
  access: AdminAccess,
): ModelEndpoint<Context>[] {
  return endpoints.map((endpoint) => {
    if (!endpoint.adminOnly) return endpoint;
    const handle: ModelEndpoint<Context>['handle'] = (call, context) => {
      if (!mayAdminister(access, call)) throw new AppError('admin-only', {});
      return endpoint.handle(call, context);
    };
    return { ...endpoint, handle };
  });
}
