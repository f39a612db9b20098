import type { ImageFacts, ImageRequest } from '../../../core/image.ts';
import type { Attachments } from '../../host/channel.ts';
import { serveTasks } from '../../host/task-worker.ts';
import { sketch, sketchFacts } from '../facts.ts';
import type { ImageOptions, ImageTask, ImageTold } from '../host.ts';
import { type DrawParts, type DrawTask, draw, openSketch, sketchNetwork, type Watched } from './draw.ts';
import { UpscalingNetworks, upscaledPicture } from './upscale.ts';

/** For one run of a network: on the slowest machine it takes a small part of this. */
const longestMs = 300_000;

serveTasks<ImageOptions, ImageFacts, ImageTask, ImageTold>(async (options) => {
  const session = await openSketch(options);
  const upscaling = new UpscalingNetworks(options.threads);
  return {
    facts: sketchFacts(options.path),
    run: async (task, attachments, { tell, signal, watch }) => {
      const watched: Watched = (work) => watch.aside(longestMs, work);
      const upscaler = upscaling.watchedBy(watched);
      if (task.type === 'draw') {
        const network = sketchNetwork(session, signal, watched);
        const told: DrawParts['tell'] = (event, bytes) => tell(event, bytes ? [bytes] : []);
        return draw(drawTask(task, attachments), { network, upscaler, signal, tell: told });
      }
      const [picture = new Uint8Array()] = attachments;
      tell({ type: 'upscaled' }, [await upscaledPicture({ ...task.request, picture }, upscaler, signal)]);
    },
    close: () => {
      session.release();
      return upscaling.close();
    },
  };
});

function drawTask(
  { request, shortened, attached }: Extract<ImageTask, { type: 'draw' }>,
  attachments: Attachments,
): DrawTask {
  const part = (name: (typeof attached)[number]): Uint8Array | undefined => attachments[attached.indexOf(name)];
  const numbers = part('conditions') ?? new Uint8Array();
  const vectors = new Float32Array(new Uint8Array(numbers).buffer);
  const whole: ImageRequest = { ...request, initial: part('initial'), mask: part('mask') };
  const { conditionLength: length } = sketch;
  return { request: whole, shortened, conditions: [vectors.slice(0, length), vectors.slice(length, 2 * length)] };
}
