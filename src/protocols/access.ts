import type { KeyScope } from '../core/people.ts';
import type { AccessRule } from '../http/call.ts';

/** Describes the server; names of models are masked without the key. */
export const information: AccessRule = { access: 'open', changes: false };

/** Returns data of users, or computes without side effects. Without a scope every key of `--keyfile` will do. */
export const read = (scope?: KeyScope): AccessRule => ({ access: 'guarded', changes: false, ...(scope && { scope }) });

/** Is queued, or stops or stores something. */
export const write = (scope?: KeyScope): AccessRule => ({ ...read(scope), changes: true });

/** Its handler checks `--admin` and `--adminpassword` itself: its clients expect an unsuccessful answer with status 200. */
export const admin: AccessRule = { access: 'admin', changes: true, scope: 'admin' };
export const adminRead: AccessRule = { ...admin, changes: false };

/** Changes what the server runs, in a dialect that has no answer of its own for others than administrators. */
export const adminOnly: AccessRule = { ...admin, adminOnly: true };

/**
 * Open with `--legacyopenpaths`: clients of KoboldCpp send no key there. With that flag names of models are not masked: clients
 * without a key have to send them.
 */
export const legacyOpen = (rule: AccessRule): AccessRule => ({ ...rule, legacyOpen: true });

/** Also takes the key as `?key=`: the source of an audio element cannot send a header. */
export const keyInQuery = (rule: AccessRule): AccessRule => ({ ...rule, keyInQuery: true });

/** Also takes the key as a subprotocol: pages cannot set the headers of a WebSocket. */
export const keyInProtocol = (rule: AccessRule): AccessRule => ({ ...rule, keyInProtocol: true });
