import type { ImageFacts } from '../../../core/image.ts';
import { serveTasks } from '../../host/task-worker.ts';
import { sketch, sketchFacts } from '../facts.ts';
import type { ImageOptions, ImageTask, ImageTaskEvent } from '../host.ts';
import { generate, openSketch, sketchNetwork } from './generate.ts';
import type { Watched } from './upscale.ts';
import { UpscalingNetworks, upscaledImage } from './upscale.ts';

/** Watchdog time-out of one run of a network. */
const timeoutMs = 300_000;

/** Worker process of the built-in image model. */
serveTasks<ImageOptions, ImageFacts, ImageTask, ImageTaskEvent>(async (options) => {
  const session = await openSketch(options);
  const upscaling = new UpscalingNetworks(options.threads);
  return {
    facts: sketchFacts(options.path),
    run: async (task, { emit, signal, watch }) => {
      const watched: Watched = (work) => watch.aside(timeoutMs, work);
      const upscaler = upscaling.watchedBy(watched);
      if (task.type === 'upscale') {
        emit({ type: 'upscaled', png: await upscaledImage(task.request, upscaler, signal) });
        return;
      }
      const vectors = new Float32Array(new Uint8Array(task.conditions ?? []).buffer);
      const { conditionLength: length } = sketch;
      const conditions = [vectors.slice(0, length), vectors.slice(length, 2 * length)] as const;
      const network = sketchNetwork(session, signal, watched);
      await generate({ ...task, conditions }, { network, upscaler, signal, emit });
    },
    close: () => {
      session.release();
      return upscaling.close();
    },
  };
});
