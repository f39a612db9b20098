import type { ImageFacts } from '../../../../core/image.ts';
import { serveTasks } from '../../../host/task-worker.ts';
import type { ImageTask, ImageTold } from '../../host.ts';
import { UpscalingNetworks } from '../../worker/upscale.ts';
import type { PainterLoad } from '../messages.ts';
import type { DiffusionOptions } from '../options.ts';
import { findPack } from '../pack.ts';
import { Painter, spawnBare } from '../painter.ts';
import { draw, loadReason, upscale } from './draw.ts';

/** Watchdog time-outs of a run of a built-in upscaler, and of a picture, which takes very long on a CPU. */
const longestMs = { upscaling: 300_000, picture: 6 * 3_600_000 } as const;

serveTasks<DiffusionOptions, ImageFacts, ImageTask, ImageTold>(async (options) => {
  const pack = findPack();
  const open = (): Promise<Painter> => opened(options, pack);
  let painter = await open();
  const upscaling = new UpscalingNetworks(options.threads);
  return {
    facts: options.facts,
    run: async (task, attachments, { tell, signal, watch }) => {
      // It was killed because it did not stop: the model is loaded again.
      if (!painter.usable) painter = await open();
      if (task.type === 'draw') {
        const part = (name: 'initial' | 'mask') => attachments[task.attached.indexOf(name)];
        const request = { ...task.request, initial: part('initial'), mask: part('mask') };
        const watched: Pick<Painter, 'draw'> = {
          draw: (...picture) => watch.aside(longestMs.picture, () => painter.draw(...picture)),
        };
        return draw(request, options, { painter: watched, signal, tell });
      }
      const [picture = new Uint8Array()] = attachments;
      const networkOf = upscaling.watchedBy((work) => watch.aside(longestMs.upscaling, work));
      const larger = await upscale({ ...task.request, picture }, options, { painter, networkOf, signal });
      tell({ type: 'upscaled' }, [larger]);
    },
    close: () => {
      painter.end();
      return upscaling.close();
    },
  };
});

async function opened(options: DiffusionOptions, { runtime, driver }: ReturnType<typeof findPack>): Promise<Painter> {
  const painter = new Painter({
    spawn: spawnBare(runtime),
    startTimer: (milliseconds, action) => {
      const timer = setTimeout(action, milliseconds);
      return { cancel: () => clearTimeout(timer) };
    },
    // The host then fails the request and restarts this worker.
    died: (how) => {
      process.stderr.write(`stable-diffusion.cpp is gone: ${how}\n`);
      setImmediate(() => process.exit(1));
    },
  });
  const { threads, device = 'gpu' } = options.config;
  const load: PainterLoad = {
    module: driver,
    files: options.files,
    config: options.config,
    upscaler: options.upscaler,
    upscalerConfig: { device, ...(threads === undefined ? {} : { threads, upscaler_threads: threads }) },
  };
  try {
    await painter.load(load);
    return painter;
  } catch (error) {
    painter.end();
    throw new Error(loadReason(error), { cause: error });
  }
}
