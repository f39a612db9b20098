import { offerPack } from '../models/offers.ts';
import { tellDone } from '../notifications/tell-done.ts';
import { notifyFailure } from '../ui/notices.svelte.ts';
import { type DrawingProgress, type DrawingTask, resumeDrawing, startDrawing } from './drawing-task.ts';
import { gallery, type SavedImage, saveImages } from './gallery.svelte.ts';
import type { GeneratedImage } from './generated-images.ts';
import { type ImageSettings, imageRequest, keptSettings, type SourceImages, withOrigin } from './image-request.ts';
import { pendingDrawings } from './pending-drawings.ts';
import { texts } from './texts.ts';

/** The running request; one at a time. Without a share it is not known how far it is. */
export const drawing = $state<{ running: boolean; share: number | undefined; step: string; preview: string }>({
  running: false,
  share: 0,
  step: '',
  preview: '',
});

let task: DrawingTask | undefined;
const pending = pendingDrawings<ImageSettings>('page');

/** The saved images; empty if it was stopped or failed. Failures are reported as notices. */
export async function draw(settings: ImageSettings, sources: SourceImages): Promise<SavedImage[]> {
  const origin = gallery.all.find(({ image }) => image === sources.image);
  const saved = keptSettings(settings, origin);
  const started = startDrawing((genkey) => imageRequest(settings, sources, genkey), show);
  const end = pending.add(started.genkey, saved);
  const since = Date.now();
  const images = await drawn(started, saved).finally(end);
  if (images.length > 0) tellDone(() => ({ kind: 'image', title: document.title, route: { view: 'draw' }, since }));
  if (images.length > 0 && settings.manner !== 'upscale') offerPack('image');
  const inherits = settings.manner === 'upscale';
  return saveImages(inherits ? images.map((one) => withOrigin(one, origin)) : images, saved);
}

async function drawn(started: DrawingTask, { manner }: ImageSettings): Promise<GeneratedImage[]> {
  task = started;
  // The server reports the steps of a drawing, but not how far an upscaler is.
  const begin =
    manner === 'upscale' ? { share: undefined, step: texts.stage.upscaling } : { share: 0, step: texts.stage.waiting };
  Object.assign(drawing, { running: true, preview: '', ...begin });
  try {
    return await started.images;
  } catch (thrown) {
    notifyFailure(thrown);
    return [];
  } finally {
    task = undefined;
    drawing.running = false;
  }
}

void pending.resume(async ({ genkey, note }) => {
  saveImages(await drawn(resumeDrawing(genkey, show), note), note);
});

export function stopDrawing(): void {
  task?.stop();
}

function show({ share, step, steps, preview }: DrawingProgress): void {
  drawing.share = share;
  drawing.step = step > 0 ? texts.stage.step(step, steps) : texts.stage.encoding;
  if (preview !== '') drawing.preview = preview;
}
