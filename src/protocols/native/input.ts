import { type JsonObject, jsonObject } from '../../http/body.ts';
import type { Call } from '../../http/call.ts';

/** For endpoints that say in their own words that the input is bad, whatever is wrong with it: undefined then. */
export async function readInput<Input>(
  call: Call,
  read: (body: JsonObject) => Input,
  empty: 'object' | 'refuse' = 'refuse',
): Promise<Input | undefined> {
  try {
    return read(await jsonObject(call.body, { empty, signal: call.signal }));
  } catch {
    return undefined;
  }
}
