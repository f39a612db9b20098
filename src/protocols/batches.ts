import type { BatchLibrary, BatchSender } from '../core/batches.ts';
import { AppError } from '../core/errors.ts';
import type { LibrariesOf } from '../core/owner.ts';
import type { Call } from '../http/call.ts';
import type { EndpointShape } from './endpoint.ts';

/** The batches of clients, for both APIs that have them. */
export interface BatchServices {
  /** Missing where nothing is stored. */
  readonly batches?: LibrariesOf<BatchLibrary> | undefined;
  /** Those of the server. */
  readonly endpoints: () => readonly EndpointShape[];
}

export function batchesOf(call: Call, { batches }: Pick<BatchServices, 'batches'>): BatchLibrary {
  if (batches) return batches.of(call);
  throw new AppError('unsupported', {
    feature: 'A batch',
    instead: 'this server stores nothing; send the requests themselves',
  });
}

/** The endpoints that requests of batches may be for. */
export function batchable({ endpoints }: Pick<BatchServices, 'endpoints'>): readonly EndpointShape[] {
  return endpoints().filter(({ batched, aliasOf }) => batched && aliasOf === undefined);
}

export function senderOfBatch({ key, remoteAddress }: Call): BatchSender {
  return { ...(key && { key: key.name }), address: remoteAddress };
}

/** A batch and its library. Each API sees its own. */
export async function ownBatch(call: Call, services: BatchServices, id: string, prefix: 'batch_' | 'msgbatch_') {
  const library = batchesOf(call, services);
  if (!id.startsWith(prefix)) throw new AppError('not-stored', { what: 'batch', id });
  return { library, batch: await library.get(id) };
}
