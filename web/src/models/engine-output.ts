import { read } from '../api/call.ts';
import { mergedLines, type ServerLine, withoutTime } from './server-lines.ts';

/** Reads the present lines of an output; none if the server does not tell. */
export type OutputReader = () => Promise<readonly string[]>;

/** The last lines that the engine program of a model has printed. */
export function programOutput(model: string): OutputReader {
  const path = `api/admin/engine_output?model=${encodeURIComponent(model)}`;
  return async () => {
    try {
      return (await read<{ readonly lines: readonly string[] }>(path, { background: true })).lines;
    } catch {
      return [];
    }
  };
}

/** The last lines of the console of the server, with the time of day; only what is new is fetched. */
export function serverLog(clock = (time: string) => new Date(time).toLocaleTimeString()): OutputReader {
  let lines: readonly ServerLine[] = [];
  return async () => {
    try {
      const path = `api/admin/log?after=${lines.at(-1)?.number ?? 0}`;
      lines = mergedLines(
        lines,
        (await read<{ readonly lines: readonly ServerLine[] }>(path, { background: true })).lines,
      );
    } catch {
      // The server is away for a moment; what is known stays.
    }
    return lines.map(({ time, text }) => `${clock(time)} ${withoutTime(text)}`);
  };
}
