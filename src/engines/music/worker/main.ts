import { fileURLToPath } from 'node:url';
import { encodeSong } from '../../../audio/encode-song.ts';
import { AppError } from '../../../core/errors.ts';
import type { MusicFacts, MusicRequest } from '../../../core/music.ts';
import { DriverProcess, spawnBare } from '../../bare/driver-process.ts';
import { serveTasks } from '../../host/task-worker.ts';
import {
  type MusicOptions,
  type MusicTold,
  type SongLoad,
  type SongProgress,
  type SongTask,
  songRate,
  songTask,
} from '../messages.ts';
import { findMusicPack } from '../pack.ts';

type SongDriver = DriverProcess<SongLoad, SongTask, SongProgress>;

/** For one song; on a CPU it may take very long. */
const longestMs = 6 * 3_600_000;

/** Music worker process: the driver runs in a second process, in the Bare runtime. */
serveTasks<MusicOptions, MusicFacts, MusicRequest, MusicTold>(async (options) => {
  let driver = await opened(options);
  return {
    facts: options.facts,
    run: async (request, _attachments, { tell, room, signal, watch }) => {
      // A driver that did not stop was ended, and its model is loaded again.
      if (!driver.usable) driver = await opened(options);
      const progress = (at: SongProgress): void => tell({ type: 'progress', ...at });
      const song = await watch.aside(longestMs, () => generated(driver, request, progress, signal));
      const samples = new Int16Array(song.buffer, song.byteOffset, song.byteLength / 2);
      for await (const piece of encodeSong(samples, { rate: songRate, ...request })) {
        await room();
        signal.throwIfAborted();
        tell({ type: 'audio' }, [piece]);
      }
      tell({ type: 'finish', seconds: samples.length / 2 / songRate });
    },
    close: () => driver.end(),
  };
});

async function generated(
  driver: SongDriver,
  request: MusicRequest,
  progress: (at: SongProgress) => void,
  signal: AbortSignal,
): Promise<Uint8Array> {
  try {
    return await driver.run(songTask(request), progress, signal);
  } catch (error) {
    signal.throwIfAborted();
    const reason = error instanceof Error ? error.message : String(error);
    throw new AppError('engine-failed', { capability: 'music', reason: reason.trim().replace(/\.$/, '') });
  }
}

async function opened({ files, threads, gpu, lowMemory }: MusicOptions): Promise<SongDriver> {
  const { runtime, module, backends } = findMusicPack();
  const entry = fileURLToPath(new URL('../bare/main.js', import.meta.url));
  const driver: SongDriver = new DriverProcess({
    spawn: spawnBare(runtime, entry, lowMemory ? {} : { ACESTEP_KEEP_STAGES: '1' }),
    startTimer: (milliseconds, action) => {
      const timer = setTimeout(action, milliseconds);
      return { cancel: () => clearTimeout(timer) };
    },
    // The worker ends with its driver; the host reports the loss and starts both again.
    died: (how) => {
      process.stderr.write(`The music driver is gone: ${how}\n`);
      setImmediate(() => process.exit(1));
    },
  });
  try {
    await driver.load({ module, backends, files, threads, gpu });
    return driver;
  } catch (error) {
    driver.end();
    throw error;
  }
}
