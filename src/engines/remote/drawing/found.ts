import type { Connection } from '../connection.ts';
import { RemoteFailure } from '../failure.ts';

/** The largest answer with a picture in it: a PNG of 16 megapixels as base64 is half of it. */
export const pictureBytes = 128 * 2 ** 20;
const listMs = 15_000;

/** A list or a setting of the server; undefined where it does not have this path, or answers with something that is no JSON. */
export async function found(connection: Pick<Connection, 'json'>, path: string): Promise<unknown> {
  try {
    return await connection.json('GET', path, undefined, { milliseconds: listMs });
  } catch (error) {
    const { type, facts } = error instanceof RemoteFailure ? error : { type: 'other', facts: { status: 0 } };
    if ((type !== 'failed' && type !== 'refused') || facts.status === 401 || facts.status === 403) throw error;
    return undefined;
  }
}
