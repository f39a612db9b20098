import { notifyFailure } from '../app/notices.svelte.ts';
import { type DrawingProgress, type DrawingTask, resumeDrawing, startDrawing } from './drawing-task.ts';
import { saveImages } from './gallery.svelte.ts';
import { type GeneratedImage, type ImageSettings, imageRequest, type SourceImages } from './image-request.ts';
import { pendingDrawings } from './pending-drawings.ts';

/** The running request; one at a time. */
export const drawing = $state<{ running: boolean; share: number; step: string; preview: string }>({
  running: false,
  share: 0,
  step: '',
  preview: '',
});

let task: DrawingTask | undefined;
const pending = pendingDrawings<ImageSettings>('page');

/** The images; empty if it was stopped or failed. Failures are reported as notices. */
export async function draw(settings: ImageSettings, sources: SourceImages): Promise<GeneratedImage[]> {
  const started = startDrawing((genkey) => imageRequest(settings, sources, genkey), show);
  const end = pending.add(started.genkey, settings);
  return drawn(started).finally(end);
}

async function drawn(started: DrawingTask): Promise<GeneratedImage[]> {
  task = started;
  Object.assign(drawing, { running: true, share: 0, step: 'Waiting in the queue', preview: '' });
  try {
    return await started.pictures;
  } catch (thrown) {
    notifyFailure(thrown);
    return [];
  } finally {
    task = undefined;
    drawing.running = false;
  }
}

void pending.resume(async ({ genkey, note }) => {
  await saveImages(await drawn(resumeDrawing(genkey, show)), note);
});

export function stopDrawing(): void {
  task?.stop();
}

function show({ share, step, steps, preview }: DrawingProgress): void {
  drawing.share = share;
  drawing.step = step > 0 ? `Step ${step} of ${steps}` : 'Encoding the prompt';
  if (preview !== '') drawing.preview = preview;
}
