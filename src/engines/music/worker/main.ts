import { fileURLToPath } from 'node:url';
import { encodeSong } from '../../../audio/encode.ts';
import type { MusicEvent, MusicFacts, MusicRequest } from '../../../core/music.ts';
import { driverFailure, openDriver } from '../../bare/driver-process.ts';
import { findBarePack } from '../../bare/pack.ts';
import { serveTasks } from '../../host/task-worker.ts';
import { type MusicOptions, type SongDriver, songRate, songTask } from '../messages.ts';

/** For one song; on a CPU it may take very long. */
const timeoutMs = 6 * 3_600_000;

/** Music worker process: the driver runs in a second process, in the Bare runtime. */
serveTasks<MusicOptions, MusicFacts, MusicRequest, MusicEvent>(async (options) => {
  let driver = await opened(options);
  return {
    facts: options.facts,
    run: async (request, { emit, drained, signal, watch }) => {
      // A driver that did not stop was ended, and its model is loaded again.
      if (!driver.usable) driver = await opened(options);
      const run = () => driver.run(songTask(request), { progress: (at) => emit({ type: 'progress', ...at }), signal });
      const song = await watch.aside(timeoutMs, run).catch((error) => {
        throw driverFailure(error, 'music', signal);
      });
      const samples = new Int16Array(song.buffer, song.byteOffset, song.byteLength / 2);
      for await (const piece of encodeSong(samples, { rate: songRate, ...request })) {
        await drained();
        signal.throwIfAborted();
        emit({ type: 'audio', bytes: piece });
      }
      emit({ type: 'finish', seconds: samples.length / 2 / songRate });
    },
    close: () => driver.end(),
  };
});

function opened({ files, threads, gpu, lowMemory }: MusicOptions): Promise<SongDriver> {
  const { runtime, module, libraries } = findBarePack('music');
  return openDriver('The music driver', {
    runtime,
    entry: fileURLToPath(new URL('../bare/main.js', import.meta.url)),
    environment: lowMemory ? {} : { ACESTEP_KEEP_STAGES: '1' },
    load: { module, backends: libraries, files, threads, gpu },
  });
}
