import { createHash } from 'node:crypto';
import type { Standing, Ticket } from '../core/request.ts';
import type { Call } from '../http/call.ts';
import { sentKey } from '../http/sent-key.ts';

/** The ticket of one call, which also tells what it waits for once it has a place in the queue. */
export interface CallTicket extends Ticket {
  readonly placed: NonNullable<Ticket['placed']>;
  /** Undefined unless it waits. */
  standing(): Standing | undefined;
}

export function ticketFor(call: Call, genkey: string): CallTicket {
  let standing: () => Standing | undefined = () => undefined;
  return {
    genkey,
    client: clientName(call, genkey),
    signal: call.signal,
    placed: (own) => {
      standing = own;
    },
    standing: () => standing(),
  };
}

/**
 * Whose turns the request takes: those of its key and, as many people may share one password, of the genkey or else the
 * address within it. The key itself is nobody's business further on.
 */
export function clientName(
  { headers, remoteAddress }: Pick<Call, 'headers' | 'remoteAddress'>,
  genkey: string,
): string {
  const key = sentKey(headers) ?? '';
  const person = genkey === '' ? `address ${remoteAddress}` : `genkey ${genkey}`;
  return key === '' ? person : `key ${createHash('sha256').update(key).digest('base64url').slice(0, 16)} ${person}`;
}
