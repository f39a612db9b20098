import { go } from '../app/navigation.svelte.ts';
import { notifyFailure } from '../app/notices.svelte.ts';
import { type DrawingTask, startDrawing } from '../draw/drawing-task.ts';
import { base64Of, imageUrl } from '../draw/image-request.ts';
import { blobOf } from '../files/data-url.ts';
import { newId } from '../saved/id.ts';
import { chatOrNew } from './actions.ts';
import { change } from './library.svelte.ts';
import type { Turn } from './model/conversation.ts';
import { leafOf, withTurn } from './model/tree.ts';

/** The image that is being generated for a chat. */
export const drawing = $state<{ chatId: string | undefined; prompt: string; progress: number }>({
  chatId: undefined,
  prompt: '',
  progress: 0,
});
let task: DrawingTask | undefined;

export function stopPicture(): void {
  task?.stop();
}

/** Generates an image; the prompt and the image become turns of the chat. A picture of the scene has no question. */
export async function drawPicture(
  chatId: string | undefined,
  prompt: string,
  { asked: withQuestion = true } = {},
): Promise<void> {
  const { id } = chatOrNew(chatId);
  if (chatId === undefined) go({ view: 'chat', id }, { replace: true });
  const blob = await drawn(id, prompt);
  if (!blob) return;
  const asked = newId();
  change(
    id,
    (chat) => {
      const parent = leafOf(chat)?.id ?? null;
      if (!withQuestion) return withTurn(chat, pictureTurn(parent, prompt, blob));
      const question: Turn = { id: asked, parent, role: 'user', text: `Draw: ${prompt}`, at: Date.now() };
      return withTurn(withTurn(chat, question), pictureTurn(asked, prompt, blob));
    },
    { undoable: true },
  );
}

/** Adds another image for the same prompt as a version. */
export async function drawAgain(chatId: string, { parent, drawn: prompt = '' }: Turn): Promise<void> {
  const blob = await drawn(chatId, prompt);
  if (blob) change(chatId, (chat) => withTurn(chat, pictureTurn(parent, prompt, blob)), { undoable: true });
}

function pictureTurn(parent: string | null, prompt: string, blob: Blob): Turn {
  const attachments = [{ id: newId(), kind: 'image', name: prompt, blob } as const];
  return { id: newId(), parent, role: 'assistant', text: '', drawn: prompt, attachments, at: Date.now() };
}

async function drawn(chatId: string, prompt: string): Promise<Blob | undefined> {
  Object.assign(drawing, { chatId, prompt, progress: 0 });
  try {
    const body = { prompt, width: 512, height: 512 };
    task = startDrawing(
      (genkey) => ({ path: 'sdapi/v1/txt2img', body: { ...body, genkey } }),
      ({ share }) => {
        drawing.progress = share;
      },
    );
    const [picture] = await task.pictures;
    if (picture === undefined) throw new Error('The server returned no image.');
    return blobOf(imageUrl(base64Of(picture.image)));
  } catch (thrown) {
    notifyFailure(thrown);
    return undefined;
  } finally {
    drawing.chatId = undefined;
    task = undefined;
  }
}
