import { read } from '../api/call.ts';

/** The last lines that the engine program of a model has printed; none if the server does not tell. */
export async function readOutput(model: string): Promise<readonly string[]> {
  const path = `api/admin/engine_output?model=${encodeURIComponent(model)}`;
  try {
    return (await read<{ readonly lines: readonly string[] }>(path, { background: true })).lines;
  } catch {
    return [];
  }
}
