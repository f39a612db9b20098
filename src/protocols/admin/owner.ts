import type { Settings } from '../../config/flags.ts';
import { isOwnerOnLoopback } from '../../config/lan.ts';
import { hostName, isLoopback } from '../../http/address.ts';
import { type Call, json } from '../../http/call.ts';
import { proxyHeaders } from '../../http/guard.ts';
import { information } from '../access.ts';
import { endpointRow } from '../endpoint.ts';
import { adminDialect } from './access.ts';

/** Whether a person who opens the page on this machine may administer the server, with the token of the page; or why not. */
export type OwnerAccess =
  | { readonly type: 'page'; readonly token: string }
  | { readonly type: 'none'; readonly reason: 'admin' | 'flag' | 'password' | 'keys' | 'network' };

type OwnerSettings = Pick<Settings, 'admin' | 'noowner' | 'password' | 'adminpassword' | 'keyfile' | 'lan' | 'host'>;

export function ownerAccess(settings: OwnerSettings, newToken: () => string): OwnerAccess {
  const none = (reason: (OwnerAccess & { type: 'none' })['reason']) => ({ type: 'none', reason }) as const;
  if (settings.admin) return none('admin');
  if (settings.noowner) return none('flag');
  if (settings.password || settings.adminpassword) return none('password');
  if (settings.keyfile !== '' && !isOwnerOnLoopback(settings)) return none('keys');
  if (settings.host !== '' && !isLoopback(hostName(settings.host) ?? '')) return none('network');
  return { type: 'page', token: newToken() };
}

const openRow = endpointRow(information, { method: 'GET', dialect: adminDialect, recorded: false });

/** The token, for our own page only. */
export function ownerEndpoint(owner: OwnerAccess) {
  return openRow(
    '/api/extra/owner',
    'The token with which the page of this server administers it, for that page only.',
    ({ headers, remoteAddress }: Call) => {
      const isHere = isLoopback(remoteAddress) && isOwnPage(headers);
      const token = owner.type === 'page' && isHere ? owner.token : null;
      return json({ token }, 200, { 'cache-control': 'no-store' });
    },
    { response: 'owner' },
  );
}

/**
 * Only a browser on this machine sends these headers, and only for a script of a page of this very address: other pages cannot set them, and a name
 * that was made to lead here is not one of loopback.
 */
function isOwnPage(headers: Call['headers']): boolean {
  return (
    headers['sec-fetch-site'] === 'same-origin' &&
    headers['sec-fetch-dest'] === 'empty' &&
    isLoopback(hostName(headers.host ?? '') ?? '') &&
    proxyHeaders.every((name) => headers[name] === undefined)
  );
}
