import { tellFailure } from '../app/notices.svelte.ts';
import { type DrawingProgress, type DrawingTask, startDrawing } from './drawing-task.ts';
import { type DrawnPicture, type Materials, pictureRequest, type Wish } from './picture-request.ts';

/** What is being drawn now; there is one at a time. */
export const drawing = $state<{ running: boolean; share: number; step: string; preview: string }>({
  running: false,
  share: 0,
  step: '',
  preview: '',
});

let task: DrawingTask | undefined;

/** The pictures, or nothing when it was stopped or failed, which is told. */
export async function draw(wish: Wish, materials: Materials): Promise<DrawnPicture[]> {
  Object.assign(drawing, { running: true, share: 0, step: 'Waiting in the queue', preview: '' });
  try {
    task = startDrawing((genkey) => pictureRequest(wish, materials, genkey), show);
    return await task.pictures;
  } catch (thrown) {
    tellFailure(thrown);
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
