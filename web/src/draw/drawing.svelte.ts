import { notifyFailure } from '../app/notices.svelte.ts';
import { type DrawingProgress, type DrawingTask, startDrawing } from './drawing-task.ts';
import { type GeneratedImage, type ImageSettings, imageRequest, type SourceImages } from './image-request.ts';

/** The running request; one at a time. */
export const drawing = $state<{ running: boolean; share: number; step: string; preview: string }>({
  running: false,
  share: 0,
  step: '',
  preview: '',
});

let task: DrawingTask | undefined;

/** The images; empty if it was stopped or failed. Failures are reported as notices. */
export async function draw(settings: ImageSettings, sources: SourceImages): Promise<GeneratedImage[]> {
  Object.assign(drawing, { running: true, share: 0, step: 'Waiting in the queue', preview: '' });
  try {
    task = startDrawing((genkey) => imageRequest(settings, sources, genkey), show);
    return await task.pictures;
  } catch (thrown) {
    notifyFailure(thrown);
    return [];
  } finally {
    task = undefined;
    drawing.running = false;
  }
}

export function stopDrawing(): void {
  task?.stop();
}

function show({ share, step, steps, preview }: DrawingProgress): void {
  drawing.share = share;
  drawing.step = step > 0 ? `Step ${step} of ${steps}` : 'Encoding the prompt';
  if (preview !== '') drawing.preview = preview;
}
