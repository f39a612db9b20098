import { fileURLToPath } from 'node:url';
import type { ImageFacts } from '../../../../core/image.ts';
import { openDriver } from '../../../bare/driver-process.ts';
import { findBarePack } from '../../../bare/pack.ts';
import { serveTasks } from '../../../host/task-worker.ts';
import type { ImageTask, ImageTaskEvent } from '../../host.ts';
import { UpscalingNetworks } from '../../worker/upscale.ts';
import type { DiffusionOptions } from '../options.ts';
import { type DiffusionDriver, generate, loadReason, upscale } from './generate.ts';

/** Watchdog time-outs of a run of a built-in upscaler, and of the driver, which takes very long on a CPU. */
const timeoutsMs = { upscaling: 300_000, driver: 6 * 3_600_000 } as const;

/** Worker process of stable-diffusion.cpp, which runs in a second process, in the Bare runtime. */
serveTasks<DiffusionOptions, ImageFacts, ImageTask, ImageTaskEvent>(async (options) => {
  let driver = await opened(options);
  const upscaling = new UpscalingNetworks(options.threads);
  return {
    facts: options.facts,
    run: async (task, { emit, signal, watch }) => {
      // A driver that did not stop was ended, and its model is loaded again.
      if (!driver.usable) driver = await opened(options);
      const runDriver: DiffusionDriver['run'] = (...run) => watch.aside(timeoutsMs.driver, () => driver.run(...run));
      if (task.type === 'generate') return generate(task.request, options, { runDriver, signal, emit });
      const networkOf = upscaling.watchedBy((work) => watch.aside(timeoutsMs.upscaling, work));
      emit({ type: 'upscaled', png: await upscale(task.request, options, { runDriver, networkOf, signal }) });
    },
    close: () => {
      driver.end();
      return upscaling.close();
    },
  };
});

async function opened({ files, config, upscaler }: DiffusionOptions): Promise<DiffusionDriver> {
  const { runtime, module } = findBarePack('diffusion');
  const { threads, device = 'gpu' } = config;
  const upscalerConfig = { device, ...(threads === undefined ? {} : { threads, upscaler_threads: threads }) };
  try {
    return await openDriver('stable-diffusion.cpp', {
      runtime,
      entry: fileURLToPath(new URL('../bare/main.js', import.meta.url)),
      load: { module, files, config, upscaler, upscalerConfig },
    });
  } catch (error) {
    throw new Error(loadReason(error), { cause: error });
  }
}
